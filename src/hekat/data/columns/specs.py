"""The public description of columns: which categories a column has, and what stands for its empty cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import translate
from functools import lru_cache
from re import Pattern
from re import compile as compile_pattern
from typing import Any

from hekat.errors import InputError

OTHER = "other"
MISSING = "missing"
NUMBER_FILLS = ("mean", "median")
CATEGORY_FILL = "most_frequent"
MISSING_KINDS = ("category", "indicator")
UNKNOWN_KINDS = ("error", "category", "ignore", CATEGORY_FILL)
DEFAULT_MARKS = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?")
"""Texts that count as an empty cell of a feature beside the empty text, unless the column lists them as categories."""
ANY_TEXT = "*"
LEAST_ROWS_OF_FOUND = 5
"""A text of fewer rows of a table says more of single rows than of the column, so that no other party is shown it."""
MOST_MIN_ROWS = 10**6
MOST_CATEGORIES = 100_000
"""More texts than that are no categories, in a job as in a model file."""

_KEYS = ("categories", "found", "min_rows", "other", "fill", "missing", "unknown", "empty", "ignore")


@dataclass(frozen=True)
class ColumnSpec:
    """One column as a job describes it, or all columns whose names fit a pattern.

    Args:
        name: What the column is called. `*` in it stands for any characters: such a description holds for every column
            that fits, where its own description says nothing else.
        categories: The texts of a column of texts, which becomes a column of 0 and 1 for each of them; without any, the
            column holds numbers.
        other: Whether one more column stands for texts that are none of the categories.
        fill: What stands for an empty cell: a number, one of the categories; or "mean" or "median" of a column of
            numbers, "most_frequent" of categories, over the rows of all parties that train together.
        missing: "category": an empty cell is one more category, NAME=missing. "indicator", of numbers: one more column
            NAME=missing is 1 where the cell is empty, and `fill` stands in the column itself.
        unknown: What a text that is no category becomes in rows that the model was not trained on: "error", it is
            refused; "category", the same as `other`; "ignore", 0 in all its columns; "most_frequent", or one of the
            categories.
        empty: Texts and numbers that count as an empty cell of this column, beside `DEFAULT_MARKS`. "*" among them is
            every text that is no number, of a column of numbers.
        ignore: Whether the column is left out.
        found: Whether the categories are the texts that the column's own table holds, in their order. Of a pattern this
            holds for columns with texts alone.
        min_rows: How many rows of one table a text needs to be found; `other` then stands for rarer ones. None: 1 where
            a column has one owner, `LEAST_ROWS_OF_FOUND` where parties find categories together.

    Raises:
        InputError: These do not fit each other.

    Examples:
        >>> from hekat.data import ColumnSpec
        >>> ColumnSpec("blood", categories=("A", "B"), other=True).feature_names
        ('blood=A', 'blood=B', 'blood=other')
    """

    name: str
    categories: tuple[str, ...] = ()
    other: bool = False
    fill: float | str | None = None
    missing: str | None = None
    unknown: str | None = None
    empty: tuple[str, ...] = ()
    ignore: bool = False
    found: bool = False
    min_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(self.categories))
        object.__setattr__(self, "empty", tuple(self.empty))
        if not (isinstance(self.name, str) and self.name):
            raise InputError("a column without a name is described", expected="[columns.NAME]", got="an empty name")
        for key in ("categories", "empty"):
            if not all(isinstance(text, str) and text and text == text.strip() for text in getattr(self, key)):
                self._refuse(key, "texts in quotes, none empty, without spaces at their ends", "another entry")
            if len(set(getattr(self, key))) != len(getattr(self, key)):
                self._refuse(
                    key, "each category once" if key == "categories" else "each text once", "one of them twice"
                )
        if len(self.categories) > MOST_CATEGORIES:
            self._refuse("categories", f"at most {MOST_CATEGORIES} texts", f"{len(self.categories)}")
        if self.ignore and len(self.said) > 1:
            self._refuse("ignore", "nothing beside it: the column is left out", self.said[0])
        if self.found and (self.categories or (self.other and self.is_pattern)):
            self._refuse("categories", "'found' alone, or a list", "other texts beside 'found'")
        self._check_min_rows()
        if self.is_pattern and self.categories:
            self._refuse(
                "categories", "the name of one column: a pattern cannot list texts", f"the pattern {self.name!r}"
            )
        if self.other and not (self.has_categories or self.is_pattern):
            self._refuse("other", "categories beside it", "none")
        self._check_unknown()
        self._check_names_of_buckets()
        self._check_missing()
        self._check_fill()

    def _check_unknown(self) -> None:
        if self.unknown is None:
            return
        if not self.has_categories and not self.is_pattern:
            self._refuse("unknown", "categories beside it", "none")
        if self.unknown not in (*UNKNOWN_KINDS, *self.categories):
            self._refuse(
                "unknown", f"{' or '.join(map(repr, UNKNOWN_KINDS))}, or one of the categories", "something else"
            )
        if self.unknown == "category" and self.found and self.is_pattern:
            self._refuse(
                "unknown", "another word beside categories that are found: they leave out no text", "'category'"
            )
        if self.unknown == "category":
            object.__setattr__(self, "other", True)
        elif self.other:
            self._refuse("unknown", "'category' beside other = true: any other text is that category", "another word")

    def _check_min_rows(self) -> None:
        if self.min_rows is None:
            return
        if not self.found or self.is_pattern:
            got = "a pattern" if self.is_pattern else "other categories, or none"
            self._refuse("min_rows", "categories = 'found' beside it, of one column by its name", got)
        if isinstance(self.min_rows, bool) or not 1 <= self.min_rows <= MOST_MIN_ROWS:
            self._refuse("min_rows", f"a whole number from 1 to {MOST_MIN_ROWS}", repr(self.min_rows))

    def _check_names_of_buckets(self) -> None:
        for key, is_taken, name in (("other", self.other, OTHER), ("missing", self.missing == "category", MISSING)):
            if is_taken and name in self.categories:
                self._refuse(key, f"no category {name!r} beside it: that is its name", "one")
        both = sorted(set(self.empty).intersection(self.categories))
        if both:
            self._refuse("empty", "texts that are no category", "one that is both")
        if ANY_TEXT in self.empty and self.has_categories:
            self._refuse("empty", f"{ANY_TEXT!r} in a column of numbers alone", "categories beside it")

    def _check_missing(self) -> None:
        if self.missing is None:
            return
        if self.missing not in MISSING_KINDS:
            self._refuse("missing", " or ".join(map(repr, MISSING_KINDS)), "something else")
        if self.is_pattern:
            return
        if self.missing == "category" and not self.has_categories:
            self._refuse("missing", "categories beside 'category', or 'indicator' of a column of numbers", "neither")
        if self.missing == "category" and self.fill is not None:
            self._refuse("missing", "no fill beside it: an empty cell is a category of its own", "both")
        if self.missing == "indicator" and self.has_categories:
            self._refuse("missing", "'category' of a column with categories", "'indicator'")

    def _check_fill(self) -> None:
        is_number = isinstance(self.fill, (int, float)) and not isinstance(self.fill, bool)
        is_number = is_number and math.isfinite(self.fill)  # type: ignore[arg-type]  # a number by the line before
        if self.is_pattern:
            if self.fill is not None and not is_number and self.fill not in (*NUMBER_FILLS, CATEGORY_FILL):
                self._refuse("fill", 'a finite number, "mean", "median" or "most_frequent"', _kind_of(self.fill))
        elif self.found:
            if self.fill not in (None, CATEGORY_FILL):
                self._refuse("fill", f"{CATEGORY_FILL!r} beside categories that are found", _kind_of(self.fill))
        elif self.categories:
            if self.fill is not None and self.fill not in (*self.categories, *([OTHER] * self.other), CATEGORY_FILL):
                shown = ", ".join(repr(text) for text in self.categories[:8])
                self._refuse(
                    "fill", f"one of the column's categories in quotes: {shown}; or 'most_frequent'", "something else"
                )
            if self.fill == CATEGORY_FILL and CATEGORY_FILL in self.categories:
                self._refuse("fill", "a word with one meaning", f"{CATEGORY_FILL!r}, which is a category too")
        elif not (is_number or self.fill in NUMBER_FILLS or (self.fill is None and self.said)):
            expected = "a finite number, 'mean' or 'median', or categories = [...] where the column holds texts"
            self._refuse("fill", expected, _kind_of(self.fill))

    def _refuse(self, key: str, expected: str, got: str) -> None:
        place = f"columns.{self.name}.{key}"
        raise InputError(f"{place} refused", expected=expected, got=got, cure=f"correct {place} in the job")

    @property
    def is_pattern(self) -> bool:
        """Whether the description is of all columns whose names fit."""
        return "*" in self.name

    @property
    def has_categories(self) -> bool:
        """Whether the column is one of texts: its categories are listed, or found."""
        return bool(self.categories) or (self.found and not self.is_pattern)

    @property
    def said(self) -> tuple[str, ...]:
        """The keys that are not at their default."""
        values = {key: getattr(self, key) for key in _KEYS}
        return tuple(key for key, value in values.items() if value is not None and value is not False and value != ())

    @property
    def buckets(self) -> tuple[str, ...]:
        """The categories, then "other" and "missing" where these are."""
        if not self.categories:
            return ()
        return (*self.categories, *([OTHER] * self.other), *([MISSING] * (self.missing == "category")))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns that the model sees: NAME=CATEGORY for each category, or the column itself and its indicator."""
        if self.ignore:
            return ()
        if self.categories:
            return tuple(f"{self.name}={text}" for text in self.buckets)
        return (self.name, f"{self.name}={MISSING}") if self.missing == "indicator" else (self.name,)

    @property
    def joint_fill(self) -> str:
        """The rule that the rows of all parties give the fill by; "" where the job states what stands for each cell."""
        if self.unknown == CATEGORY_FILL:
            return CATEGORY_FILL
        return self.fill if isinstance(self.fill, str) and self.fill in (*NUMBER_FILLS, CATEGORY_FILL) else ""

    @property
    def marks(self) -> frozenset[str]:
        """The texts that are an empty cell."""
        return frozenset(DEFAULT_MARKS).difference(self.categories).union(self.empty)


