"""Trained models on disk: each parameter under its own name in an .npz that plain NumPy opens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.atomic_file import replace_file
from hekat.disk_errors import read_file
from hekat.state.array_file import decode_arrays, encode_arrays

_KIND = "model"


def save_model(path: Path, parameters: Mapping[str, npt.NDArray[np.float64]], metadata: Mapping[str, Any]) -> None:
    """Write the model in place of what is at `path`, whole or not at all, mode 0600.

    `metadata` holds JSON values: how the model was made, and what prediction needs besides the parameters. Without
    Hekat, `numpy.load(path)["weight"]` reads a parameter and `str(numpy.load(path)["hekat"])` the metadata.
    Raises StateError, InputError.
    """
    replace_file(path, encode_arrays(_KIND, metadata, parameters))


def load_model(path: Path) -> tuple[dict[str, npt.NDArray[np.float64]], dict[str, Any]]:
    """(parameters, metadata) of the model at `path`. Raises StateError where it is not there, damaged or no model."""
    metadata, arrays = decode_arrays(read_file(path), _KIND, f"model {path}")
    return arrays, metadata
