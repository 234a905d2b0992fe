"""What a summary says of a party's rows, in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hekat.data import Table, has_one_class
from hekat.data.repeated_rows import count_repeated


@dataclass(frozen=True)
class TableFacts:
    """A table in figures. `class_rows` counts rows by class, None for a regression; `notes` are of its loading.

    `trained_on` counts the rows of test data that are training rows of a party known here.
    """

    rows: int
    held_out: int
    class_rows: dict[str, int] | None
    has_one_class: bool
    notes: tuple[str, ...] = ()
    trained_on: int = 0

    @property
    def is_trained_on(self) -> bool:
        """Whether all rows of this test data are training rows."""
        return self.rows > 0 and self.trained_on >= self.rows

    @classmethod
    def of(cls, table: Table, classes: tuple[str, ...] | None, held_out: Table | None) -> TableFacts:
        """The facts of a table for training; the rows of `held_out` are in it, and not trained on."""
        return cls(
            len(table),
            0 if held_out is None else len(held_out),
            _count_classes(table, classes),
            has_one_class(table),
            tuple(table.notes),
        )

    @classmethod
    def of_test(cls, table: Table, classes: tuple[str, ...] | None, training: Sequence[Table]) -> TableFacts:
        """The facts of test data; `training` are the rows known here that are trained on."""
        counts = _count_classes(table, classes)
        trained_on = count_repeated(table, training)
        return cls(len(table), 0, counts, has_one_class(table), tuple(table.notes), trained_on)


def _count_classes(table: Table, classes: tuple[str, ...] | None) -> dict[str, int] | None:
    if classes is None or table.labels is None:
        return None
    counts = Counter(table.labels.tolist())
    return {label: counts.get(number, 0) for number, label in enumerate(classes)}
