"""As much of CuPy as `CupyDevice` uses, over memory of the host, with streams that do their work late.

What is queued on a stream is done in a random order that the waits allow, as in `emulation.streams`; so a wait that is
missing shows as bytes that are not there yet, or are wiped already. Names and signatures are those of CuPy 14.
"""

from __future__ import annotations

import ctypes
import random
import threading
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from tests.engine.cuda.emulation.streams import MOST_STEPS, EmulatedStream, Event

UNIT_BYTES = 512


class CUDARuntimeError(RuntimeError):
    pass


class CUDADriverError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


@dataclass(frozen=True)
class FakeEvent(Event):
    gpus: Any = None

    @property
    def done(self) -> bool:
        return self.is_over

    def synchronize(self) -> None:
        with self.gpus.lock:
            self.stream.finish(self.count)


class FakeStream(EmulatedStream):
    def __init__(self, gpus: FakeGpus, ptr: int, device_id: int) -> None:
        super().__init__(gpus.lock)
        self.gpus, self.ptr, self.device_id = gpus, ptr, device_id

    def record(self) -> FakeEvent:
        with self.gpus.lock:
            return FakeEvent(self, self.queued, self.gpus)

    def synchronize(self) -> None:
        self.record().synchronize()

    def __enter__(self) -> FakeStream:
        assert self.device_id in (-1, self.gpus.current.device), "the stream of another device"
        self.gpus.current.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.gpus.current.stack.pop()


@dataclass(eq=False)
class Memory:
    ptr: int
    size: int
    device_id: int
    _owner: Any = None
    free: Any = None

    def __del__(self) -> None:
        if self.free is not None:
            self.free(self)


class MemoryPointer:
    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def memset_async(self, value: int, size: int, stream: FakeStream) -> None:
        assert self.ptr + size <= self.mem.ptr + self.mem.size
        stream.gpus.submit(stream, lambda ptr=self.ptr: ctypes.memset(ptr, value, size))


class ndarray:  # noqa: N801
    def __init__(self, shape: Any, dtype: Any, memptr: MemoryPointer, strides: Any = None) -> None:
        self.shape, self.dtype, self.data = tuple(shape), np.dtype(dtype), memptr
        self.flags = SimpleNamespace(c_contiguous=strides is None)
        self.strides = strides
        self.device = SimpleNamespace(id=memptr.device_id)
        self.nbytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def row(self, index: int) -> ndarray:
        """As array[index : index + 1]: on the same memory."""
        step = self.nbytes // self.shape[0]
        return ndarray((1, *self.shape[1:]), self.dtype, MemoryPointer(self.data.mem, index * step))


