"""The averaged model of an app as files of the site: an .npz that plain NumPy opens, and safetensors."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.job.averaging.job_file import AveragingJob
from hekat.launch.nvflare.protected.tensors import Tensors
from hekat.run.horizontal.trained_model import MODEL_FILE, TENSORS_FILE
from hekat.state import replace_file, save_model


def save_averaged_model(folder: Path, job: AveragingJob, model: Tensors, rounds: int) -> None:
    """Write model.npz, and model.safetensors where that library is there. Integers in it are this party's own.

    bfloat16, which NumPy does not have, becomes float32. Raises StateError, and InputError for a name that a file
    cannot hold.
    """
    arrays = {name: _as_array(value) for name, value in model.items()}
    metadata = {"hekat": version("hekat"), "job": job.name, "rounds": rounds}
    save_model(folder / MODEL_FILE, arrays, metadata)
    if find_spec("safetensors") is not None:
        from safetensors.numpy import save

        whole = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
        replace_file(folder / TENSORS_FILE, save(whole, {"hekat": json.dumps(metadata)}))


def _as_array(value: Any) -> npt.NDArray[Any]:
    if type(value).__module__.partition(".")[0] != "torch":
        return np.asarray(value)
    held = value.detach().cpu()
    array: npt.NDArray[Any] = (held.float() if str(held.dtype) == "torch.bfloat16" else held).numpy()
    return array
