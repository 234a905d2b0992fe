"""What a prediction reads and gives, with whatever model: the columns that it takes of a source, and answers by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hekat.data import ColumnSpecs, Ids, id_column_names, named_columns
from hekat.data.sources.csv_text import csv_bytes
from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.job.data_source import DataSource
from hekat.model import FloatArray, Labels

PARTS_FOLDER = "parts"
"""Where the folder of a vertical run has each party's part of the model."""
KEPT_FOLDER = "kept"
"""Where the folder of a training on an encrypted model has what each role keeps of it."""
_MOST_NAMES_SHOWN = 8


@dataclass(frozen=True)
class Predictions:
    """One answer a row, in the order of the rows. `probabilities` have shape (rows, classes), None for a regression;
    `ignored` are columns of the source that the model does not know; `metrics` are empty without labels; `notes` count
    the cells that were filled or hold no category of the model."""

    classes: tuple[str, ...] | None
    answers: Labels = field(repr=False)
    probabilities: FloatArray | None = field(repr=False)
    ids: Ids | None = field(repr=False)
    ignored: tuple[str, ...]
    metrics: dict[str, float]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.answers.shape[0])

    def to_csv(self) -> bytes:
        """A header and a line for each row: id where there is one (several: by their names), prediction,
        probability_CLASS for each class."""
        return csv_bytes(self._lines())

    def _lines(self) -> Iterator[Sequence[str]]:
        classes = self.classes or ()
        rows = [()] * len(self) if self.ids is None else self.ids.to_rows()
        head: tuple[str, ...] = () if self.ids is None else self.ids.names if len(self.ids.names) > 1 else ("id",)
        yield [*head, "prediction", *(f"probability_{name}" for name in classes)]
        for row, answer in enumerate(self.answers.tolist()):
            cells = [*rows[row]]
            cells.append(self.classes[answer] if self.classes is not None else repr(answer))
            if self.probabilities is not None:
                cells += [repr(value) for value in self.probabilities[row].tolist()]
            yield cells

    def count_classes(self) -> dict[str, int]:
        """How many rows each class was predicted for; empty for a regression."""
        return {name: int(np.sum(self.answers == number)) for number, name in enumerate(self.classes or ())}


def holds_parts(model: Path) -> bool:
    """Whether `model` is the folder of a vertical run, with parts of its model."""
    return (model / PARTS_FOLDER).is_dir()


def keeps_encrypted_parts(model: Path) -> bool:
    """Whether `model` is the folder of a training on an encrypted model, with what roles keep of it."""
    return (model / KEPT_FOLDER).is_dir()


def source_columns_of(columns: Iterable[str], specs: ColumnSpecs) -> tuple[str, ...]:
    """The columns that a table has before `specs` encode it into `columns`."""
    return tuple(dict.fromkeys(map(specs.source_of, columns)))


def without_strangers(wanted: tuple[str, ...], source: DataSource, folder: Path) -> tuple[DataSource, tuple[str, ...]]:
    """`source` without columns that are not `wanted` by a model, which may hold anything, and their names.

    Raises InputError where a wanted column is missing.
    """
    present = named_columns(source.kind, source.options, folder)
    if present is None:
        return source, ()
    options = source.options
    taken = {*options.get("ignore", ()), options.get("label"), *id_column_names(options.get("id"))}
    known = set(wanted)
    check_none_missing([name for name in wanted if name not in present or name in taken], present)
    strangers = tuple(name for name in present if name not in known and name not in taken)
    known_alone = {**options, "ignore": (*options.get("ignore", ()), *strangers)}
    return replace(source, options=known_alone), strangers


def check_none_missing(missing: list[str], present: tuple[str, ...]) -> None:
    if missing:
        shown = first_few([*map(repr, missing)], _MOST_NAMES_SHOWN)
        raise InputError(
            "the data lacks columns of the model",
            expected="every column that the model was trained on, by its name",
            got=f"{len(present)} columns, without {shown}",
            cure="add them, or rename columns; order does not matter, and columns beside them are ignored",
        )