class MemoryPool:
    """A pool with memory of its own for each stream, as CuPy's; whatever it lends is filled with 0xA5 once."""

    def __init__(self, gpus: FakeGpus) -> None:
        self.gpus = gpus
        self.limit = self.total = 0
        self.kept: dict[tuple[int, int], list[np.ndarray]] = defaultdict(list)
        self.lent: dict[int, np.ndarray] = {}

    def set_limit(self, size: int) -> None:
        self.limit = size

    def malloc(self, size: int) -> MemoryPointer:
        size = -(-size // UNIT_BYTES) * UNIT_BYTES
        stream = self.gpus.current_stream()
        kept = self.kept[stream.ptr, size]
        if not kept:
            if self.total + size > self.limit:
                raise OutOfMemoryError
            self.total += size
            kept.append(np.full(size, 0xA5, np.uint8))
        block = kept.pop()
        self.lent[block.ctypes.data] = block
        # It goes back to the stream that it was lent to, whoever frees it.
        home = stream.ptr
        memory = Memory(block.ctypes.data, size, self.gpus.current.device, free=lambda memory: self._free(memory, home))
        return MemoryPointer(memory, 0)

    def _free(self, memory: Memory, stream: int) -> None:
        self.kept[stream, memory.size].append(self.lent.pop(memory.ptr))

    def free_all_blocks(self) -> None:
        for blocks in self.kept.values():
            for block in blocks:
                self.total -= block.size
                assert not block.any(), "memory goes back to the driver that was not wiped"
            blocks.clear()

    def used_bytes(self) -> int:
        return sum(block.size for block in self.lent.values())

    def free_bytes(self) -> int:
        return sum(block.size for blocks in self.kept.values() for block in blocks)

    def all_blocks(self) -> list[np.ndarray]:
        return [*self.lent.values(), *(block for blocks in self.kept.values() for block in blocks)]


class PinnedMemory:
    def __init__(self, size: int, flags: int = 0) -> None:
        assert flags == 1, "pinned for all devices"
        self.buffer = np.full(size, 0x5A, np.uint8)


class FakeGpus:
    """`count` GPUs of `memory_bytes` each; `module` is the cupy that shows them. Kernels are Python functions."""

    def __init__(self, seed: int, count: int = 2, memory_bytes: int = 1 << 20) -> None:
        self.lock = threading.RLock()
        self.random = random.Random(seed)
        self.current = _Current(self)
        self.streams: dict[int, FakeStream] = {}
        self.null = self.make_stream()
        self.pools: list[MemoryPool] = []
        self.pinned: list[np.ndarray] = []
        self.kernels: dict[str, Any] = {}
        self.launches: list[tuple[str, int, int, int]] = []
        self.attributes: list[tuple[int, int, int]] = []
        self.loaded: list[bytes] = []
        self.count, self.memory_bytes = count, memory_bytes
        self.module = self._module()

    def make_stream(self, non_blocking: bool = False) -> FakeStream:
        with self.lock:
            device = self.current.device if self.streams else -1
            stream = FakeStream(self, len(self.streams), device)
            assert non_blocking or not self.streams, "streams do not wait for the default one"
            self.streams[stream.ptr] = stream
            return stream

    def current_stream(self) -> FakeStream:
        return self.current.stack[-1]

    def submit(self, stream: FakeStream, work: Any) -> None:
        with self.lock:
            stream.append(work)
            for _ in range(self.random.randrange(MOST_STEPS)):
                self.random.choice(list(self.streams.values())).step()

    def finish_all(self) -> None:
        with self.lock:
            for stream in list(self.streams.values()):
                stream.finish(stream.queued)

    def _copy(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        assert kind in (1, 2)
        self.submit(self.streams[stream], lambda: ctypes.memmove(to, source, size))

    def _pin(self, memory: PinnedMemory, offset: int) -> np.ndarray:
        self.pinned.append(memory.buffer)
        return memory.buffer[offset:]

    def _pool(self) -> MemoryPool:
        self.pools.append(MemoryPool(self))
        return self.pools[-1]

    @contextmanager
    def _device(self, index: int) -> Any:
        before, self.current.device = self.current.device, index
        try:
            yield
        finally:
            self.current.device = before

    @contextmanager
    def _allocator(self, allocate: Any) -> Any:
        before, self.current.allocate = self.current.allocate, allocate
        try:
            yield
        finally:
            self.current.allocate = before

    def _contiguous(self, array: ndarray) -> ndarray:
        """A copy of a transposed matrix, as a kernel on the current stream."""
        copy = ndarray(array.shape, array.dtype, self.current.allocate(array.nbytes))
        source, to = array.data.ptr, copy.data.ptr

        def work() -> None:
            matrix = view(source, array.nbytes).view(array.dtype).reshape(array.shape[::-1])
            view(to, array.nbytes).view(array.dtype)[:] = matrix.T.ravel()

        self.submit(self.current_stream(), work)
        return copy

    def _module(self) -> ModuleType:
        cupy = ModuleType("cupy")
        runtime = SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            getDevice=lambda: self.current.device,
            memGetInfo=lambda: (self.memory_bytes - sum(pool.total for pool in self.pools), self.memory_bytes),
            runtimeGetVersion=lambda: 13000,
            getDeviceProperties=lambda index: {"name": b"Fake GPU"},
            deviceGetAttribute=lambda attribute, index: {97: 200 << 10}[attribute],
            deviceGetPCIBusId=lambda index: f"0000:0{index}:00.0",
            deviceSynchronize=self.finish_all,
            memcpyAsync=self._copy,
            memcpyHostToDevice=1,
            memcpyDeviceToHost=2,
            hostAllocPortable=1,
        )
        driver = SimpleNamespace(
            CUDADriverError=CUDADriverError,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
            funcSetAttribute=lambda *arguments: self.attributes.append(arguments),
        )
        cupy.__version__ = "14.0"
        cupy.ndarray = ndarray
        cupy.ascontiguousarray = self._contiguous
        cupy.cuda = SimpleNamespace(
            runtime=runtime,
            driver=driver,
            nvrtc=None,
            function=SimpleNamespace(Module=lambda: _Module(self)),
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            Device=self._make_device,
            Stream=self.make_stream,
            get_current_stream=self.current_stream,
            using_allocator=self._allocator,
            MemoryPool=self._pool,
            MemoryPointer=MemoryPointer,
            UnownedMemory=lambda ptr, size, owner, device_id: Memory(ptr, size, device_id, owner),
            PinnedMemory=PinnedMemory,
            PinnedMemoryPointer=self._pin,
        )
        return cupy

    def _make_device(self, index: int) -> Any:
        context = self._device(index)
        context.compute_capability = "90"
        return context


class _Current(threading.local):
    def __init__(self, gpus: FakeGpus) -> None:
        self.device = 0
        self.allocate: Any = None
        self.gpus = gpus

    @property
    def stack(self) -> list[FakeStream]:
        return self.__dict__.setdefault("stack_of_streams", [self.gpus.null])


class _Module:
    def __init__(self, gpus: FakeGpus) -> None:
        self.gpus = gpus

    def load(self, code: bytes) -> None:
        self.gpus.loaded.append(code)

    def get_function(self, name: str) -> Any:
        return _Function(self.gpus, name)


class _Function:
    def __init__(self, gpus: FakeGpus, name: str) -> None:
        self.gpus, self.name, self.ptr = gpus, name, 77

    def __call__(self, grid: tuple, block: tuple, args: tuple, shared_mem: int = 0) -> None:
        assert all(isinstance(word, np.uint64) for word in args)
        assert grid[0] > 0
        self.gpus.launches.append((self.name, grid[0], block[0], shared_mem))
        kernel = self.gpus.kernels[self.name]
        words = [int(word) for word in args]
        self.gpus.submit(self.gpus.current_stream(), lambda: kernel(*words))


def view(pointer: int, byte_count: int) -> np.ndarray:
    """The bytes at an address."""
    return np.frombuffer((ctypes.c_uint8 * byte_count).from_address(pointer), np.uint8)
