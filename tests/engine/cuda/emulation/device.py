"""`EmulatedDevice`: what `hekat.engine.cuda.device.Device` asks for, with kernels compiled by g++ and run one by one.

Arrays of the device are of a class of their own that does not mix with arrays of the host, as on a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import hekat.engine.cuda
from hekat.engine.cuda.device import DeviceMemoryError
from hekat.engine.cuda.memory.ordering import MemoryOrder

from .memory import (
    GRAIN_BYTES,
    Allocation,
    EmulatedArray,
    Namespace,
    aligned_storage,
    allocation_of,
    device_of,
    read,
)
from .streams import Streams

KERNELS = Path(hekat.engine.cuda.__file__).parent / "kernels"
HEADERS = Path(__file__).parent
ROOT = Path(__file__).parents[4]
MOST_COMPARED_BYTES = 1 << 18
COMPILER = ("g++", "-std=c++17", "-O1", "-march=native", "-fPIC", "-shared", "-x", "c++")
# Pragmas are the GPU compiler's; a loop that runs at least once is beyond g++'s sight.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-maybe-uninitialized")

# What is built for each layout, all of it together: that takes a fifth of the time.
OF_A_LAYOUT = (
    "enter",
    "fixed_base",
    "mod_exp",
    "mod_mul",
    "mod_mul_one_plus",
    "modulus_constants",
    "multi_exp",
    "product_lines",
)


class EmulatedDevice:
    """A device named `emulated:INDEX`. Implements `hekat.engine.cuda.device.Device`.

    It has `memory_bytes` of memory. With `streams`, the seed of a random order, work is queued on each thread's stream
    as on a GPU (`Streams` says how); without, it is done at once.
    """

    def __init__(self, index: int = 0, *, memory_bytes: int = 1 << 40, streams: int | None = None) -> None:
        self.name = f"emulated:{index}"
        self.xp = Namespace(self)
        self.memory_bytes = memory_bytes
        self.live_bytes = 0
        self.wiped_bytes = 0
        self._room_makers: list[Callable[[DeviceMemoryError], bool]] = []
        self._lock = threading.RLock()  # re-entrant: memory may be freed in the middle of anything
        self._streams = None if streams is None else Streams(streams, self._lock)
        # What CuPy's default stream is to its functions outside of `active()`.
        self._default = None if streams is None else self._streams.make()
        self._active = threading.local()

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> EmulatedArray:
        sizes = (shape,) if isinstance(shape, int) else shape
        byte_count = prod(sizes) * np.dtype(dtype).itemsize
        self._take(byte_count)
        # An array of nothing is an array of this device too.
        storage = aligned_storage(max(byte_count, 1))[:byte_count]
        home = None if self._streams is None else self._streams.current
        return self._allocate(storage.view(dtype).reshape(shape), home)

    def when_short(self, make_room: Callable[[DeviceMemoryError], bool]) -> None:
        self._room_makers.append(make_room)

    def upload(self, host: Any) -> EmulatedArray:
        assert type(host) is np.ndarray, "only host arrays are uploaded"
        array = self.empty(host.shape, host.dtype)
        self._queue(partial(np.copyto, allocation_of(array).storage, host.copy()), array)
        return array

    def download(self, array: Any) -> Any:
        assert self.owns(array), "only device arrays are downloaded"
        with self.active():
            return np.array(read(self.ready(array)), order="C")

    @contextmanager
    def active(self) -> Iterator[None]:
        outside = self._outside
        if self._streams is not None and outside:
            self._streams.current.wait_event(self._default.record())
        self._active.inside = True
        try:
            yield
        finally:
            self._active.inside = not outside

    def ready(self, array: Any) -> Any:
        assert self.owns(array), "only device arrays are made ready"
        order = self._order_of(array)
        if order is not None:
            order.before_use(self._of_functions)
        return array

    def publish(self, array: Any) -> Any:
        assert self.owns(array), "only device arrays are published"
        order = self._order_of(array)
        if order is not None:
            self._streams.finish(order.home)
            order.publish()
        return array

    def owns(self, array: Any) -> bool:
        return isinstance(array, EmulatedArray) and device_of((array,)) is self

    def run_groups(self, kernel: str, options: Sequence[str], group_count: int, threads: int, *parameters: Any) -> None:
        self._launch(kernel, options, (group_count,), parameters)

    def run_blocks(
        self,
        kernel: str,
        options: Sequence[str],
        block_count: int,
        threads: int,
        shared_bytes: int,
        *parameters: Any,
    ) -> None:
        self._launch(kernel, options, (block_count, threads, shared_bytes), parameters)

    def describe(self) -> dict[str, str]:
        return {"device": "emulated"}

    # --- memory ----------------------------------------------------------------------------------------

    def adopt(self, host: Any) -> EmulatedArray:
        """Memory that NumPy made for the result of a function of `xp` as memory of this device."""
        self._take(host.nbytes)
        return self._allocate(host, self._of_functions)

    def free(self, storage: Any, order: MemoryOrder | None) -> None:
        """Called when the last array on `storage` is gone."""
        if order is None:
            self._wipe(storage)
        else:
            order.before_free()
            self._streams.submit(order.home, partial(self._wipe, storage))
        with self._lock:
            self.live_bytes -= _rounded(storage.nbytes)

    def _take(self, byte_count: int) -> None:
        while not self._took(byte_count):
            short = DeviceMemoryError(self.name, byte_count, self.memory_bytes - self.live_bytes)
            if not any(make_room(short) for make_room in self._room_makers):
                gc.collect()  # what lies in cycles of references
                if not self._took(byte_count):
                    raise short
                return

    def _took(self, byte_count: int) -> bool:
        with self._lock:
            if self.live_bytes + _rounded(byte_count) > self.memory_bytes:
                return False
            self.live_bytes += _rounded(byte_count)
            return True

    def _allocate(self, storage: Any, home: Any) -> EmulatedArray:
        order = None if home is None else MemoryOrder(home)
        return Allocation(self, storage, order).array()

    def _wipe(self, storage: Any) -> None:
        storage.fill(0)
        with self._lock:
            self.wiped_bytes += storage.nbytes

    # --- order -----------------------------------------------------------------------------------------

    def before_function(self, allocation: Allocation) -> None:
        """Called before a function of the calling thread reads memory."""
        assert allocation.device is self, "an array of another device"
        if allocation.order is not None:
            stream = self._of_functions
            assert allocation.order.is_ordered_for(stream), "an array of another thread that was not made ready"
            self._streams.finish(stream)

    @property
    def _outside(self) -> bool:
        return not getattr(self._active, "inside", False)

    @property
    def _of_functions(self) -> Any:
        """The stream that functions on arrays work on: the thread's own within `active()`, else all threads' one."""
        if self._streams is None:
            return None
        return self._default if self._outside else self._streams.current

    def before_write(self, allocation: Allocation) -> None:
        """Called before a function of the calling thread writes memory that is ready for it."""
        assert not is_shared(allocation), "an array that others use already is written"

    def _order_of(self, array: Any) -> MemoryOrder | None:
        allocation = allocation_of(array)
        assert allocation is not None
        return allocation.order

    def _launch(self, kernel: str, options: Sequence[str], counts: Sequence[int], parameters: Sequence[Any]) -> None:
        source, name = kernel.split("/")
        run = getattr(build(source, tuple(options)), f"run_{name}")
        arrays = [x for x in parameters if isinstance(x, np.ndarray)]
        for array in arrays:
            assert self.owns(array), "kernels take arrays of their device"
            assert array.flags.c_contiguous, "kernels take contiguous arrays"
            with self.active():
                self.ready(array)
        words = [x.ctypes.data if isinstance(x, np.ndarray) else int(x) for x in parameters]
        run_with = partial(run, *(ctypes.c_uint64(n) for n in counts), (ctypes.c_uint64 * len(words))(*words))
        self._queue(run_with, *arrays)

    def _queue(self, work: Callable[[], Any], *arrays: EmulatedArray) -> None:
        """Do `work` on `arrays` now, or have it done in this thread's order."""
        if self._streams is None:
            work()
            return
        allocations = [allocation_of(array) for array in arrays]
        storages = [x.storage for x in allocations]
        # Large ones are not compared, for the time that takes.
        shared = [x.storage for x in allocations if is_shared(x) and x.storage.nbytes <= MOST_COMPARED_BYTES]

        def work_and_check() -> None:
            before = [storage.tobytes() for storage in shared]
            work()
            assert before == [storage.tobytes() for storage in shared], "an array that others use already is written"
            # The address space of what is in use: an array may be freed before, its storage not.
            storages.clear()

        self._streams.submit(self._streams.current, work_and_check)


