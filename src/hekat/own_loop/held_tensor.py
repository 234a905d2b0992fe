"""A NumPy array or torch tensor of the caller's as a row of values, read in pieces, and a new one of its kind filled.

bfloat16, which NumPy does not have, is read and written by its bits: the upper half of a float32.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.errors import InputError

AVERAGED_DTYPES = ("float16", "bfloat16", "float32", "float64")
_LOCAL_KINDS = "iub"


class HeldTensor:
    """One named entry of a state, neither copied nor changed."""

    def __init__(self, name: str, value: Any, party: str) -> None:
        """Raises InputError, naming party and tensor, for what is no dense tensor of real numbers."""
        # Arithmetic on arrays without axes gives NumPy's scalars: entries may be such scalars, and results are.
        self.is_scalar = isinstance(value, np.generic)
        if self.is_scalar:
            value = np.asarray(value)
        self.name, self.value = name, value
        self.is_torch = is_torch_tensor(value)
        if self.is_torch:
            _check_torch_form(name, value, party)
            self.dtype_name = str(value.dtype).removeprefix("torch.")
        elif isinstance(value, np.ndarray) and not isinstance(value, (np.ma.MaskedArray, np.matrix)):
            self.dtype_name = value.dtype.name
        else:
            _refuse(name, party, type(value).__name__, "convert it: numpy.asarray(...) or torch.as_tensor(...)")
        self.shape: tuple[int, ...] = tuple(int(length) for length in value.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        if not (self.is_averaged or self.is_local):
            _refuse(name, party, f"dtype {self.dtype_name}", f"convert it to one of {', '.join(AVERAGED_DTYPES)}")

    @property
    def is_averaged(self) -> bool:
        """Whether its values are floats, so that a mean can be taken."""
        return self.dtype_name in AVERAGED_DTYPES

    @property
    def is_local(self) -> bool:
        """Whether it holds integers or truth values, such as BatchNorm's num_batches_tracked."""
        if self.is_torch:
            return self.dtype_name == "bool" or self.dtype_name.startswith(("int", "uint"))
        return self.value.dtype.kind in _LOCAL_KINDS

    @property
    def place(self) -> tuple[Any, ...]:
        """Equal for two names of one storage seen in the same way: tied tensors."""
        if self.is_torch:
            strides = tuple(self.value.stride())
            return (str(self.value.device), self.value.data_ptr(), strides, self.shape, self.dtype_name)
        if self.is_scalar:
            return ("scalar", self.name)
        return ("numpy", self.value.ctypes.data, self.value.strides, self.shape, self.value.dtype.str)

    def open_values(self) -> Values:
        """Its values, to be read in pieces."""
        return Values(_memory_of(self.value) if self.is_torch else self.value, self.dtype_name)

    def make_alike(self) -> Any:
        """A new tensor of the same kind, shape, dtype and device, its values not set."""
        if self.is_torch:
            import torch

            return torch.empty(self.shape, dtype=self.value.dtype, device=self.value.device)
        return np.empty(self.shape, dtype=self.value.dtype)


class Values:
    """A tensor's memory as a row of values: float64 or float32 out, rounded to the tensor's dtype in."""

    def __init__(self, memory: Any, dtype_name: str) -> None:
        """`memory`: an array of any strides (of uint16 bits for bfloat16), or a torch tensor of another device."""
        self._dtype_name = dtype_name
        self._is_array = isinstance(memory, np.ndarray)
        contiguous = memory.flags.c_contiguous if self._is_array else True
        # Where an array does not lie in one piece, `flat` copies only the values asked for.
        self._flat = memory.reshape(-1) if contiguous else memory.flat

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Values `start` to `stop`, float32 or float64."""
        piece = self.read_stored(start, stop)
        if self._dtype_name == "bfloat16":
            widened: npt.NDArray[Any] = (piece.astype(np.uint32) << 16).view(np.float32)
            return widened
        return piece.astype(np.float32) if self._dtype_name == "float16" else piece

    def read_stored(self, start: int, stop: int) -> npt.NDArray[Any]:
        """As `read`, in the dtype they are stored in; bits for bfloat16."""
        if self._is_array:
            return np.asarray(self._flat[start:stop])
        return np.asarray(_memory_of(self._flat[start:stop].to("cpu")))

    def write(self, start: int, values: FloatArray) -> None:
        """Set the values from `start` on, rounded to the nearest of the dtype.

        A mean lies among its values; where rounding to levels passes the dtype's largest number, the excess is cut off.
        """
        stored = _round_to(values, self._dtype_name)
        self.write_stored(start, stored)

    def write_stored(self, start: int, stored: npt.NDArray[Any]) -> None:
        """Set values as `read_stored` gives them."""
        if self._is_array:
            self._flat[start : start + stored.size] = stored
        else:
            import torch

            target = self._flat[start : start + stored.size]
            source = torch.from_numpy(np.ascontiguousarray(stored))
            target.copy_(source.view(torch.bfloat16) if self._dtype_name == "bfloat16" else source)


def stored_dtype(dtype_name: str) -> np.dtype[Any]:
    """What NumPy keeps values of that dtype in."""
    return np.dtype(np.uint16 if dtype_name == "bfloat16" else dtype_name)


def _round_to(values: FloatArray, dtype_name: str) -> npt.NDArray[Any]:
    if dtype_name == "float16":
        largest = float(np.finfo(np.float16).max)
        return np.clip(values, -largest, largest).astype(np.float16)
    if dtype_name != "bfloat16":
        return values.astype(dtype_name)
    bits = values.astype(np.float32).view(np.uint32)
    # To the nearest, ties to even; means are finite and too small to carry into the sign.
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16).astype(np.uint16)


def _memory_of(tensor: Any) -> Any:
    """A tensor of this machine's memory as an array over it; one of another device as it is, in one piece."""
    detached = tensor.detach().resolve_neg()
    if detached.device.type != "cpu":
        return detached.contiguous()
    import torch

    if detached.dtype == torch.bfloat16:
        return detached.view(torch.int16).numpy().view(np.uint16)
    return detached.numpy()


def is_torch_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of PyTorch, which need not be installed."""
    # Another thread may just be importing torch: before its tensors are there, no value is one.
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def _check_torch_form(name: str, value: Any, party: str) -> None:
    import torch

    if isinstance(value, torch.nn.parameter.UninitializedTensorMixin):
        _refuse(name, party, "a tensor without a shape yet", "run one batch through the model first")
    if value.is_meta or value.layout != torch.strided or value.is_quantized:
        kind = "a tensor without values" if value.is_meta else "a sparse or quantised tensor"
        _refuse(name, party, kind, "convert it to a dense tensor of floats, or leave it out by `parameters`")


def _refuse(name: str, party: str, got: str, cure: str) -> None:
    raise InputError(
        f"party {party}: {name!r} cannot be averaged",
        expected=f"NumPy arrays or torch tensors of {', '.join(AVERAGED_DTYPES)} (integers and bools stay local)",
        got=got,
        cure=cure,
    )