@dataclass(frozen=True)
class ColumnSpecs:
    """The columns that a job describes, the same at every party; all others hold numbers and have no empty cell.

    Args:
        specs: One for each described column, and for each pattern of names.
        everywhere: Whether every table must have all of them: not where parties hold different columns.
        for_training: Whether tables are trained on; in others `unknown` says what a text becomes that is no category.
        found_together: Whether parties with the same columns find the categories of columns together.
        fills_agreed: Whether parties with the same columns cannot count cells together, so that every fill is a value
            that they agree on.
        keeps_gaps: Whether an empty cell without a fill stays empty, which trees take as it is; of categories, none of
            its columns is 1 then.
        for_trees: Whether a column of categories becomes one column of their numbers, from 0 on in their order, and
            empty cells stay so.

    Raises:
        InputError: A column is described twice.

    Examples:
        >>> from hekat.data import ColumnSpec, ColumnSpecs
        >>> specs = ColumnSpecs((ColumnSpec("age", fill=50.0), ColumnSpec("lab_*", fill="median")))
        >>> specs.find("age").fill, specs.find("lab_iron").fill
        (50.0, 'median')
    """

    specs: tuple[ColumnSpec, ...] = ()
    everywhere: bool = True
    for_training: bool = True
    found_together: bool = False
    fills_agreed: bool = False
    for_trees: bool = False
    keeps_gaps: bool = False
    _resolved: dict[tuple[str, bool], ColumnSpec | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _sources: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.for_trees:
            object.__setattr__(self, "keeps_gaps", True)
        if len(self._by_name) != len(self.specs):
            raise InputError("a column is described twice", expected="each column once", got="one that repeats")

    def __iter__(self) -> Iterator[ColumnSpec]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    @property
    def _by_name(self) -> dict[str, ColumnSpec]:
        return {spec.name: spec for spec in self.specs}

    @property
    def joint_fills(self) -> tuple[str, ...]:
        """The rules, sorted, by which some column may be filled from the rows of all parties."""
        return tuple(sorted({spec.joint_fill for spec in self.specs if spec.joint_fill}))

    def find(self, name: str, *, holds_texts: bool = False) -> ColumnSpec | None:
        """What is said of one column: by its own description, and where that is silent by the patterns that fit.

        Of two patterns the one with more characters beside `*` goes first, then the later one. What a pattern says is
        passed over where it does not fit the column: a mean where the column has categories.

        Args:
            name: What the column is called.
            holds_texts: Whether its table holds texts in it, for patterns by which categories are found.

        Returns:
            Its spec; None where the job says nothing of it.
        """
        if not self.specs:
            return None
        key = name, holds_texts
        if key not in self._resolved:
            self._resolved[key] = self._resolve(name, holds_texts=holds_texts)
        return self._resolved[key]

    def _resolve(self, name: str, *, holds_texts: bool) -> ColumnSpec | None:
        own = next((spec for spec in self.specs if spec.name == name and not spec.is_pattern), None)
        fitting = [spec for spec in self.specs if spec.is_pattern and fits(spec.name, name)]
        if own is not None and own.ignore:
            return own
        values = {} if own is None else {key: getattr(own, key) for key in own.said}
        if holds_texts and any(spec.found for spec in fitting) and _may_be_found(values):
            values["found"] = True
        ranked = sorted(enumerate(fitting), key=lambda one: (-len(one[1].name.replace("*", "")), -one[0]))
        for _, pattern in ranked:
            for key in pattern.said:
                if key not in values and _is_passed_on(key, getattr(pattern, key), values):
                    values[key] = getattr(pattern, key)
        # "ignore" of a pattern holds for a column where nothing else is said of it.
        if values.get("ignore") and own is None:
            values = {"ignore": True}
        return ColumnSpec(name, **values) if values else None

    def source_of(self, feature: str) -> str:
        """The column of a table that a column of features comes from.

        Args:
            feature: A name of features, `NAME=CATEGORY` or `NAME`.

        Returns:
            The column's name.
        """
        if not self._sources:
            for spec in (spec for spec in self.specs if not spec.is_pattern):
                resolved = self.find(spec.name)
                for name in () if resolved is None else resolved.feature_names:
                    self._sources.setdefault(name, spec.name)
        if feature in self._sources:
            return self._sources[feature]
        name = feature.removesuffix(f"={MISSING}")
        found = self.find(name)
        return name if name != feature and found is not None and feature in found.feature_names else feature

    def is_spare(self, feature: str) -> bool:
        """Whether a column of features is kept for other texts or for empty cells, so that no row needs to be in it.

        Args:
            feature: A name of features.

        Returns:
            True for `NAME=other` and `NAME=missing` of a column with categories.
        """
        name, _, bucket = feature.rpartition("=")
        spec = self.find(name) if any(spec.name == name for spec in self.specs) else None
        if spec is None or not spec.has_categories:
            return False
        return (spec.other and bucket == OTHER) or (spec.missing == "category" and bucket == MISSING)

    def of_features(self) -> ColumnSpecs:
        """What is said of columns that are not left out: all that a trained model needs.

        Returns:
            The specs without those that leave columns out.
        """
        return replace(self, specs=tuple(spec for spec in self.specs if not spec.ignore))

    def to_json(self) -> dict[str, dict[str, Any]]:
        """The specs as plain values of JSON.

        Returns:
            By column name, what is not at its default.
        """
        return {spec.name: _plain(spec) for spec in self.specs}

    @classmethod
    def from_json(cls, described: object, *, keeps_gaps: bool = False) -> ColumnSpecs:
        """The specs that `to_json` wrote.

        Args:
            described: Plain values of JSON.
            keeps_gaps: As the specs have it: `to_json` does not tell.

        Returns:
            The specs.

        Raises:
            InputError: `described` is anything else.
        """
        if not isinstance(described, Mapping):
            raise InputError("columns are not described as a table", expected="column names with what is said of them")
        known = {field.name for field in fields(ColumnSpec)} - {"name"}
        for name, values in described.items():
            if not isinstance(values, Mapping) or values.keys() - known or not _are_of_their_types(values):
                raise InputError(
                    f"the description of column {name!r} cannot be read",
                    expected=f"{', '.join(sorted(known))}",
                    got="something else",
                    cure="write the file again with this release of Hekat",
                )
        return cls(tuple(ColumnSpec(name, **values) for name, values in described.items()), keeps_gaps=keeps_gaps)


def fits(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, in which `*` alone has a meaning."""
    return _compiled(pattern).match(name) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Pattern[str]:
    return compile_pattern(translate(pattern.replace("[", "[[]").replace("?", "[?]")))


def _may_be_found(values: Mapping[str, Any]) -> bool:
    """Whether the column's own description leaves it open that it holds categories."""
    is_open = "categories" not in values and not values.get("other") and values.get("missing") != "indicator"
    return is_open and values.get("fill") in (None, CATEGORY_FILL) and ANY_TEXT not in values.get("empty", ())


def _is_passed_on(key: str, value: object, values: Mapping[str, Any]) -> bool:
    """Whether what a pattern says fits a column with these `values` so far."""
    has_categories = bool(values.get("categories") or values.get("found"))
    if key == "ignore":
        return not values
    if key == "found":
        return False
    if key == "other":
        return (
            bool(values.get("categories"))
            and OTHER not in values["categories"]
            and values.get("unknown") in (None, "category")
        )
    if key == "unknown":
        is_other = OTHER in values.get("categories", ()) or values.get("other")
        if value == "category" and values.get("found"):
            return False
        return has_categories and not (is_other if value == "category" else values.get("other"))
    if key == "fill":
        if has_categories:
            return (
                value == CATEGORY_FILL and values.get("missing") is None and value not in values.get("categories", ())
            )
        return value != CATEGORY_FILL
    if key == "missing":
        if has_categories:
            is_free = values.get("fill") is None and MISSING not in values.get("categories", ())
            return value == "category" and is_free
        return value == "indicator"
    texts = value if isinstance(value, tuple) else ()
    return set(values.get("categories", ())).isdisjoint(texts) and not (has_categories and ANY_TEXT in texts)


def _plain(spec: ColumnSpec) -> dict[str, Any]:
    values = {key: getattr(spec, key) for key in spec.said}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _are_of_their_types(values: Mapping[str, Any]) -> bool:
    lists = all(isinstance(values.get(key, []), list | tuple) for key in ("categories", "empty"))
    lists = lists and isinstance(values.get("min_rows"), int | None)
    flags = all(isinstance(values.get(key, False), bool) for key in ("found", "other", "ignore"))
    return lists and flags and all(isinstance(values.get(key, ""), str) for key in ("missing", "unknown"))


def _kind_of(value: object) -> str:
    if value is None:
        return "neither"
    return "a text" if isinstance(value, str) else "something else"
