"""Table: one party's rows as numbers, with column names and, where known, a label for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Features, float64 (rows, columns), C-contiguous, beside labels (rows,) or None; nothing in it can be changed.

    Labels are as they were read (numbers or texts) until `encode_labels` makes them int64 classes or float64 numbers.
    Integers and booleans are taken as float64 features. Raises InputError for anything but numbers, and for sizes that
    do not agree; NaN and infinity are for `check_finite`.
    """

    features: FloatArray
    labels: npt.NDArray[Any] | None
    feature_names: tuple[str, ...]
    name: str = "table"

    def __post_init__(self) -> None:
        features = as_numbers(self.features, f"features of {self.name}")
        if features.ndim != 2 or features.shape[1] == 0:
            raise InputError(
                f"features of {self.name} are not a table",
                expected="shape (rows, columns), at least one column",
                got=f"shape {features.shape}",
                cure="give a two-dimensional array, one row for each record",
            )
        object.__setattr__(self, "features", _read_only(features))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        self._check_names()
        if self.labels is not None:
            object.__setattr__(self, "labels", _read_only(self._checked_labels(np.asarray(self.labels))))

    def _check_names(self) -> None:
        names = self.feature_names
        if not all(isinstance(name, str) and name for name in names):
            raise InputError(f"a column of {self.name} has no name", expected="a text for each column")
        if len(names) != self.features.shape[1]:
            raise InputError(
                f"column names of {self.name} do not fit its features",
                expected=f"{self.features.shape[1]} names",
                got=f"{len(names)}",
                cure="give one name for each column",
            )
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise InputError(
                f"two columns of {self.name} have the same name",
                expected="distinct names",
                got=", ".join(repeated),
                cure="rename one of them",
            )

    def _checked_labels(self, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if labels.dtype.kind not in "biufU":
            raise InputError(
                f"labels of {self.name} are of a kind that cannot be used",
                expected="numbers or texts",
                got=f"an array of {labels.dtype}",
                cure="convert the labels to numbers or texts",
            )
        if labels.shape != self.features.shape[:1]:
            raise InputError(
                f"labels of {self.name} do not fit its rows",
                expected=f"shape ({self.features.shape[0]},)",
                got=f"shape {labels.shape}",
                cure="give one label for each row",
            )
        return labels

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def __repr__(self) -> str:
        labels = "no labels" if self.labels is None else f"labels of {self.labels.dtype}"
        return f"Table({self.name!r}, {len(self)} rows, {self.features.shape[1]} columns, {labels})"

    def take(self, rows: npt.NDArray[np.int64]) -> Table:
        """The table of the given row numbers, in their order."""
        labels = None if self.labels is None else self.labels[rows]
        return Table(self.features[rows], labels, self.feature_names, self.name)


def as_numbers(values: Any, what: str) -> FloatArray:
    """`values` as a float64 array. Raises InputError where they are not real numbers; never names a value."""
    if hasattr(values, "toarray"):
        raise InputError(
            f"{what} are sparse", expected="a dense array", got=type(values).__name__, cure="convert with .toarray()"
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} have rows of unequal lengths", expected="an array of numbers") from None
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{what} are not numeric",
            expected="real numbers",
            got=f"an array of {array.dtype}",
            cure="turn texts, dates and categories into numbers, or leave those columns out",
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that refuses writes; the caller's own array stays as it was."""
    view = array.view()
    view.setflags(write=False)
    return view
