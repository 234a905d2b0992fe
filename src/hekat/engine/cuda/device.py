"""What an engine needs of a GPU: memory for arrays of the device's own kind, and kernels that run on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hekat.errors import EngineError

# Threads of a block that `run_blocks` may ask for, as in block.cuh.
MOST_THREADS = 256

DeviceArray = Any
"""An array in a device's memory: a cupy.ndarray on a GPU. Never a numpy.ndarray of the host."""


class DeviceMemoryError(EngineError):
    """A device's memory is short: the bytes that were requested, and the bytes left after it emptied its caches."""

    def __init__(self, device_name: str, asked_bytes: int, free_bytes: int, item_count: int | None = None) -> None:
        """`item_count`: the size of the batch that needed the memory, where it is known."""
        self.device_name = device_name
        self.asked_bytes = asked_bytes
        self.free_bytes = free_bytes
        # A smaller batch makes its other arrays smaller too, so that many items fit unless later arrays need more.
        if item_count is None:
            items, smaller = "", f"{free_bytes / max(asked_bytes, 1):.0%} of this size"
        else:
            items, smaller = f" for {item_count} items", f"{item_count * free_bytes // max(asked_bytes, 1)} items"
        super().__init__(
            f"{device_name} is out of memory",
            expected=f"at most {free_bytes / 2**20:.1f} MiB: the rest is in use",
            got=f"{asked_bytes / 2**20:.1f} MiB{items}",
            cure=f"work in batches of at most {smaller}, end what else uses this device, or compute on the CPU",
        )

    def for_items(self, item_count: int) -> DeviceMemoryError:
        """The same error, for a batch of so many items."""
        return DeviceMemoryError(self.device_name, self.asked_bytes, self.free_bytes, item_count)


class Device(Protocol):
    """One GPU, or its emulation in tests. Calls may come from several threads; each has its own order of work.

    hekat.engine.cuda.memory.ordering says which threads' work waits for each other.
    """

    @property
    def name(self) -> str:
        """As users write it: `cuda:0`."""
        ...

    @property
    def xp(self) -> Any:
        """The module of functions on this device's arrays: cupy for a GPU. Use it within `active()`."""
        ...

    def active(self) -> AbstractContextManager[Any]:
        """Within it, `xp` and the operators of arrays work on this device, in this thread's order of work.

        The other methods see to that themselves.
        """
        ...

    @property
    def memory_bytes(self) -> int:
        """All memory of the device, used by this process or by others."""
        ...

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        """Uninitialised contiguous memory, on a boundary of 256 bytes; wiped when the last array on it goes.

        Raises DeviceMemoryError where too little is left even after the device emptied its caches and made room.
        """
        ...

    def when_short(self, make_room: Callable[[DeviceMemoryError], bool]) -> None:
        """From here on, where memory is short, the device calls `make_room` with the error it is about to raise.

        After True, which says that there is room now, the device tries again. After False it collects garbage and tries
        once more. Callers may give several functions; the device asks all of them.
        """
        ...

    def upload(self, host: npt.NDArray[Any]) -> DeviceArray:
        """A copy of a host array on the device; contiguous. The caller may change or drop the host array once this
        returns.

        Raises DeviceMemoryError as `empty` does.
        """
        ...

    def ready(self, array: DeviceArray) -> DeviceArray:
        """The same array, for functions of `xp` on the calling thread, whichever thread made it.

        Kernels and downloads order their arrays themselves.
        """
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
        """As `run_groups`, for kernels whose threads work as a block and share `shared_bytes` of memory."""
        ...

    def describe(self) -> dict[str, str]:
        """What `hekat doctor` shows: the device, its memory, what is resident, temperature and load."""
        ...


def run_threads(device: Device, kernel: str, thread_count: int, *parameters: Any, options: Sequence[str] = ()) -> None:
    """Run a kernel whose `thread_count` threads work independently."""
    block_count = -(-thread_count // MOST_THREADS)
    if block_count:
        device.run_blocks(kernel, options, block_count, MOST_THREADS, 0, *parameters)


def check_owned(device: Device, array: DeviceArray) -> DeviceArray:
    """The same array. Raises EngineError where it does not lie in this device's memory."""
    if not device.owns(array):
        raise EngineError(
            "an array lies on another device",
            expected=f"one on {device.name}, or on the host",
            got=f"shape {array.shape} of {array.dtype} elsewhere",
            cure="compute with the engine of the device it lies on",
        )
    return array


def words_of(limbs: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    """The 32-bit words of 64-bit limbs, lowest first along the last axis; a view of contiguous limbs."""
    return limbs.view(np.uint32)
