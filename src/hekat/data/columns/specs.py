"""The public description of columns: which categories a column has, and what stands for its empty cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hekat.errors import InputError

OTHER = "other"


@dataclass(frozen=True)
class ColumnSpec:
    """One column as a job describes it.

    Args:
        name: What the column is called.
        categories: The texts of a column of texts, which becomes a column of 0 and 1 for each of them; without any, the
            column holds numbers.
        other: Whether one more column stands for texts that are none of the categories.
        fill: What stands for an empty cell: a number, or one of the categories.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(self.categories))
        if not (isinstance(self.name, str) and self.name):
            raise InputError("a column without a name is described", expected="[columns.NAME]", got="an empty name")
        if not all(isinstance(text, str) and text and text == text.strip() for text in self.categories):
            self._refuse("categories", "texts in quotes, none empty, without spaces at their ends", "another entry")
        if len(set(self.categories)) != len(self.categories):
            self._refuse("categories", "each category once", "one of them twice")
        if self.other and not self.categories:
            self._refuse("other", "categories beside it", "none")
        if self.other and OTHER in self.categories:
            self._refuse("other", f"no category {OTHER!r} beside it: that is its name", "one")
        self._check_fill()

    def _check_fill(self) -> None:
        if self.categories:
            if self.fill is not None and self.fill not in self.buckets:
                shown = ", ".join(repr(text) for text in self.buckets[:8])
                self._refuse("fill", f"one of the column's categories in quotes: {shown}", "something else")
        elif isinstance(self.fill, bool) or not isinstance(self.fill, (int, float)) or not math.isfinite(self.fill):
            self._refuse(
                "fill", "a finite number, or categories = [...] where the column holds texts", _kind_of(self.fill)
            )

    def _refuse(self, key: str, expected: str, got: str) -> None:
        place = f"columns.{self.name}.{key}"
        raise InputError(f"{place} refused", expected=expected, got=got, cure=f"correct {place} in the job")

    @property
    def buckets(self) -> tuple[str, ...]:
        """The categories, with "other" at the end where there is one."""
        return (*self.categories, OTHER) if self.other else self.categories

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns that the model sees: the column itself, or NAME=CATEGORY for each category."""
        return tuple(f"{self.name}={text}" for text in self.buckets) or (self.name,)


@dataclass(frozen=True)
class ColumnSpecs:
    """The columns that a job describes, the same at every party; all others hold numbers and have no empty cell.

    Args:
        specs: One for each described column.
        everywhere: Whether every table must have all of them: not where parties hold different columns.

    Raises:
        InputError: A column is described twice.

    Examples:
        >>> from hekat.data import ColumnSpec, ColumnSpecs
        >>> specs = ColumnSpecs((ColumnSpec("age", fill=50.0),))
        >>> specs.find("age").fill
        50.0
    """

    specs: tuple[ColumnSpec, ...] = ()
    everywhere: bool = True

    def __post_init__(self) -> None:
        names = [spec.name for spec in self.specs]
        if len(set(names)) != len(names):
            raise InputError("a column is described twice", expected="each column once", got="one that repeats")

    def __iter__(self) -> Iterator[ColumnSpec]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def find(self, name: str) -> ColumnSpec | None:
        """What is said of one column.

        Args:
            name: What the column is called.

        Returns:
            Its spec; None where the job says nothing of it.
        """
        return next((spec for spec in self.specs if spec.name == name), None)

    def to_json(self) -> dict[str, dict[str, Any]]:
        """The specs as plain values of JSON.

        Returns:
            By column name, what is not at its default.
        """
        return {spec.name: _plain(spec) for spec in self.specs}

    @classmethod
    def from_json(cls, described: object) -> ColumnSpecs:
        """The specs that `to_json` wrote.

        Args:
            described: Plain values of JSON.

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
        return cls(tuple(ColumnSpec(name, **values) for name, values in described.items()))


def _plain(spec: ColumnSpec) -> dict[str, Any]:
    plain: dict[str, Any] = {"categories": list(spec.categories)} if spec.categories else {}
    if spec.other:
        plain["other"] = True
    if spec.fill is not None:
        plain["fill"] = spec.fill
    return plain


def _are_of_their_types(values: Mapping[str, Any]) -> bool:
    return isinstance(values.get("categories", []), list | tuple) and isinstance(values.get("other", False), bool)


def _kind_of(value: object) -> str:
    if value is None:
        return "neither"
    return "a text" if isinstance(value, str) else "something else"
