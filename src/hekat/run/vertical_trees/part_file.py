"""One party's part of a model of trees as a file, and what such a part must be to predict with."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.protocol.psi.settings import DEFAULT_KEY_BITS
from hekat.protocol.vertical_trees.model_part import SPLIT_COLUMNS, TreesPart
from hekat.protocol.vertical_trees.prediction.predict_scores import count_host_splits
from hekat.protocol.vertical_trees.settings import TASKS
from hekat.run.model_file_checks import MOST_PARAMETER
from hekat.run.vertical.part_files import Arrays, Facts, PartForm, SavedPart, read_label_privacy, shared_facts
from hekat.run.vertical_trees.part_checks import check_trees_part
from hekat.state.file_format import FileFormat

TREES_FORMAT = FileFormat("part of a model of trees", ("0.3.0",))
SavedTrees = SavedPart[TreesPart]
_PREFIX: Final = "part/"


def _describe(part: TreesPart) -> tuple[Facts, Arrays]:
    facts: dict[str, Any] = {"task": part.task, "iterations": part.iterations, "host_columns": dict(part.host_columns)}
    facts["label_privacy"] = part.label_privacy
    return facts, {f"{_PREFIX}{name}": values for name, values in part.arrays.items()}


def _read(described: Facts, arrays: Arrays) -> TreesPart:
    task, iterations, host_columns = described["task"], described["iterations"], described["host_columns"]
    if task not in TASKS or (task == "regression") != (described["classes"] is None):
        raise ValueError("a part of no task, or of other classes")
    if type(iterations) is not int or iterations < 0:
        raise ValueError("a number of iterations that is none")
    hosts = described["hosts"] if described["party"] == described["guest"] else []
    if not isinstance(host_columns, dict) or sorted(host_columns) != sorted(hosts):
        raise ValueError("columns of other hosts")
    if not all(type(count) is int and count > 0 for count in host_columns.values()):
        raise ValueError("numbers of columns that are none")
    own = {name.removeprefix(_PREFIX): one for name, one in arrays.items() if name.startswith(_PREFIX)}
    if not all(map(_is_finite, own.values())):
        raise ValueError("numbers beyond reason")
    part = TreesPart(
        **shared_facts(described),
        task=task,
        iterations=iterations,
        arrays=own,
        host_columns=host_columns,
        label_privacy=read_label_privacy(described),
    )
    check_trees_part(part)
    return part


def _is_finite(values: npt.NDArray[Any]) -> bool:
    return values.dtype.kind in "iub" or bool((np.abs(values) <= MOST_PARAMETER).all())


def _unlike(first: TreesPart, other: TreesPart) -> list[str]:
    alike = ("guest", "hosts", "task", "classes", "iterations", "label_privacy")
    names = [name for name in alike if getattr(first, name) != getattr(other, name)]
    if names or not first.is_guest:
        return names
    # What the guest's trees take of this host.
    names += [] if first.host_columns[other.party] == len(other.columns) else ["columns"]
    has_splits = count_host_splits(first)[other.party] == len(other.arrays[SPLIT_COLUMNS])
    return names if has_splits else [*names, "splits"]


TREE_PARTS: Final = PartForm(
    format=TREES_FORMAT,
    kind="trees part",
    describe=_describe,
    read=_read,
    unlike=_unlike,
    usual={"intersection_key_bits": DEFAULT_KEY_BITS, "label_privacy": None},
    for_trees=True,
)
