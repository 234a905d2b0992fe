"""An array or tensor that a loop gives for a batch, read as float64, and others made of its kind.

A tensor of PyTorch stays in its graph: what is added to it keeps the way back to the caller's own network.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.own_loop.held_tensor import is_torch_tensor

FloatArray = npt.NDArray[np.float64]

_CURE = "pass a float array of NumPy or a dense tensor of PyTorch with a row for each row of the batch"


class GivenRows:
    """Numbers of some rows, (rows, columns), neither changed nor kept in another place."""

    def __init__(self, name: str, value: Any, shape: tuple[int | None, int], party: str) -> None:
        """`name` is what errors call them; None in `shape`: any number of rows but none.

        Raises InputError, naming party and numbers, for other shapes and kinds, NaN and infinity.
        """
        self.value = value
        self.is_torch = is_torch_tensor(value)
        self._what = f"party {party}: {name}"
        if self.is_torch:
            self._check_tensor()
        elif not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray) or value.dtype.kind != "f":
            kind = f"dtype {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            self._refuse("a float array or tensor", kind, _CURE)
        self._check_shape(shape)
        self.values: FloatArray = self._read()
        others = np.count_nonzero(~np.isfinite(self.values))
        if others:
            self._refuse(
                "finite numbers",
                f"NaN or infinity in {others:,} of {self.values.size:,}",
                "lower the learning rate, or standardise the columns",
            )

    @property
    def row_count(self) -> int:
        return len(self.values)

    def alike(self, values: FloatArray) -> Any:
        """Other numbers of the same kind, dtype and device."""
        if not self.is_torch:
            return values.astype(self.value.dtype)
        import torch

        return torch.from_numpy(values).to(dtype=self.value.dtype, device=self.value.device)

    def plus(self, values: FloatArray) -> Any:
        """These numbers and others, of this kind; a tensor goes on in the graph of this one."""
        return self.value + self.alike(values)

    def _check_shape(self, shape: tuple[int | None, int]) -> None:
        got = tuple(int(length) for length in self.value.shape)
        rows, columns = shape
        if len(got) == 2 and got[1] == columns and (got[0] == rows or (rows is None and got[0])):
            return
        cure = "give the rows that party.batches() names, each of them once, and the same rows at every party"
        if len(got) != 2 or got[1] != columns:
            cure = "change the last layer, or units and host_widths of hekat.federate_split"
        self._refuse(f"shape ({'rows' if rows is None else rows}, {columns})", f"shape {got}", cure)

    def _check_tensor(self) -> None:
        import torch

        value = self.value
        if value.layout != torch.strided or value.is_quantized or value.is_meta or not value.is_floating_point():
            self._refuse("a float array or tensor", f"a tensor of {value.dtype}, {value.layout}", _CURE)

    def _read(self) -> FloatArray:
        if not self.is_torch:
            return self.value.astype(np.float64)  # type: ignore[no-any-return]
        import torch

        return self.value.detach().to("cpu", torch.float64).numpy()  # type: ignore[no-any-return]

    def _refuse(self, expected: str, got: str, cure: str) -> None:
        raise InputError(f"{self._what} cannot be used", expected=expected, got=got, cure=cure)
