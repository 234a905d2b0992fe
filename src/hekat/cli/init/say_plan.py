"""What `hekat init --from` says of the tables: what was read, what each column becomes, what is left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND
from hekat.data.number_text import read_number
from hekat.data.profile.table_profile import TableProfile
from hekat.data.sources.csv_file import say_unnamed
from hekat.first_few import first_few
from hekat.job.new.column_plan import ColumnPlan
from hekat.job.new.table_plan import LabelPlan, TablePlan
from hekat.toml_text import toml_key

MOST_NAMES_SHOWN = 20


def say_plan(
    plan: TablePlan, *, found: Sequence[str] = (), listed: Sequence[str] = (), fills: bool = True
) -> Iterator[str]:
    """The lines, in the order in which a reader asks; `found` are columns whose categories all parties find, `listed`
    columns whose categories come from these tables alone, though other parties have more; `fills`: gaps are filled."""
    for table in plan.tables:
        yield f"read        {describe_table(table)}"
    yield from say_label(plan.label, names_model=fills)
    yield from say_columns(plan.columns, fills=fills)
    if listed:
        yield f"to complete categories of {some_of(listed)}: job.toml lists what this table has; add what the others"
        yield "            have, or it counts as other"
    if found:
        yield f"to find     categories of {some_of(found)}: by all parties together, who then know each text that"
        place = toml_key("columns", found[0])
        yield f"            {LEAST_ROWS_OF_FOUND} rows of a table hold; for another number write min_rows = ... under"
        yield f"            [{place}] of job.toml"
    for name, tables in plan.missing_at.items():
        yield f"left out    {name}: not in {', '.join(tables)}"
    for problem in plan.problems:
        yield f"to mend     {problem}: hekat run refuses the table as it is"


def say_label(label: LabelPlan, *, names_model: bool = True) -> Iterator[str]:
    """Which column is predicted, and whether nobody said so; `names_model`: --model linear makes numbers of classes."""
    guessed = "; a guess: --label COLUMN names another" if label.is_guess else ""
    yield f"label       {label.name}: {', '.join(label.classes) or 'numbers, so a regression'}{guessed}"
    if not names_model and label.classes and all(read_number(one) is not None for one in label.classes):
        yield "            taken for classes; where they are amounts, leave classes out of job.toml: a regression"


def describe_table(table: TableProfile) -> str:
    """How much was read of a table, and how it is written."""
    parts = [f"all {table.rows:,} rows", f"{len(table.columns)} columns", *table.dialect.in_words]
    parts += [say_unnamed(table.unnamed)] if table.unnamed else []
    return f"{table.name}: {', '.join(parts)}"


def say_columns(columns: Sequence[ColumnPlan], *, fills: bool = True) -> Iterator[str]:
    """What becomes of each column; `fills`: the job says what fills gaps, which trees leave as they are."""
    numbers = [column.name for column in columns if column.kept == "numbers" and not column.is_date]
    dates = [column.name for column in columns if column.is_date]
    texts = [_describe_texts(column) for column in columns if column.kept == "texts"]
    gaps = [f"{column.name} ({column.gaps:,})" for column in columns if column.kept and column.gaps]
    yield f"numbers     {some_of(numbers)}"
    if texts:
        yield f"texts       {some_of(texts)}"
    if dates:
        yield f"dates       {some_of(dates)}: as days since 1970-01-01"
    if gaps:
        yield f"with gaps   {some_of(gaps)}"
    if gaps and not fills:
        yield "            gaps stay: trees learn where they go"
    what = "what texts can be, what fills gaps" if fills else "what texts can be"
    if texts or (gaps and fills):
        yield f"            {what}: [columns.NAME] of job.toml, which every party sees"
    for column in columns:
        if column.empty:
            yield f"            {column.name}: {', '.join(map(repr, column.empty))} count as empty cells"
    padded = [column.name for column in columns if column.kept and column.is_padded]
    if padded:
        yield f"            {some_of(padded)}: numbers that begin with 0, as codes do; for codes say in job.toml"
        yield f"            [{toml_key('columns', padded[0])}] categories = [...], with each as it is written"
    yield from _say_left_out([column for column in columns if column.kept is None])


def some_of(names: Sequence[str]) -> str:
    """The names, or the first of many."""
    return first_few(names, MOST_NAMES_SHOWN) or "none"


def _describe_texts(column: ColumnPlan) -> str:
    more = f" and {column.rare} rare" if column.rare else ""
    return f"{column.name} ({len(column.categories)}{more})"


def _say_left_out(columns: Sequence[ColumnPlan]) -> Iterator[str]:
    """One line for each reason; how such a column can be kept all the same follows."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for column in columns:
        by_reason.setdefault((column.why, column.cure), []).append(column.name)
    for (why, cure), names in by_reason.items():
        yield f"left out    {some_of(names)}: {why}" + (f"; {cure}" if cure else "")
    if columns:
        yield "            they stand under ignore in site.toml"
