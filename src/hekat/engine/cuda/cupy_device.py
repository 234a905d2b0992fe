"""One NVIDIA GPU through CuPy: memory, streams, copies and kernels. The only module of the engine that imports CuPy."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import prod
from typing import Any
from weakref import WeakSet

import cupy
import numpy as np
import numpy.typing as npt

from hekat.engine.cuda.availability import check_device, check_runtime
from hekat.engine.cuda.compile import Compiler
from hekat.engine.cuda.device import DeviceArray, DeviceMemoryError
from hekat.engine.cuda.layout import BLOCK_THREADS
from hekat.engine.cuda.memory.ordering import MemoryOrder, ThreadStreams
from hekat.engine.cuda.memory.pinned_buffers import Bytes, PinnedBuffers, Transfers
from hekat.engine.cuda.sensors import read_sensors
from hekat.engine.table_memory import read_cap_mib, source_of
from hekat.errors import EngineError

MEMORY_VARIABLE = "HEKAT_CUDA_MIB"
"""The most that arrays take on each device, what is kept for reuse included."""
DEFAULT_SHARE = 0.9
"""Of what is free when the device is first used."""
_MIB = 1 << 20
# Kernels have to request shared memory beyond this size.
_PLAIN_SHARED_BYTES = 48 << 10
# cudaDevAttrMaxSharedMemoryPerBlockOptin: the most that a block gets on request. CuPy has no name for it.
_MOST_SHARED_ATTRIBUTE = 97


class CupyDevice:
    """Implements `hekat.engine.cuda.device.Device`; `memory.ordering` says which stream waits for which.

    Each calling thread queues its work on its own stream, which does not wait for CuPy's default stream; memory comes
    from the device's own pool. CuPy's current device, stream and allocator are left as they were.
    """

    def __init__(self, index: int) -> None:
        """GPU number `index`, from 0. Raises EngineError, with reason and cure, where the GPU is not usable."""
        driver = check_device(index)
        self._index = index
        self._process = os.getpid()
        self.name = f"cuda:{index}"
        with self._told():
            check_runtime(cupy.cuda.runtime.runtimeGetVersion(), driver)
            with cupy.cuda.Device(index):
                free_bytes, self._memory_bytes = cupy.cuda.runtime.memGetInfo()
                default_mib = max(int(free_bytes * DEFAULT_SHARE) // _MIB, 1)
                self._limit_bytes = read_cap_mib(MEMORY_VARIABLE, default_mib) * _MIB
                self._pool = cupy.cuda.MemoryPool()
                self._pool.set_limit(size=self._limit_bytes)
                self._compiler = Compiler(cupy.cuda.nvrtc, cupy.cuda.Device(index).compute_capability)
                self._most_shared_bytes = cupy.cuda.runtime.deviceGetAttribute(_MOST_SHARED_ATTRIBUTE, index)
        self._driver = driver
        self._streams = ThreadStreams(self._make_stream)
        self._transfers = Transfers(PinnedBuffers(_allocate_pinned), _copy_in, _copy_out)
        self._functions: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._modules: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._allowed_bytes: dict[tuple[str, tuple[str, ...]], int] = {}
        self._lock = threading.Lock()
        self._live: WeakSet[_Memory] = WeakSet()
        self._room_makers: list[Callable[[DeviceMemoryError], bool]] = []
        # Arrays from other libraries, kept until the work queued with them is done.
        self._foreign = threading.local()
        self._held: deque[tuple[Any, list[DeviceArray]]] = deque()
        atexit.register(self._wipe)

    @property
    def xp(self) -> Any:
        """CuPy; use it within `active()`."""
        return cupy

    @property
    def memory_bytes(self) -> int:
        """All memory of the device, used by this process or by others."""
        return int(self._memory_bytes)

    @contextmanager
    def active(self) -> Iterator[Any]:
        """Within it, CuPy works on this device, on this thread's stream, with memory that is wiped when it is freed.

        On the device, this stream waits for the thread's earlier work on CuPy's current stream.
        """
        with self._told():
            stream = self._streams.current()
            if cupy.cuda.runtime.getDevice() == self._index and cupy.cuda.get_current_stream() is stream:
                yield stream
                return
            with cupy.cuda.Device(self._index):
                self._let_go()
                stream.wait_event(cupy.cuda.get_current_stream().record())
                with stream, cupy.cuda.using_allocator(self._allocate):
                    try:
                        yield stream
                    finally:
                        self._hold_foreign(stream)

    # --- memory ----------------------------------------------------------------------------------------

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        """Uninitialised contiguous memory, wiped when the last array on it goes. Raises DeviceMemoryError."""
        with self.active():
            sizes = (shape,) if isinstance(shape, int) else shape
            return cupy.ndarray(sizes, dtype, self._allocate(prod(sizes) * np.dtype(dtype).itemsize))

    def when_short(self, make_room: Callable[[DeviceMemoryError], bool]) -> None:
        """From here on the device calls `make_room` before it raises a DeviceMemoryError; `make_room` may raise too.

        Functions given earlier are called first: engines of both tenancies keep results on one device.
        """
        self._room_makers.append(make_room)

    def upload(self, host: npt.NDArray[Any]) -> DeviceArray:
        """A contiguous copy of a host array; the caller may change or drop the host array once this returns.

        Raises DeviceMemoryError.
        """
        with self.active() as stream:
            array = self.empty(host.shape, host.dtype)
            source = np.ascontiguousarray(host).reshape(-1).view(np.uint8)
            self._transfers.upload(array.data.ptr, source, stream)
            return array

    def download(self, array: DeviceArray) -> npt.NDArray[Any]:
        """A copy on the host, complete when this returns; waits only for the calling thread's stream."""
        with self.active() as stream:
            self._order(array, stream)
            source = array if array.flags.c_contiguous else cupy.ascontiguousarray(array)
            host: npt.NDArray[Any] = np.empty(array.shape, array.dtype)
            self._transfers.download(host.reshape(-1).view(np.uint8), source.data.ptr, stream)
            return host

    def ready(self, array: DeviceArray) -> DeviceArray:
        """The same array, for CuPy's functions on the calling thread's current stream, whichever thread made it."""
        with self._told(), cupy.cuda.Device(self._index):
            self._order(array, cupy.cuda.get_current_stream())
        return array

    def publish(self, array: DeviceArray) -> DeviceArray:
        """The same array, complete now and from here on only read."""
        with self.active() as stream:
            memory = self._memory_of(array)
            if memory is None:
                stream.synchronize()
            else:
                home: Any = memory.order.home
                home.synchronize()
                memory.order.publish()
        return array

    def owns(self, array: Any) -> bool:
        """Whether an array lies in this device's memory, whichever library put it there."""
        return isinstance(array, cupy.ndarray) and array.device.id == self._index

    # --- kernels ---------------------------------------------------------------------------------------

    def run_groups(self, kernel: str, options: Sequence[str], group_count: int, threads: int, *parameters: Any) -> None:
        """Queue `kernel` for `group_count` groups of `threads` threads."""
        block_count = -(-group_count * threads // BLOCK_THREADS)
        self._launch(kernel, tuple(options), block_count, BLOCK_THREADS, 0, parameters)

    def run_blocks(
        self,
        kernel: str,
        options: Sequence[str],
        block_count: int,
        threads: int,
        shared_bytes: int,
        *parameters: Any,
    ) -> None:
        """Queue `kernel` for `block_count` blocks of `threads` threads that share `shared_bytes` of memory."""
        self._launch(kernel, tuple(options), block_count, threads, shared_bytes, parameters)

    def _launch(
        self,
        kernel: str,
        options: tuple[str, ...],
        block_count: int,
        threads: int,
        shared_bytes: int,
        parameters: Sequence[Any],
    ) -> None:
        if block_count == 0:
            return
        with self.active() as stream:
            function = self._function(kernel, options, shared_bytes)
            # Pointers and integers alike are words of 64 bits.
            words = tuple(np.uint64(self._word(parameter, stream)) for parameter in parameters)
            function((block_count,), (threads,), words, shared_mem=shared_bytes)

    def _word(self, parameter: Any, stream: Any) -> int:
        if not isinstance(parameter, cupy.ndarray):
            return int(parameter)
        assert self.owns(parameter), "kernels take arrays of their device"
        assert parameter.flags.c_contiguous, "kernels take contiguous arrays"
        self._order(parameter, stream)
        return int(parameter.data.ptr)

    def _function(self, kernel: str, options: tuple[str, ...], shared_bytes: int) -> Any:
        """The function on this device, allowed to use so much shared memory. Call it within `active()`."""
        function = self._functions.get((kernel, options))
        if function is None:
            source, name = kernel.split("/")
            with self._lock:
                module = self._modules.get((source, options))
                if module is None:
                    module = cupy.cuda.function.Module()
                    module.load(self._compiler.compile(source, options))
                    self._modules[source, options] = module
            function = self._functions[kernel, options] = module.get_function(name)
        if shared_bytes > self._allowed_bytes.get((kernel, options), _PLAIN_SHARED_BYTES):
            self._allow(kernel, options, function, shared_bytes)
        return function

    def _allow(self, kernel: str, options: tuple[str, ...], function: Any, shared_bytes: int) -> None:
        """From here on blocks of the function may share so much memory. Raises EngineError where the GPU has less."""
        if shared_bytes > self._most_shared_bytes:
            raise EngineError(
                f"{self.name} has too little shared memory for the kernel {kernel}",
                expected=f"at most {self._most_shared_bytes / 1024:.1f} KiB for a block",
                got=f"{shared_bytes / 1024:.1f} KiB",
                cure="compute on engine 'cpu', or with a ring of a smaller degree or fewer primes",
            )
        most = cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        with self._lock:
            # Never lowered, because another thread may be about to launch the kernel that needs it.
            if shared_bytes > self._allowed_bytes.get((kernel, options), _PLAIN_SHARED_BYTES):
                cupy.cuda.driver.funcSetAttribute(function.ptr, most, shared_bytes)
                self._allowed_bytes[kernel, options] = shared_bytes

    # --- for `hekat doctor` ----------------------------------------------------------------------------

    def describe(self) -> dict[str, str]:
        """The device, its memory, what is resident, temperature and load."""
        runtime = cupy.cuda.runtime
        with self._told(), cupy.cuda.Device(self._index):
            name = runtime.getDeviceProperties(self._index)["name"]
            capability = cupy.cuda.Device(self._index).compute_capability
            free_bytes, total_bytes = runtime.memGetInfo()
            resident_bytes, cached_bytes = self._pool.used_bytes(), self._pool.free_bytes()
            sensors = read_sensors(runtime.deviceGetPCIBusId(self._index))
            built_for = runtime.runtimeGetVersion()
        cuda = self._driver.cuda_version
        return {
            "device": name.decode(errors="replace") if isinstance(name, bytes) else str(name),
            "compute capability": f"{capability[:-1]}.{capability[-1]}",
            "cuda": f"driver for {cuda[0]}.{cuda[1]}; CuPy {cupy.__version__} for "
            f"{built_for // 1000}.{built_for % 1000 // 10}",
            "memory": f"{free_bytes // _MIB} MiB free of {total_bytes // _MIB} MiB; "
            f"hekat takes up to {self._limit_bytes // _MIB} MiB ({source_of(MEMORY_VARIABLE)})",
            "resident": f"{resident_bytes / _MIB:.1f} MiB in use, {cached_bytes / _MIB:.1f} MiB kept for reuse",
            **sensors,
            **self._compiler.describe(),
        }

    def __repr__(self) -> str:
        return f"CupyDevice({self._index})"

    # --- allocation and order --------------------------------------------------------------------------

    def _make_stream(self) -> Any:
        with cupy.cuda.Device(self._index):
            return cupy.cuda.Stream(non_blocking=True)

    def _allocate(self, byte_count: int) -> Any:
        """CuPy's allocator within `active()`: a pointer to memory that is wiped, in order, when it is freed."""
        memory = _Memory(self, self._reserve(max(byte_count, 1)), self._streams.current())
        self._live.add(memory)
        whole = cupy.cuda.UnownedMemory(memory.pointer.ptr, max(byte_count, 1), memory, self._index)
        return cupy.cuda.MemoryPointer(whole, 0)

    def _reserve(self, byte_count: int) -> Any:
        """Memory from the pool's part for the current stream."""
        out_of_memory = cupy.cuda.memory.OutOfMemoryError
        with suppress(out_of_memory):
            return self._pool.malloc(byte_count)
        may_have_room = True
        while True:
            # Memory kept for other streams counts too: it returns once no queued work wipes it any more.
            cupy.cuda.runtime.deviceSynchronize()
            self._pool.free_all_blocks()
            with suppress(out_of_memory):
                return self._pool.malloc(byte_count)
            short = DeviceMemoryError(self.name, byte_count, self._free_bytes())
            if not may_have_room:
                raise short
            may_have_room = any(make_room(short) for make_room in self._room_makers)
            if not may_have_room:
                gc.collect()  # frees arrays in cycles of references

    def _free_bytes(self) -> int:
        """Bytes that could still be allocated if they lay in one piece."""
        free_bytes, _ = cupy.cuda.runtime.memGetInfo()
        own = self._limit_bytes - self._pool.used_bytes()
        return int(max(0, min(own, free_bytes + self._pool.free_bytes())))

    def _order(self, array: DeviceArray, stream: Any) -> None:
        """Work that is queued on `stream` from here on may use the array."""
        memory = self._memory_of(array)
        if memory is not None:
            memory.order.before_use(stream)
        else:
            # Its maker may drop the array while the work is still queued.
            self._foreign.__dict__.setdefault("arrays", []).append(array)

    def _memory_of(self, array: DeviceArray) -> _Memory | None:
        """The memory under an array; None where this device did not allocate it."""
        owner = getattr(array.data.mem, "_owner", None)
        return owner if isinstance(owner, _Memory) and owner.device is self else None

    def _hold_foreign(self, stream: Any) -> None:
        """Keep the arrays of other libraries until the work that this thread queued with them is done."""
        arrays = self._foreign.__dict__.pop("arrays", None)
        if arrays:
            self._held.append((stream.record(), arrays))

    def _let_go(self) -> None:
        """Drop the arrays of other libraries whose work is done."""
        while self._held:
            try:
                entry = self._held.popleft()
            except IndexError:
                return
            if not entry[0].done:
                self._held.appendleft(entry)
                return

    def _wipe(self) -> None:
        """At the end of the process, wipe the device and its transfer buffers."""
        with suppress(RuntimeError), cupy.cuda.Device(self._index):
            for memory in list(self._live):
                memory.wipe()
            cupy.cuda.runtime.deviceSynchronize()
            self._transfers.wipe()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Within it, errors of CUDA become an EngineError."""
        try:
            yield
        except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
            if os.getpid() != self._process:
                raise EngineError(
                    f"{self.name} cannot be used by a process that was forked from one that uses it",
                    expected="a process that was started anew",
                    got=str(error),
                    cure="start processes with multiprocessing's 'spawn' or 'forkserver', or compute there on the CPU",
                ) from error
            raise EngineError(
                f"{self.name} reports an error",
                expected="a GPU that does what is queued",
                got=str(error),
                cure="start the process again; if it stays, look at `nvidia-smi`, and report it with `hekat doctor`",
            ) from error


class _Memory:
    """One allocation. It is wiped and returns to the pool when the last array on it goes."""

    __slots__ = ("__weakref__", "device", "order", "pointer")

    def __init__(self, device: CupyDevice, pointer: Any, home: Any) -> None:
        self.device = device
        self.pointer = pointer
        self.order = MemoryOrder(home)

    def wipe(self) -> None:
        """Queue zeros over all of it, behind all work queued with it."""
        with cupy.cuda.Device(self.pointer.device_id):
            self.order.before_free()
            self.pointer.memset_async(0, self.pointer.mem.size, self.order.home)

    def __del__(self) -> None:
        # At the end of the process all memory was wiped already, and CUDA may be gone. A GPU in error runs nothing any
        # more.
        if not sys.is_finalizing():
            with suppress(RuntimeError):
                self.wipe()


def _allocate_pinned(byte_count: int) -> Bytes:
    # Not from CuPy's own pool of such memory, which nobody wipes. Fresh memory holds zeros.
    memory = cupy.cuda.PinnedMemory(byte_count, cupy.cuda.runtime.hostAllocPortable)
    buffer: Bytes = np.frombuffer(cupy.cuda.PinnedMemoryPointer(memory, 0), np.uint8, byte_count)
    buffer[:] = 0
    return buffer


def _copy_in(pointer: int, address: int, byte_count: int, stream: Any) -> None:
    runtime = cupy.cuda.runtime
    runtime.memcpyAsync(pointer, address, byte_count, runtime.memcpyHostToDevice, stream.ptr)


def _copy_out(address: int, pointer: int, byte_count: int, stream: Any) -> None:
    runtime = cupy.cuda.runtime
    runtime.memcpyAsync(address, pointer, byte_count, runtime.memcpyDeviceToHost, stream.ptr)
