"""Models to flat vectors and back: NumPy dicts and PyTorch state dicts; integer tensors stay where they are.

PyTorch is imported only where a tensor of it has to be made.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

FloatVector = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class TensorShape:
    """One averaged tensor: its name, shape, the dtype it had, and the PyTorch device it was on (None: NumPy)."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    device: Any

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class ModelShape:
    """What a flat vector was made of.

    Attributes:
        tensors: The averaged tensors in the order of the vector: name, shape, dtype, device.
        names: The names of all tensors, in the model's order.
        kept: Integer and boolean tensors (a batch counter, an index): local to the client, never in the vector.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import flatten
        >>> vector, shape = flatten({"weights": np.ones((2, 2)), "steps": np.array(7)})
        >>> shape.size, list(shape.kept)
        (4, ['steps'])
    """

    tensors: tuple[TensorShape, ...]
    names: tuple[str, ...]
    kept: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Values in the vector."""
        return sum(tensor.size for tensor in self.tensors)


def flatten(model: Any) -> tuple[FloatVector, ModelShape]:
    """The floats of a model as one vector, and what `reshape` needs to restore it.

    Args:
        model: A dict of NumPy arrays or PyTorch tensors, or a module with `state_dict`.

    Returns:
        The vector, float32, or float64 where a tensor is; and the model's shape.

    Raises:
        InputError: A tensor is complex, sparse or of another kind (the message names it), or the model has no floats.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import flatten
        >>> vector, shape = flatten({"weights": np.ones((2, 2)), "bias": np.zeros(1)})
        >>> vector
        array([1., 1., 1., 1., 0.])
    """
    state = _state(model)
    shape = _shape_of(state)
    wide = any(np.dtype(_numpy_dtype(tensor.dtype)) == np.float64 for tensor in shape.tensors)
    vector: FloatVector = np.empty(shape.size, np.float64 if wide else np.float32)
    start = 0
    for tensor in shape.tensors:
        vector[start : start + tensor.size] = _as_numpy(state[tensor.name]).reshape(-1)
        start += tensor.size
    return vector, shape


def reshape(vector: FloatVector, like: Any) -> dict[str, Any]:
    """The model of a flat vector.

    Args:
        vector: float32 or float64, shape (count,).
        like: What `flatten` gave, or a model of the same shape, whose integer tensors are copied.

    Returns:
        Tensors of the names, shapes, kinds and dtypes of `like`, in its order.

    Raises:
        InputError: The vector has another size or type, or a value does not fit a tensor's dtype.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import flatten, reshape
        >>> vector, shape = flatten({"weights": np.ones((2, 1)), "bias": np.zeros(1)})
        >>> reshape(vector * 2, shape)["weights"].tolist()
        [[2.0], [2.0]]
    """
    shape = like if isinstance(like, ModelShape) else _shape_of(_state(like))
    if not isinstance(vector, np.ndarray) or vector.dtype.kind != "f" or vector.shape != (shape.size,):
        got = f"shape {vector.shape} of {vector.dtype}" if isinstance(vector, np.ndarray) else type(vector).__name__
        raise InputError("the vector does not fit the model", expected=f"a vector of {shape.size} floats", got=got)
    restored, start = {}, 0
    for tensor in shape.tensors:
        restored[tensor.name] = _restore(vector[start : start + tensor.size], tensor)
        start += tensor.size
    return {name: restored[name] if name in restored else copy.deepcopy(shape.kept[name]) for name in shape.names}


def _state(model: Any) -> Mapping[str, Any]:
    state = model.state_dict() if hasattr(model, "state_dict") else model
    if not isinstance(state, Mapping):
        raise InputError("not a model", expected="a dict of arrays or tensors, or a module", got=type(model).__name__)
    return state


def _shape_of(state: Mapping[str, Any]) -> ModelShape:
    tensors, kept = [], {}
    for name, value in state.items():
        if _is_float(name, value):
            device = value.device if _is_torch(value) else None
            tensors.append(TensorShape(name, tuple(value.shape), value.dtype, device))
        else:
            kept[name] = value
    if not any(tensor.size for tensor in tensors):
        raise InputError("the model has nothing to average", expected="at least one float", got="none")
    return ModelShape(tuple(tensors), tuple(state), kept)


def _is_torch(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "is_floating_point")


def _is_float(name: str, value: Any) -> bool:
    """True for a tensor that is averaged, False for one of integers. Raises InputError for anything else."""
    if _is_torch(value):
        plain = not (value.is_sparse or value.is_complex() or value.is_quantized)
        kind = "f" if value.is_floating_point() else "i"
    else:
        plain = isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
        kind = value.dtype.kind if plain else ""
        # A float of more than 64 bits would lose some on the way.
        plain = plain and (kind != "f" or value.dtype.itemsize <= np.dtype(np.float64).itemsize)
    if not plain or kind not in "fiub":
        raise InputError(
            f"tensor {name!r} cannot be averaged or kept",
            expected="an array or dense tensor of floats, integers or booleans",
            got=f"dtype {value.dtype}" if hasattr(value, "dtype") else type(value).__name__,
        )
    return kind == "f"


def _numpy_dtype(dtype: Any) -> str:
    """NumPy's name for what a dtype's values are read as; bfloat16 is read as float32."""
    name = str(dtype).removeprefix("torch.")
    return "float32" if name == "bfloat16" else name


def _as_numpy(value: Any) -> npt.NDArray[Any]:
    if not _is_torch(value):
        return np.asarray(value)
    dense = value.detach().cpu()
    return np.asarray((dense.float() if str(dense.dtype) == "torch.bfloat16" else dense).numpy())


def _restore(values: FloatVector, tensor: TensorShape) -> Any:
    # Overflow is looked for, and answered by name.
    with np.errstate(over="ignore"):
        array = values.astype(_numpy_dtype(tensor.dtype)).reshape(tensor.shape)
    if tensor.device is None:
        restored: Any = array
        finite = bool(np.isfinite(array).all())
    else:
        import torch

        restored = torch.from_numpy(array).to(dtype=tensor.dtype).to(tensor.device)
        finite = bool(torch.isfinite(restored).all())
    if not finite:
        raise InputError(
            f"a value does not fit tensor {tensor.name!r}",
            expected=f"finite values of {tensor.dtype}",
            got="one beyond, or none",
            cure="train with a wider dtype, or look for what diverged",
        )
    return restored
