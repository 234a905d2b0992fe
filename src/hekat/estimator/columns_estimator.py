"""What all estimators on columns of several parties share: how common rows are found, and counted predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from hekat.data import Table
from hekat.errors import InputError, JobError
from hekat.estimator.party_tables import check_ids
from hekat.protocol.psi.common_rows import INTERSECTION
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.vertical.label_privacy import LabelFlips, OwnLabels
from hekat.protocol.vertical.prediction_limit import check_prediction_limit

FloatArray = npt.NDArray[np.float64]


class ColumnsEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator with the parameters `intersection`, `max_predictions`, `label_privacy` and `label_flips`."""

    intersection: str | None
    max_predictions: int
    label_privacy: float | None
    label_flips: str | Path | None

    def _own_labels(self, party: str, guest: str) -> OwnLabels | None:
        """The flips of a guest with label privacy: the file's, or the same in every fit of this estimator. Raises
        StateError for a file that is damaged."""
        if self.label_privacy is None or party != guest:
            return None
        if self.label_flips is not None:
            return OwnLabels(LabelFlips.open_or_create(Path(self.label_flips), party), "label")
        if not hasattr(self, "label_flips_"):
            self.label_flips_ = LabelFlips.in_memory(party)
        return OwnLabels(self.label_flips_, "label")

    def _check_keeps_flips(self, party: str, guest: str | None) -> None:
        """Raise JobError for label privacy in a guest's own process without a file that outlasts it."""
        if self.label_privacy is not None and self.label_flips is None and party == guest:
            raise JobError(
                "a site's own fit with label privacy needs a file",
                expected="label_flips, a path at the guest: fits on the same rows replace the same labels",
                got="none",
                cure="set label_flips to a file that outlasts this process",
            )

    def _count_predictions(self, predicted: dict[str, int], party: str, row_count: int) -> None:
        """Count rows before they are predicted with a party's part; `predicted` counts them by party. Raises
        PolicyError."""
        used = predicted.get(party, 0)
        check_prediction_limit(party, row_count, used, self.max_predictions, "the parameter max_predictions")
        predicted[party] = used + row_count

    def _intersection(self, tables: Mapping[str, Table]) -> IntersectionSettings | None:
        """How the parties find common rows; None where no table has ids."""
        has_ids = any(table.ids is not None for table in tables.values())
        return self._intersection_of(tuple(tables), tables.values()) if has_ids else None

    def _intersection_of(self, parties: tuple[str, ...], tables: Iterable[Table]) -> IntersectionSettings | None:
        """How `parties` find common rows; `tables` are those that lie here. Raises InputError for one without ids."""
        if self.intersection is None:
            _check_same_ids(tables)
            return None
        check_ids(tables)
        return IntersectionSettings(parties[0], parties[1:], kind=self.intersection)


def _check_same_ids(tables: Iterable[Table]) -> None:
    """Raise InputError where tables that lie here have ids, and not the same ones row by row."""
    held = [table for table in tables if table.ids is not None]
    for table in held[1:]:
        first = held[0]
        assert first.ids is not None
        assert table.ids is not None
        if first.ids.to_rows() != table.ids.to_rows():
            raise InputError(
                f"rows of {first.name} and {table.name} have different ids",
                expected="the same ids in the same order, for intersection=None",
                got="other ids, or another order",
                cure="leave intersection at its default: common rows are then found by their ids",
            )


def in_guest_order(scores: FloatArray, rows: npt.NDArray[np.int64] | None, row_count: int) -> FloatArray:
    """The scores of a guest's rows in their order; `rows` numbers those that were predicted, None: all.

    Raises InputError where not every party has all of them.
    """
    if rows is None:
        return scores
    if len(rows) != row_count:
        raise InputError(
            "rows of the guest that not every party has",
            expected=f"hosts' columns for each of the {row_count:,} rows",
            got=f"{len(rows):,} rows common to all",
            cure="predict the common rows: hekat.estimator.find_common_rows(tables).tables",
        )
    ordered = np.empty_like(scores)
    ordered[rows] = scores
    return ordered


def check_same_parties(tables: Mapping[str, Table], parties: tuple[str, ...], parts: Mapping[str, Any]) -> None:
    """Raise InputError where a joint prediction lacks a party's columns, or its part of the model."""
    if set(tables) != set(parties) or set(parts) != set(tables):
        raise InputError(
            "a joint prediction needs every party",
            expected=f"columns and model parts of {', '.join(parties)}",
            got=f"columns of {', '.join(tables)}; parts of {', '.join(parts)}",
            cure="give all parties' columns; at a site, where one part lies, call predict_party",
        )


def check_column_count(X: Any, expected: int) -> None:
    """Raise InputError for one array with other columns than in `fit`."""
    if len(np.shape(X)) == 2 and np.shape(X)[1] != expected:
        raise InputError(
            "X has other columns than in fit",
            expected=f"{expected} columns",
            got=str(np.shape(X)[1]),
            cure="give the same columns in the same order",
        )


def seconds_by_part(steps: Mapping[str, float], parts: Mapping[str, str], total_seconds: float) -> dict[str, float]:
    """Seconds by the parts that a reader is shown; the rest is idle: other roles compute, or this one waits."""
    found: dict[str, float] = {}
    for step, seconds in steps.items():
        part = step if step == INTERSECTION else parts.get(step, "others")
        found[part] = found.get(part, 0.0) + seconds
    return {**found, "idle": max(0.0, total_seconds - sum(found.values()))}


def read_classes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[str, ...], npt.NDArray[Any]]:
    """Labels as texts of their classes, the names of the classes, and the classes as they were given, sorted.

    Raises InputError for fewer than two classes, or classes without a text of their own.
    """
    classes, numbers = np.unique(labels, return_inverse=True)
    names = tuple(str(one).strip() for one in classes.tolist())
    if len(names) < 2 or len(set(names)) != len(names) or not all(names):
        raise InputError(
            "labels that are no classes",
            expected="two different labels or more, each with a text of its own",
            got=f"{len(names)}",
            cure="give y with all classes to be told apart",
        )
    return np.asarray(names)[numbers], names, classes
