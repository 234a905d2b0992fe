"""Loads a trained model that is whole in one file, of whatever kind: the file says which."""

from __future__ import annotations

from pathlib import Path

from hekat.run.horizontal.trained_model import MODEL_FILE, TrainedModel, read_trained_model
from hekat.run.horizontal_trees.trained_trees import TREES_ARRAY, TrainedTrees, read_trained_trees
from hekat.state import load_model


def load_any_model(path: Path) -> TrainedModel | TrainedTrees:
    """The model in the file at `path`, or in the run's folder at `path`.

    Raises StateError where it is not there, damaged, or of another form.
    """
    file = path / MODEL_FILE if path.is_dir() else path
    arrays, metadata = load_model(file)
    # Not by its name: sites name their own models.
    read = read_trained_trees if TREES_ARRAY in arrays else read_trained_model
    return read(arrays, metadata, f"model {file}")
