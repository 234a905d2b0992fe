"""Table: one party's rows as numbers, with column names and, where known, a label and an id for each row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.columns.found import OpenCategories
from hekat.data.columns.specs import ColumnSpec
from hekat.data.features import Features, checked_features, is_dense, read_only
from hekat.data.ids import Ids, make_ids
from hekat.errors import InputError


@dataclass(frozen=True)
class OpenFill:
    """Columns of features whose empty cells are NaN until the rows of all parties say what fills them.

    `names` are a column of numbers, or all columns of a category, NaN together; `rule` is "mean", "median" or
    "most_frequent".
    """

    names: tuple[str, ...]
    rule: str


@dataclass(frozen=True, eq=False)
class Table:
    """One party's rows: features, and where they are known labels and ids. Nothing in it can be changed.

    Args:
        features: float64 (rows, columns): an array, or a scipy.sparse.csr_array. Integers and booleans are taken as
            float64. No column at all will do for a guest that has
            labels alone; other uses refuse it with `check_has_columns`. NaN and infinity are for `check_finite`.
        labels: (rows,), numbers or texts as they were read, until `encode_labels` makes them int64 classes or float64
            numbers; None where there are none.
        feature_names: The name of each column.
        name: What errors call the table.
        ids: Which record each row is, as `make_ids` takes them. Ids are no feature, are never shown, and leave a party
            only blinded, for a set intersection.
        notes: What was done to the rows when they were read.
        rows_digest: The digest of the rows as their source gave them, where it was asked for.
        open_fills: Columns whose empty cells the rows of all parties fill.
        settled: Descriptions of columns whose categories were found in this table.
        open_categories: What the table is encoded from again, once all parties found categories together.
        indicators: Columns of features that the job's description of columns makes of categories and of empty cells:
            0 or 1 in every row, whatever the table holds.
        categories: Columns of features whose numbers stand for categories; trees alone take them so.
        keeps_gaps: Whether an empty cell stays NaN; trees alone take it so.
        budget_waived: Whether exact sums or scores of the rows open though they have a privacy budget.

    Raises:
        InputError: Something is no number, sizes do not agree, or ids repeat.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table
        >>> table = Table(np.array([[61, 1], [40, 0]]), np.array(["yes", "no"]), ("age", "smokes"))
        >>> table.features.dtype, table.feature_names
        (dtype('float64'), ('age', 'smokes'))
    """

    features: Features
    labels: npt.NDArray[Any] | None
    feature_names: tuple[str, ...]
    name: str = "table"
    ids: Ids | None = None
    notes: tuple[str, ...] = ()
    rows_digest: bytes | None = None
    open_fills: tuple[OpenFill, ...] = ()
    settled: tuple[ColumnSpec, ...] = ()
    open_categories: OpenCategories | None = None
    indicators: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    keeps_gaps: bool = False
    budget_waived: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", checked_features(self.features, self.name))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        self._check_names()
        if self.labels is not None:
            object.__setattr__(self, "labels", read_only(self._checked_labels(np.asarray(self.labels))))
        if self.ids is not None:
            object.__setattr__(self, "ids", make_ids(self.ids, self.name))
            self._check_id_count(self.ids)

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
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)
        if repeated:
            raise InputError(
                f"two columns of {self.name} have the same name",
                expected="distinct names",
                got=", ".join(repeated[:5]),
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

    def _check_id_count(self, ids: Ids) -> None:
        if len(ids) != len(self):
            raise InputError(
                f"ids of {self.name} do not fit its rows",
                expected=f"{len(self):,} ids, one for each row",
                got=f"{len(ids)}",
                cure="give one id for every row",
            )

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def __repr__(self) -> str:
        labels = "no labels" if self.labels is None else f"labels of {self.labels.dtype}"
        sparse = "" if is_dense(self.features) else " (sparse)"
        return f"Table({self.name!r}, {len(self):,} rows, {self.features.shape[1]} columns{sparse}, {labels})"

    @property
    def indicator_places(self) -> tuple[int, ...]:
        """The column numbers of `indicators`.

        Returns:
            Numbers from 0 on, in the order of the columns.
        """
        known = set(self.indicators)
        return tuple(number for number, name in enumerate(self.feature_names) if name in known)

    def take(self, rows: npt.NDArray[np.int64]) -> Table:
        """The table of some of the rows.

        Args:
            rows: Row numbers, int64, in the order wanted.

        Returns:
            A table with labels and ids of these rows.

        Raises:
            InputError: A row with an id is taken twice.
        """
        return replace(
            self,
            features=self.features[rows],
            labels=None if self.labels is None else self.labels[rows],
            ids=None if self.ids is None else self.ids.take(rows),
            rows_digest=None,
            open_categories=None,
        )
