"""Categories that are found: what a table offers of its texts, and a description that lists what all parties found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hekat.data.columns.specs import DEFAULT_MARKS, LEAST_ROWS_OF_FOUND, MISSING, OTHER, ColumnSpec, ColumnSpecs
from hekat.data.columns.text_columns import as_texts, texts_in_use, with_marks
from hekat.data.number_text import order_of_text, shortest_whole
from hekat.data.raw_table import RawTable, TextColumn
from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.toml_text import toml_key

Vocabulary = Mapping[str, tuple[str, ...]]
"""By column its categories, in their order."""
MOST_FOUND = 200
"""More texts than that are no categories."""
MOST_TEXT_BYTES = 64
"""A category that parties find together has no more bytes of UTF-8."""
_MOST_SHOWN = 8
_MOST_OF_FIRST, _MOST_OF_FURTHER = MOST_FOUND, 50


def most_categories(column_count: int) -> int:
    """The most categories that parties find together in so many columns; public, since it sizes what they send."""
    return _MOST_OF_FIRST + _MOST_OF_FURTHER * (column_count - 1)


def most_columns(column_count: int, offers: Vocabulary) -> int:
    """The most columns that a table has once all parties' categories are known, where it has `column_count` with its
    own `offers` alone: each found column has the buckets OTHER and MISSING besides, at the most."""
    return column_count - sum(map(len, offers.values())) + most_categories(len(offers)) + 2 * len(offers)


@dataclass(frozen=True, eq=False)
class OpenCategories:
    """What a table is encoded from once all parties' categories are known.

    `raw` are its columns as they were read, `columns` the names of those that are used, `offers` the texts that it
    offers by column; `notes` are of its encoding with these alone.
    """

    raw: RawTable = field(repr=False)
    columns: tuple[str, ...]
    offers: Vocabulary = field(repr=False)
    notes: tuple[str, ...] = ()


def frequent_texts(texts: Mapping[str, int], spec: ColumnSpec, least: int) -> tuple[str, ...]:
    """The texts that at least so many rows hold, in their order, numbers in their shortest form.

    A text with the name of a bucket of the column is none of them: it counts as any other text.
    """
    counts: Counter[str] = Counter()
    for text, count in texts.items():
        counts[shortest_whole(text)] += count
    buckets = {*([OTHER] * spec.other), *([MISSING] * (spec.missing == "category"))}
    frequent = (text for text, count in counts.items() if count >= least and text not in buckets)
    return tuple(sorted(frequent, key=order_of_text))


def offered_texts(raw: RawTable, specs: ColumnSpecs) -> Vocabulary:
    """By column the texts that this table offers to all parties: those that enough of its rows hold.

    Raises InputError, which names columns and no text, where rarer texts have no category to count as, and for texts
    that cannot be offered, or too many.
    """
    offers: dict[str, tuple[str, ...]] = {}
    left_out: list[str] = []
    for spec in (spec for spec in specs if spec.found):
        column = raw.columns[spec.name]
        coded = column if isinstance(column, TextColumn) else as_texts(column)
        texts = texts_in_use(with_marks(coded, spec.marks))
        offers[spec.name] = frequent_texts(texts, spec, spec.min_rows or LEAST_ROWS_OF_FOUND)
        _check_offer(raw, spec.name, offers[spec.name])
        if offers[spec.name]:
            with_categories(spec, offers[spec.name])
        if not spec.other and not {shortest_whole(text) for text in texts} <= set(offers[spec.name]):
            left_out.append(spec.name)
    if left_out:
        raise InputError(
            f"{raw.name}: texts of a few rows are shown to no other party, and the job does not say what they become",
            expected="other = true beside categories = 'found'",
            got=f"none for {_some(left_out)}",
            cure=f"add other = true under [{toml_key('columns', left_out[0])}]; or min_rows = 1 there, by which all "
            "parties see every text",
        )
    most = most_categories(len(offers))
    if sum(map(len, offers.values())) > most:
        raise InputError(
            f"{raw.name} offers too many categories",
            expected=f"at most {most} of all {len(offers)} columns whose categories are found",
            got=f"{sum(map(len, offers.values()))}",
            cure="raise min_rows of columns with many, list their categories, or ignore them",
        )
    return offers


def _check_offer(raw: RawTable, column: str, texts: Sequence[str]) -> None:
    key = toml_key("columns", column)
    alike = next((name for name in raw.columns if name.startswith(f"{column}=")), None)
    if alike is not None:
        raise InputError(
            f"{raw.name}: column {alike!r} has the name of a category of column {column!r}",
            expected=f"no other column whose name begins with {column + '='!r}, as its categories are found",
            got=repr(alike),
            cure="rename or ignore one of the two columns, or list the categories in the job",
        )
    if len(texts) > MOST_FOUND:
        raise InputError(
            f"{raw.name}: column {column!r} holds too many different texts to be found",
            expected=f"at most {MOST_FOUND} that min_rows or more rows hold",
            got=f"{len(texts)}",
            cure=f"raise min_rows under [{key}], with other = true; or ignore the column",
        )
    if not all(map(is_category, texts)):
        raise InputError(
            f"{raw.name}: column {column!r} holds a text that cannot be found with other parties",
            expected=f"printable texts of at most {MOST_TEXT_BYTES} bytes of UTF-8",
            got="a longer one, or one with control characters",
            cure=f"shorten it in the table, list the column's categories under [{key}], or ignore the column",
        )


def is_category(text: str) -> bool:
    """Whether a text can be a category that parties find together: printable, short, in the form that tables give."""
    if not (text and text.isprintable() and text == text.strip() and text == shortest_whole(text)):
        return False
    return text not in DEFAULT_MARKS and len(text.encode()) <= MOST_TEXT_BYTES


def join_offers(offers: Sequence[Vocabulary]) -> dict[str, tuple[str, ...]]:
    """By column the texts that one of several tables offers, in their order. Raises as `check_vocabulary`."""
    texts = {column: {text for one in offers for text in one[column]} for column in offers[0]}
    joined = {column: tuple(sorted(found, key=order_of_text)) for column, found in texts.items()}
    check_vocabulary(joined)
    return joined


def check_vocabulary(vocabulary: Vocabulary) -> None:
    """Raise InputError, without a text, for a column without categories, and for too many of them."""
    empty = [column for column, texts in vocabulary.items() if not texts]
    if empty:
        raise InputError(
            "no party offers a category of columns whose categories are found",
            expected="a text that min_rows or more rows of one party hold",
            got=f"none for {_some(empty)}",
            cure="lower min_rows of these columns, list their categories, or set ignore = true for them in the job",
        )
    full = [column for column, texts in vocabulary.items() if len(texts) > MOST_FOUND]
    if full:
        raise InputError(
            "all parties together have too many categories",
            expected=f"at most {MOST_FOUND} of a column",
            got=f"more for {_some(full)}",
            cure="raise min_rows of these columns, list their categories, or set ignore = true for them in the job",
        )
    most, count = most_categories(len(vocabulary)), sum(map(len, vocabulary.values()))
    if count > most:
        raise InputError(
            "all parties together have too many categories",
            expected=f"at most {most} of all {len(vocabulary)} columns whose categories are found",
            got=str(count),
            cure="raise min_rows of columns with many, list their categories, or set ignore = true for some in the job",
        )


def _some(names: Sequence[str]) -> str:
    return first_few([*map(repr, names)], _MOST_SHOWN)


def with_categories(spec: ColumnSpec, categories: tuple[str, ...]) -> ColumnSpec:
    """A description whose categories are listed, in place of one by which they are found. Raises InputError."""
    return replace(spec, categories=categories, found=False, min_rows=None)


def with_vocabulary(specs: ColumnSpecs, vocabulary: Vocabulary) -> ColumnSpecs:
    """The description with these categories listed; a column without any is left out. Raises InputError."""

    def settle(spec: ColumnSpec) -> ColumnSpec:
        if not spec.found:
            return spec
        categories = vocabulary[spec.name]
        if not categories:
            return ColumnSpec(spec.name, ignore=True)
        try:
            return with_categories(spec, categories)
        except InputError:
            raise InputError(
                "a party offers what is no category (step categories/table)",
                expected="other texts than the job's words for other and for empty cells",
                got=f"one of these in column {spec.name!r}; sums do not tell from whom",
                cure="ask the parties what runs at their sites: Hekat offers no such text",
            ) from None

    return replace(specs, specs=tuple(map(settle, specs.specs)), found_together=False)
