"""NumPy or CuPy, told from the array itself; and how arrays and tensors of other libraries come in, where they lie.

Neither CuPy nor torch is imported for what does not need it: tensors are known by the DLPack protocol alone.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from hekat.errors import EngineError, InputError

# Devices as DLPack numbers them (dlpack.h, DLDeviceType): memory of the host, pinned or not, and of an NVIDIA GPU.
_HOST_DEVICES = (1, 3)
_CUDA_DEVICES = (2, 13)


def array_module(x: Any) -> Any:
    """The module of functions for arrays of the kind of `x`: numpy, or cupy for arrays on a GPU.

    Lists, numbers and arrays of other libraries count as NumPy's: `as_array` turns them into arrays.
    """
    if isinstance(x, np.ndarray):
        # A subclass may live elsewhere than on the host.
        return x.__array_namespace__()
    # Arrays of CuPy 14 have no __array_namespace__; there are none before CuPy was imported.
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(x, getattr(cupy, "ndarray", ())):
        return cupy
    return np


def on_host(x: Any) -> bool:
    """Whether NumPy's own functions read `x`: False for arrays in a GPU's memory."""
    return array_module(x) is np


def is_array(x: Any) -> bool:
    """Whether `x` is an array of NumPy or of a GPU: not a list, a number, or another library's tensor."""
    return isinstance(x, np.ndarray) or not on_host(x)


def device_name(x: Any) -> str | None:
    """The GPU that an array or tensor lies on, `cuda:0`; None for anything else."""
    kind, index = _dlpack_device(x)
    return f"cuda:{index}" if kind in _CUDA_DEVICES else None


def copy_to_host(array: Any) -> Any:
    """The array of `as_array` on the host: a copy where it lies on a GPU, else itself."""
    if on_host(array):
        return array
    return array.get() if hasattr(array, "get") else np.array(array)


def as_array(values: Any) -> Any:
    """`values` as an array where they lie, without a copy where there need not be one.

    A torch tensor on the CPU becomes a NumPy array, one on an NVIDIA GPU a CuPy array of the same memory; gradients are
    left behind. bfloat16, which NumPy does not know, becomes float32 first, on the tensor's own device: exact, as
    float32 has all its values. Anything else goes to `numpy.asarray`.
    Raises InputError for a tensor that neither NumPy nor CuPy can read, EngineError for one on a GPU where CuPy is
    missing.
    """
    if not on_host(values):
        return values
    if isinstance(values, np.ndarray | np.generic) or not hasattr(values, "__dlpack_device__"):
        return np.asarray(values)
    tensor = values.detach() if hasattr(values, "detach") else values
    if str(getattr(tensor, "dtype", "")) == "torch.bfloat16":
        tensor = tensor.float()
    kind, _ = _dlpack_device(tensor)
    if kind in _CUDA_DEVICES:
        return _import_cupy().from_dlpack(tensor)
    try:
        if hasattr(tensor, "__array__"):
            return np.asarray(tensor)
        if kind in _HOST_DEVICES:
            return np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise _unreadable(values) from error
    raise _unreadable(values)


def _unreadable(values: Any) -> InputError:
    return InputError(
        "a tensor cannot be read as an array where it lies",
        expected="a dense one on the CPU or an NVIDIA GPU",
        got=f"a {type(values).__name__} of another kind or on another device",
        cure="move it to the CPU first; for torch: tensor.cpu(), or tensor.to_dense()",
    )


def _dlpack_device(x: Any) -> tuple[int, int]:
    """Kind and number of the device `x` lies on; (0, 0) where it does not say or is of no device DLPack knows."""
    if not hasattr(x, "__dlpack_device__"):
        return 0, 0
    try:
        kind, index = x.__dlpack_device__()
    except (BufferError, RuntimeError, TypeError, ValueError):
        return 0, 0
    return int(kind), int(index)


def _import_cupy() -> Any:
    try:
        return import_module("cupy")
    except ImportError as error:
        raise EngineError(
            "a tensor on a GPU needs CuPy",
            expected="the package cupy",
            got=f"none that can be imported ({error})",
            cure="pip install 'hekat[cuda13]' or 'hekat[cuda12]', or move the tensor first: tensor.cpu()",
        ) from error
