"""Labels as a model takes them: class numbers in the job's order, or float64 numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.features import FloatArray
from hekat.data.number_text import shortest_whole, text_of
from hekat.data.table import Table
from hekat.errors import InputError

IntArray = npt.NDArray[np.int64]


def encode_labels(table: Table, classes: Sequence[str] | None) -> Table:
    """A table whose labels are as models take them.

    A label is one of the class names, or its number 0 .. len(classes) - 1; of two classes, -1 and +1 mean the first and
    the second. Where the names themselves are whole numbers ("1", "2"), labels are names, however the number is written
    ("+1", "1.0").

    Args:
        table: The table; without labels it is returned as it is.
        classes: The names of the classes, in the job's order; None for a regression.

    Returns:
        The table with labels as int64 positions in `classes`, or as float64.

    Raises:
        InputError: A label fits neither; the message has the row (1 is the first), never the label.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, encode_labels
        >>> table = Table(np.array([[61.0], [40.0]]), np.array(["yes", "no"]), ("age",))
        >>> encode_labels(table, ("no", "yes")).labels
        array([1, 0])
    """
    if table.labels is None:
        return table
    if classes is None:
        return replace(table, labels=_as_numbers(table.labels, table.name))
    _check_classes(classes)
    texts = _as_texts(table.labels)
    numbers = _numbers_of_texts(set(texts), classes)
    encoded = np.array([numbers[text] for text in texts], dtype=np.int64)
    strangers = np.flatnonzero(encoded < 0)
    if strangers.size:
        by_number = f", or whole numbers from 0 to {len(classes) - 1}" + (" (or -1 and 1)" if len(classes) == 2 else "")
        if any(_is_whole_number(shortest_whole(name)) for name in classes):
            by_number = ""
        raise InputError(
            f"{table.name} has a label that is none of the classes",
            expected=f"{', '.join(classes)}{by_number}",
            got=f"something else in row {int(strangers[0]) + 1} ({strangers.size:,} rows in all)",
            cure="correct the labels, or name all classes in the job, spelt alike at every party",
        )
    return replace(table, labels=encoded)


def _numbers_of_texts(texts: set[str], classes: Sequence[str]) -> dict[str, int]:
    """The class number of each text; -1 for one that is no class."""
    by_name = {name: number for number, name in enumerate(classes)}
    by_value = {shortest_whole(name): number for number, name in enumerate(classes)}
    if not any(_is_whole_number(name) for name in by_value) and texts.isdisjoint(by_name):
        if len(classes) == 2 and "-1" in map(shortest_whole, texts):
            by_value = {"-1": 0, "1": 1}
        else:
            by_value = {str(number): number for number in range(len(classes))}
    return {text: by_name.get(text, by_value.get(shortest_whole(text), -1)) for text in texts}


def _as_numbers(labels: npt.NDArray[Any], name: str) -> FloatArray:
    numbers = np.empty(labels.shape, dtype=np.float64)
    for row, label in enumerate(labels.tolist()):
        try:
            numbers[row] = float(label)
        except ValueError:
            numbers[row] = np.nan
    broken = np.flatnonzero(~np.isfinite(numbers))
    if broken.size:
        raise InputError(
            f"{name} has a label that is no finite number",
            expected="a number for each row, since the job names no classes",
            got=f"something else in row {int(broken[0]) + 1} ({broken.size:,} rows in all)",
            cure="correct the labels, or name the classes in the job",
        )
    return numbers


def _as_texts(labels: npt.NDArray[Any]) -> list[str]:
    """Labels as texts; 1, 1.0 and True all become "1", so that numbers match however they were stored."""
    if labels.dtype.kind == "U":
        return [text.strip() for text in labels.tolist()]
    return [text_of(float(label)) for label in labels.tolist()]


def _is_whole_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _check_classes(classes: Sequence[str]) -> None:
    if len(classes) < 2 or len(set(classes)) != len(classes) or not all(classes):
        raise InputError(
            "the job's classes cannot be told apart",
            expected="at least 2 distinct, non-empty names",
            got=f"{len(classes)} names, {len(set(classes))} of them distinct",
            cure="correct classes in the job",
        )
