"""The labels of a guest's rows, checked before a training on columns at several parties."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from hekat.data import Table, encode_labels
from hekat.errors import InputError

Labels = npt.NDArray[np.float64] | npt.NDArray[np.int64]


class LabelledTask(Protocol):
    """What settings say of labels: who has them, and their classes; None for numbers."""

    @property
    def guest(self) -> str: ...

    @property
    def classes(self) -> tuple[str, ...] | None: ...


def read_labels(table: Table, settings: LabelledTask) -> Labels:
    """The guest's labels: class numbers, or numbers. Raises InputError where they are missing or all the same."""
    if table.labels is None:
        raise InputError(
            f"guest {settings.guest} has no labels",
            expected="a label for each row at the guest",
            got="none",
            cure="name the label column in the guest's site file, or name the party that has it as guest",
        )
    labels = encode_labels(table, settings.classes).labels
    assert labels is not None
    if (labels == labels[:1]).all():
        raise InputError(
            f"labels of guest {settings.guest} are all the same",
            expected="at least two different labels among the common rows",
            got="one",
            cure="check the label column, and which rows the parties have in common",
        )
    return labels
