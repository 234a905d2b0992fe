"""What an engine needs of a GPU: memory that arrays of its own kind live in, and kernels to run on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

DeviceArray = Any
"""An array in a device's memory: a cupy.ndarray on a GPU. Never a numpy.ndarray of the host."""


class Device(Protocol):
    """One GPU, or its emulation in tests. Calls may come from several threads; each has its own order of work."""

    @property
    def name(self) -> str:
        """As users write it: `cuda:0`."""
        ...

    @property
    def xp(self) -> Any:
        """The module of functions on this device's arrays: cupy for a GPU."""
        ...

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        """Uninitialised contiguous memory, on a boundary of 256 bytes; wiped when the last array on it goes.

        Raises EngineError where none is left.
        """
        ...

    def upload(self, host: npt.NDArray[Any]) -> DeviceArray:
        """A copy of a host array on the device; contiguous."""
        ...

    def download(self, array: DeviceArray) -> npt.NDArray[Any]:
        """A copy of a device array on the host, complete when this returns."""
        ...

    def publish(self, array: DeviceArray) -> DeviceArray:
        """The same array, complete now and from here on only read: threads need not wait for each other to use it."""
        ...

    def owns(self, array: Any) -> bool:
        """Whether an array lies in this device's memory."""
        ...

    def run_groups(self, kernel: str, options: Sequence[str], group_count: int, threads: int, *parameters: Any) -> None:
        """Run one group of `threads` threads for each of `group_count` items, kBlockThreads threads to a block.

        `kernel` is `source/name`: the function `name` of kernels/<source>.cu. Parameters are device arrays, passed as
        pointers, and integers, passed as 64-bit words. `options` are -D options of the compiler.
        """
        ...

    def run_blocks(
        self,
        kernel: str,
        options: Sequence[str],
        block_count: int,
        threads: int,
        shared_bytes: int,
        *parameters: Any,
    ) -> None:
        """As `run_groups`, for kernels whose threads work together as a block and share `shared_bytes` of memory."""
        ...

    def describe(self) -> dict[str, str]:
        """What `hekat doctor` shows: the device, its memory, what is resident, temperature and load."""
        ...


def words_of(limbs: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    """The 32-bit words of 64-bit limbs, lowest first along the last axis; a view of contiguous limbs."""
    return limbs.view(np.uint32)
