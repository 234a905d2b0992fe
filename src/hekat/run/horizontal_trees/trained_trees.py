"""A trained model of trees across rows as a file: an .npz that plain NumPy opens, whole at every party."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.data import ColumnSpecs
from hekat.errors import StateError
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.trees.sections import MODEL
from hekat.model.trees import ColumnBins, TreeEnsemble, bin_rows
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.state_arrays import from_model_arrays, to_model_arrays
from hekat.run.horizontal.trained_model import check_vocabulary
from hekat.run.model_file_checks import UNREADABLE, check_names, flaw_of
from hekat.run.predictions import source_columns_of
from hekat.state import save_model
from hekat.state.file_format import FileFormat

TREE_MODEL_FORMAT: Final = FileFormat("model of trees", ("0.3.0",))
_PREDICT = (
    "a value of a column is in the first bin whose edge it does not pass, a missing one in the last bin; it goes left "
    "where the node's left_bins has a 1 for that bin; scores are start_scores and the values of all leaves"
)
_MOST_CLASSES = 10_000
TREES_ARRAY: Final = "tree_starts"
"""No other model's file has an array of this name."""


@dataclass(frozen=True)
class TrainedTrees:
    """All that predicting needs. `columns` are the model's features in their order, `bins` theirs."""

    classes: tuple[str, ...] | None
    columns: tuple[str, ...]
    bins: tuple[ColumnBins, ...] = field(repr=False)
    ensemble: TreeEnsemble = field(repr=False)
    column_specs: ColumnSpecs = field(default_factory=ColumnSpecs)

    @property
    def name(self) -> str:
        return MODEL

    @property
    def sparse(self) -> bool:
        """Whether rows are held sparse: never."""
        return False

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns that a table has before categories are encoded."""
        return source_columns_of(self.columns, self.column_specs)

    def raw_scores(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The scores of rows with the model's columns, shape (rows, trees of an iteration)."""
        return self.ensemble.raw_scores(bin_rows(features, self.bins)).T


def save_trained_trees(path: Path, job: RowTreesJob, state: TreesState, feature_names: tuple[str, ...]) -> None:
    """Write the model in place of what is at `path`, whole or not at all, mode 0600. Raises StateError."""
    classes = job.settings.classes
    metadata = {
        "format": TREE_MODEL_FORMAT.newest,
        "hekat": version("hekat"),
        "job": job.name,
        "model": MODEL,
        "classes": None if classes is None else list(classes),
        "columns": list(feature_names),
        "column_specs": job.columns.of_features().to_json(),
        "iterations": state.iterations_done,
        "predict": _PREDICT,
    }
    save_model(path, to_model_arrays(state), metadata)


def read_trained_trees(arrays: Mapping[str, Any], metadata: Mapping[str, Any], where: str) -> TrainedTrees:
    """The model of a file with these arrays and metadata. Raises StateError for one that no run wrote."""
    TREE_MODEL_FORMAT.check(metadata.get("format"), where, StateError)
    try:
        return _read(arrays, metadata)
    except UNREADABLE as error:
        raise StateError(
            f"{where} does not say how to predict",
            expected="columns, classes, bins and trees that fit each other",
            got=flaw_of(error),
            cure="restore it from a copy, or train again",
        ) from None


def _read(arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> TrainedTrees:
    columns, classes = metadata["columns"], metadata["classes"]
    if metadata.get("model") != MODEL:
        raise ValueError("trees under the name of another model")
    check_names("columns", columns)
    if classes is not None:
        check_names("classes", classes)
        if not 2 <= len(classes) <= _MOST_CLASSES:
            raise ValueError("a number of classes that no job has")
    specs = ColumnSpecs.from_json(metadata.get("column_specs", {}), keeps_gaps=True)
    check_vocabulary(specs, columns)
    bins, ensemble = from_model_arrays(arrays)
    if len(bins) != len(columns):
        raise ValueError("bins of other columns")
    if ensemble.tree_count != (len(classes) if classes is not None and len(classes) > 2 else 1):
        raise ValueError("trees of other classes")
    return TrainedTrees(None if classes is None else tuple(classes), tuple(columns), bins, ensemble, specs)
