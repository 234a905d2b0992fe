"""All columns of all tables that a job has to say something of: refused at once, with the lines that say it.

They are found in tables that were read as the job says; before there is a job, `data/profile` looks at the sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hekat.data.columns.proposals import LEAST_ROWS_OF_A_TEXT, Proposal, propose
from hekat.data.columns.specs import CATEGORY_FILL, NUMBER_FILLS, ColumnSpecs
from hekat.data.features import is_dense
from hekat.data.number_text import describe_text
from hekat.data.raw_table import RawColumn, RawTable
from hekat.data.table import Table
from hekat.data.thousands import only_thousands_sign
from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.toml_text import toml_key, toml_text

_MOST_NAMES = 8
_MOST_TEXTS = 6
_MOST_TABLES = 5


@dataclass(frozen=True)
class ColumnFinding:
    """What one column of one table holds that the job says nothing of.

    Args:
        table: What errors call the table.
        column: What the column is called.
        row_count: Rows of the table.
        empty: How many cells are empty.
        first_empty: Where the first such cell is found.
        texts: How many rows hold each text that is no number, or none of `listed`; for this machine's own eyes.
        first_text: Where the first of them is found.
        listed: The categories that the job lists for the column.
        decimal: The decimal sign of numbers among the texts.
    """

    table: str
    column: str
    row_count: int
    empty: int
    first_empty: str = ""
    texts: Mapping[str, int] = field(default_factory=dict, repr=False)
    first_text: str = ""
    listed: tuple[str, ...] = ()
    decimal: str = "."

    @property
    def text_rows(self) -> int:
        """How many rows hold one of `texts`."""
        return sum(self.texts.values())

    @property
    def thousands_sign(self) -> str:
        """What stands between the thousands of the first text, in words, where all texts are such numbers; else ""."""
        signs = [only_thousands_sign(text) for text in self.texts]
        return signs[0] if signs and all(signs) else ""

    @property
    def text_kind(self) -> str:
        """What the first text is, in words."""
        if sign := self.thousands_sign:
            return f"a number with {sign} between thousands"
        return next((describe_text(text, self.decimal) for text in self.texts), "") or "a text"


class ColumnsRefusedError(InputError):
    """Columns with empty cells or texts that the job says nothing of.

    The message names tables, columns, counts and lines. `lines` are for the terminal of this machine alone: they show
    what to write into the job, with texts that several rows of its tables hold.

    Args:
        findings: One for each column of a table.
        tables: The tables here, those with findings as they were read.
        specs: The columns that the job describes.
    """

    def __init__(
        self, findings: Sequence[ColumnFinding], tables: Sequence[RawTable | Table], specs: ColumnSpecs
    ) -> None:
        self.findings, self.tables, self.specs = tuple(findings), tuple(tables), specs
        columns = list(dict.fromkeys(one.column for one in findings))
        if len(self.findings) == 1:
            super().__init__(**_say_one(self.findings[0], specs))
        else:
            names = len({one.table for one in findings})
            shown = ", ".join(f"{name!r} ({_kinds_of(name, findings)})" for name in columns[:_MOST_NAMES])
            more = f" and {len(columns) - _MOST_NAMES} more" if len(columns) > _MOST_NAMES else ""
            of = self.findings[0].table if names == 1 else f"{names} tables"
            super().__init__(
                f"{of}: {len(columns)} {'column has' if len(columns) == 1 else 'columns have'} empty cells or texts "
                "that the job says nothing of",
                expected="a number in every cell, or [columns.NAME] in the job for each of them",
                got=f"{shown}{more}",
                cure=_number_cure(self.findings)
                or "describe them in the job, the same at every party; `hekat run` shows the lines to write",
            )

    @property
    def lines(self) -> tuple[str, ...]:
        """Each column with its tables, counts and some of its texts, then the lines of the job that say it all."""
        columns = dict.fromkeys(one.column for one in self.findings)
        proposals = {name: self._propose(name) for name in columns}
        told = [self._tell(name, proposal) for name, proposal in proposals.items()]
        return (
            *told,
            "",
            "lines for the job, once looked through (the same at every party):",
            "",
            *(line for one in proposals.values() for line in (*_block(one, self.specs), "")),
        )

    def _propose(self, column: str) -> Proposal:
        found = {table.name: _column_of(table, column) for table in self.tables}
        return propose(column, {name: one for name, one in found.items() if one is not None}, self.specs)

    def _tell(self, column: str, proposal: Proposal) -> str:
        """One line of a column; texts of what looks like free text or ids are counted and not shown."""
        ours = [one for one in self.findings if one.column == column]
        gaps, texts = [one for one in ours if one.empty], [one for one in ours if one.texts]
        parts = []
        if gaps:
            count, rows = sum(one.empty for one in gaps), sum(one.row_count for one in gaps)
            parts.append(
                f"{count:,} of {rows:,} cells empty "
                f"({_places([(one.table, one.empty, one.first_empty) for one in gaps])})"
            )
        if texts:
            held = sum((Counter(one.texts) for one in texts), Counter[str]())
            # What a single row holds may say who it is of.
            several = sorted(text for text, count in held.items() if count >= LEAST_ROWS_OF_A_TEXT)
            shown = ", ".join(map(toml_text, several[:_MOST_TEXTS]))
            more = len(held) - len(several[:_MOST_TEXTS])
            shown += f" and {more:,} more" if more else ""
            places = _places([(one.table, one.text_rows, one.first_text) for one in texts])
            parts.append(
                f"{texts[0].text_kind} in {sum(one.text_rows for one in texts):,} rows, {len(held)} different"
                + (f": {shown}" if several and "ignore" not in proposal.values else "")
                + f" ({places})"
            )
        return f"  {column}: {'; '.join(parts)}"


def load_together(loads: Mapping[str, Callable[[], Table]]) -> dict[str, Table]:
    """Load several tables, so that what a job has to say of columns of any of them is told at once.

    Args:
        loads: By name what loads a table.

    Returns:
        The tables.

    Raises:
        ColumnsRefusedError: Columns of one or several have to be described.
        InputError: A table cannot be loaded.
    """
    tables: dict[str, Table] = {}
    refused: list[ColumnsRefusedError] = []
    for name, load in loads.items():
        try:
            tables[name] = load()
        except ColumnsRefusedError as error:
            refused.append(error)
    if refused:
        raise ColumnsRefusedError(
            [one for error in refused for one in error.findings],
            [*(table for error in refused for table in error.tables), *tables.values()],
            refused[0].specs,
        )
    return tables


def _column_of(table: RawTable | Table, name: str) -> RawColumn | None:
    """A column as it was read, or as numbers where the table was loaded."""
    if isinstance(table, RawTable):
        return table.columns.get(name)
    if name not in table.feature_names:
        return None
    column = table.features[:, [table.feature_names.index(name)]]
    return (column if is_dense(column) else column.toarray()).reshape(-1)


def _places(found: list[tuple[str, int, str]]) -> str:
    """How many cells of each table, and where the first one of all is."""
    told = first_few([f"{table} {count:,}" for table, count, _ in found], _MOST_TABLES)
    return f"{told}; first in {found[0][2]} of {found[0][0]}"


def _kinds_of(column: str, findings: Sequence[ColumnFinding]) -> str:
    ours = [one for one in findings if one.column == column]
    has_texts, has_gaps = any(one.texts for one in ours), any(one.empty for one in ours)
    kind = next((one.text_kind for one in ours if one.texts), "")
    texts = kind if "decimal" in kind or "thousands" in kind else "texts"
    return f"{texts}, empty cells" if has_texts and has_gaps else texts if has_texts else "empty cells"


def _number_cure(findings: Sequence[ColumnFinding]) -> str:
    """The cure for numbers with the other decimal sign, or with signs between thousands; "" where there are none."""
    grouped = [one for one in findings if one.thousands_sign]
    if grouped:
        where = first_few(list(dict.fromkeys(repr(one.column) for one in grouped)), _MOST_NAMES)
        return (
            f"write the numbers of {where} without {grouped[0].thousands_sign} between thousands, as 1234567 or "
            f"1234567{grouped[0].decimal}5: no setting takes them off; decimal in the site file only says what stands "
            "before a fraction"
        )
    decimals = (one.decimal for one in findings if one.texts and "decimal" in one.text_kind)
    return next((f'say decimal = "{"," if one == "." else "."}" in the site file' for one in decimals), "")


def _say_one(one: ColumnFinding, specs: ColumnSpecs) -> dict[str, str]:
    section = f"[{toml_key('columns', one.column)}]"
    if one.listed and one.texts:
        shown = first_few(one.listed, _MOST_NAMES)
        return {
            "what": f"{one.table}: vocabulary mismatch in column {one.column!r}",
            "expected": f"one of the job's categories: {shown}",
            "got": f"something else in {one.text_rows:,} rows, first in {one.first_text}",
            "cure": f"correct the cells, or extend {section} in the job by the category or other = true",
        }
    if one.texts:
        kind = one.text_kind
        cure = f"let the job say what they are: {section} categories = [...], the same at every party; or name the "
        cure += "column under ignore (or label, or id) in the site file"
        return {
            "what": f"{one.table}: column {one.column!r} holds texts",
            "expected": f"a number such as 12, -0{one.decimal}5 or 1e-3, or categories that the job lists",
            "got": f"{kind} in {one.text_rows:,} rows, first in {one.first_text}",
            "cure": _number_cure([one]) or cure,
        }
    number = "fill = NUMBER" if specs.fills_agreed else 'fill = NUMBER, "mean" or "median"'
    fill = 'missing = "category" or fill = CATEGORY' if one.listed else number
    return {
        "what": f"{one.table}: column {one.column!r} has empty cells",
        "expected": "a value in every row",
        "got": f"none in {one.empty:,} rows, first in {one.first_empty}",
        "cure": f"fill them in, remove those rows, or let the job say {fill} under {section}",
    }


_FILLS = ("fill", "missing")


def _block(proposal: Proposal, specs: ColumnSpecs) -> list[str]:
    section = toml_key("columns", proposal.column)
    has_own = any(spec.name == proposal.column for spec in specs)
    comments = [*(["in place of this section of the job"] if has_own else []), *proposal.comments]
    # Trees take an empty cell as it is: jobs of them need no fill, and refuse some.
    values = {key: value for key, value in proposal.values.items() if not (specs.for_trees and key in _FILLS)}
    if specs.fills_agreed and values.get("fill") in (*NUMBER_FILLS, CATEGORY_FILL):
        categories = values.get("categories")
        values["fill"] = categories[0] if isinstance(categories, tuple) else 0
        comments.append("fill: a value that all parties agree on")
    if not values:
        return [f"# {proposal.column}: {'; '.join(comments)}"]
    lines = [f"[{section}]" + (f"    # {'; '.join(comments)}" if comments else "")]
    for key, value in values.items():
        if isinstance(value, bool):
            shown = "true"
        elif isinstance(value, tuple):
            shown = f"[{', '.join(map(toml_text, value))}]"
        else:
            shown = toml_text(value) if isinstance(value, str) else repr(value)
        lines.append(f"{key} = {shown}")
    return lines
