"""The labels that metrics of a run on columns are measured against."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from hekat.data import Table, encode_labels


def labels_of(table: Table, classes: tuple[str, ...] | None) -> npt.NDArray[Any]:
    """Class numbers (rows,) int64 of the guest's rows, or float64 numbers."""
    labels = encode_labels(table, classes).labels
    assert labels is not None  # the guest's table was loaded with labels
    return labels
