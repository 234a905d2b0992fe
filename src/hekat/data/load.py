"""Loads a table by the kind of its source, and makes it ready for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hekat.data.check import check_finite, check_for_training, check_has_rows
from hekat.data.csv_file import load_csv
from hekat.data.labels import encode_labels
from hekat.data.npz_file import load_npz
from hekat.data.python_source import load_python
from hekat.data.table import Table
from hekat.errors import InputError

SOURCE_KINDS = ("csv", "npz", "python")


def load_table(
    kind: str,
    options: Mapping[str, Any],
    folder: Path,
    *,
    name: str,
    classes: Sequence[str] | None,
    for_training: bool = True,
) -> Table:
    """The checked table of a source, with labels encoded by `classes` (None: a regression).

    `kind` "csv" has the options path, label, ignore; "npz" path; "python" function, arguments. Paths are relative to
    `folder`. With `for_training` the table must have labels, two rows and two classes. Raises InputError.
    """
    if kind == "csv":
        ignore = tuple(options.get("ignore") or ())
        table = load_csv(folder / options["path"], label=options.get("label"), ignore=ignore, name=name)
    elif kind == "npz":
        table = load_npz(folder / options["path"], name=name)
    elif kind == "python":
        table = load_python(options["function"], folder, options.get("arguments"), name=name)
    else:
        raise InputError("there is no such kind of source", expected=" or ".join(SOURCE_KINDS), got=repr(kind))
    check_has_rows(table)
    check_finite(table)
    table = encode_labels(table, classes)
    if for_training:
        check_for_training(table)
    return table