def is_shared(allocation: Allocation) -> bool:
    """Whether memory may no longer be written, as others use it."""
    return allocation.order is not None and allocation.order.is_shared


def _rounded(byte_count: int) -> int:
    return -(-byte_count // GRAIN_BYTES) * GRAIN_BYTES


@cache
def build(source: str, options: tuple[str, ...]) -> ctypes.CDLL:
    """The library with kernels/<source>.cu, or with an absolute path without its suffix, compiled with `options`."""
    together = OF_A_LAYOUT if source in OF_A_LAYOUT else (source,)
    return _build_library(tuple(KERNELS / f"{one}.cu" for one in together), options)


@cache
def _build_library(sources: tuple[Path, ...], options: tuple[str, ...]) -> ctypes.CDLL:
    """The sources as one library; kept in build/ as long as none of them changes, nor a header."""
    text = b"".join(one.read_bytes() for one in [*sources, *sorted([*KERNELS.iterdir(), *HEADERS.glob("*.hpp")])])
    emulated = [f'-DHEKAT_EMULATED_{part.upper()}="{HEADERS / f"emulated_{part}.hpp"}"' for part in ("lane", "block")]
    command = [*COMPILER, *WARNINGS, f"-I{KERNELS}", *emulated, *options]
    key = hashlib.sha256(text + repr((command, sources)).encode()).hexdigest()[:24]
    folder = ROOT / "build" / "emulated-kernels"
    library = folder / f"{sources[0].stem if len(sources) == 1 else 'layout'}-{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        whole = "".join(f'#include "{path}"\n' for path in sources)
        with tempfile.TemporaryDirectory(dir=folder) as own:
            made = Path(own) / "kernels.so"
            subprocess.run([*command, "-", "-o", str(made)], input=whole, text=True, check=True)
            made.replace(library)  # whole or not at all, though several processes may build it
    return ctypes.CDLL(str(library))
