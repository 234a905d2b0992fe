"""The rows that `hekat attack` tries to guess: from a file, in the shape that the module takes."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.cli.attack.command_words import in_words_of_the_command
from hekat.data import load_table
from hekat.data.features import is_dense
from hekat.data.sources.npz_file import load_npz_rows
from hekat.errors import InputError

_KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
}
_DEFAULT_UPDATES = 2


@dataclass(frozen=True)
class LoadedRows:
    """What is attacked.

    `features` float32, of texts int64, rows first, in the shape that the module takes; `labels` int64; `taken`, the
    rows of each update; `picture_shape`, (channels, height, width) of a row that is looked at as a picture; `box`,
    lowest and highest value of a cell, None for a table without one.
    """

    features: npt.NDArray[np.float32] | npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    taken: tuple[tuple[int, ...], ...]
    picture_shape: tuple[int, int, int] | None
    box: tuple[float, float] | None
    holds_tokens: bool = False


def load_rows(options: argparse.Namespace) -> LoadedRows:
    """The rows of the file, checked. Raises InputError."""
    with in_words_of_the_command():
        features, labels = _read(options)
    if features.ndim < 2 or features.dtype.kind not in "biuf" or not len(features):
        raise _refusal(
            f"no rows of numbers are in {options.rows}",
            "an array of numbers with a first axis of rows, and at least one more",
            f"shape {features.shape} of {features.dtype}",
        )
    if options.tokens:
        return _texts(options, features, labels)
    rows = features.astype(np.float32)
    if not np.isfinite(rows).all():
        raise _refusal(f"{options.rows} holds cells that are no numbers", "finite numbers", "NaN or infinity")
    shape = _picture_shape(options, rows.shape[1:])
    box = options.box or ((0.0, 1.0) if shape is not None else None)
    if box is not None and (rows.min() < box[0] or rows.max() > box[1]):
        raise _refusal(
            "rows leave their box",
            f"cells from {box[0]:g} to {box[1]:g}",
            f"cells from {rows.min():g} to {rows.max():g}",
            cure="name the lowest and the highest value that a cell can have, such as --box 0,255",
        )
    return LoadedRows(rows, _whole_labels(labels, len(rows)), _updates(options, len(rows)), shape, box)


def _texts(options: argparse.Namespace, features: npt.NDArray[Any], labels: npt.NDArray[Any]) -> LoadedRows:
    """Rows of token numbers, which have neither a shape of a picture nor a box."""
    if options.shape is not None or options.box is not None:
        raise _refusal("--shape and --box are for rows of numbers", "--tokens without them", "both")
    if features.ndim != 2 or np.any(features != np.floor(features)) or features.min() < 0:
        raise _refusal(
            f"no texts are in {options.rows}",
            "token numbers: whole numbers from 0, as many in each row",
            f"shape {features.shape} of {features.dtype}",
        )
    tokens, numbers = features.astype(np.int64), _whole_labels(labels, len(features))
    return LoadedRows(tokens, numbers, _updates(options, len(features)), None, None, holds_tokens=True)


def _read(options: argparse.Namespace) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    path = options.rows
    if path.suffix.lower() == ".npz":
        if options.label is not None:
            raise _refusal("--label names a column of a table", "a .csv, .tsv, .parquet or .xlsx file", path.suffix)
        features, labels = load_npz_rows(path)
    else:
        kind = _KINDS.get(path.suffix.lower())
        if kind is None:
            endings = ", ".join((".npz", *_KINDS))
            raise _refusal("the file of rows has an ending that says nothing", f"one of {endings}", repr(path.suffix))
        given = {"path": str(path)} | ({"label": options.label} if options.label is not None else {})
        table = load_table(kind, given, Path(), name=str(path), classes=None, for_training=False)
        features = table.features if is_dense(table.features) else table.features.toarray()
        found = table.labels
        labels = None if found is None else np.asarray(found)
    if labels is None:
        raise _refusal(
            f"{path} holds no labels",
            "a label for each row: an update is computed from both",
            "rows alone",
            cure="name their column with --label, or save them in the .npz file as labels",
        )
    return np.asarray(features), labels


def _whole_labels(labels: npt.NDArray[Any], row_count: int) -> npt.NDArray[np.int64]:
    if labels.shape != (row_count,) or labels.dtype.kind not in "biuf" or np.any(labels != np.floor(labels)):
        raise _refusal(
            "labels are no class numbers",
            f"{row_count:,} whole numbers from 0",
            f"shape {labels.shape} of {labels.dtype}",
            cure="number the classes from 0",
        )
    return labels.astype(np.int64)


def _picture_shape(options: argparse.Namespace, row_shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    if options.shape is None:
        if len(row_shape) == 3:
            return (row_shape[0], row_shape[1], row_shape[2])
        return (1, row_shape[0], row_shape[1]) if len(row_shape) == 2 else None
    shape: tuple[int, int, int] = options.shape
    if math.prod(shape) != math.prod(row_shape):
        raise _refusal(
            "--shape does not fit the rows",
            f"three sizes whose product is {math.prod(row_shape):,}, the cells of a row",
            f"{','.join(map(str, shape))}, {math.prod(shape):,} cells",
        )
    return shape


def _updates(options: argparse.Namespace, row_count: int) -> tuple[tuple[int, ...], ...]:
    """The row numbers of each update, from 0 on."""
    size = options.batch_rows
    numbers = options.take or tuple(range(min(row_count - row_count % size, _DEFAULT_UPDATES * size)))
    outside = [number for number in numbers if not 0 <= number < row_count]
    if outside or not numbers or len(numbers) % size:
        raise _refusal(
            "rows cannot be taken so",
            f"row numbers from 0 to {row_count - 1:,}, a multiple of --batch-rows {size:,}",
            f"row {outside[0]:,}" if outside else f"{len(numbers):,} rows",
            cure="correct --take or --batch-rows",
        )
    return tuple(tuple(numbers[start : start + size]) for start in range(0, len(numbers), size))


def _refusal(what: str, expected: str, got: str, cure: str = "correct the command or the file") -> InputError:
    return InputError(what, expected=expected, got=got, cure=cure)
