"""`CupyDevice` on a fake CuPy whose streams are as late as they may be: order, wiping, memory, copies and launches."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from hekat.engine.cuda import availability
from hekat.engine.cuda.device import DeviceMemoryError
from hekat.engine.cuda.memory.pinned_buffers import SMALLEST_BYTES, PinnedBuffers, Transfers
from hekat.errors import EngineError

from .fake_cupy import CUDARuntimeError, FakeGpus, Memory, MemoryPointer, ndarray, view

MODULE = "hekat.engine.cuda.cupy_device"
SECRET = np.arange(1, 1025, dtype=np.uint32)


class FakeCompiler:
    def __init__(self, nvrtc, capability) -> None:
        self.capability = capability

    def compile(self, source: str, options) -> bytes:
        return f"{source} {' '.join(options)} {self.capability}".encode()

    def describe(self) -> dict[str, str]:
        return {"kernels": "compiled"}


@pytest.fixture(params=range(4))
def gpus(request, monkeypatch):
    """Two GPUs in several orders of work; `gpus.open(index)` is a device on one."""
    gpus = FakeGpus(request.param)
    monkeypatch.setitem(sys.modules, "cupy", gpus.module)
    monkeypatch.setattr(availability, "find_spec", lambda name: object())
    monkeypatch.setattr(availability, "find_driver", lambda load=None: availability.Driver((13, 0), gpus.count))
    monkeypatch.delenv("HEKAT_CUDA_MIB", raising=False)
    before = sys.modules.pop(MODULE, None)
    module = import_module(MODULE)
    monkeypatch.setattr(module, "Compiler", FakeCompiler)
    monkeypatch.setattr(module.atexit, "register", lambda function: function)
    gpus.open = module.CupyDevice
    gpus.kernels["copy"] = lambda to, source, size: np.copyto(view(to, size), view(source, size))
    yield gpus
    sys.modules.pop(MODULE, None)
    if before is not None:
        sys.modules[MODULE] = before


@pytest.fixture
def device(gpus):
    return gpus.open(0)


def in_a_thread(function, *arguments):
    """What `function` returns, in a thread that ends."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *arguments).result()


def copy(device, array):
    """A copy made by a kernel, for the calling thread."""
    out = device.empty(array.shape, array.dtype)
    device.run_groups("source/copy", (), 1, 4, out, array, array.nbytes)
    return out


# --- copies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (257,), (5, 7, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64, np.int64])
def test_what_goes_up_comes_down(device, shape, dtype):
    host = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array = device.upload(host)
    assert (array.shape, array.dtype) == (shape, dtype)
    assert device.owns(array)
    assert not device.owns(host)
    down = device.download(array)
    assert type(down) is np.ndarray
    assert (down.shape, down.dtype) == (shape, dtype)
    assert np.array_equal(down, host)


def test_the_host_array_may_change_at_once(device):
    hosts = [np.full(1000, value, np.uint32) for value in range(8)]
    arrays = []
    for host in hosts:
        arrays.append(device.upload(host))
        host[:] = 99
    for value, array in enumerate(arrays):
        assert (device.download(array) == value).all()


def test_arrays_that_do_not_lie_in_a_row_go_both_ways(device):
    host = np.arange(48, dtype=np.uint32).reshape(6, 8)
    assert np.array_equal(device.download(device.upload(host[::2, ::-1])), host[::2, ::-1])
    array = device.upload(host)
    transposed = ndarray((8, 6), np.uint32, array.data, strides=(4, 32))
    assert np.array_equal(device.download(transposed), host.T)


def test_large_arrays_go_in_pieces(gpus, device):
    buffers = PinnedBuffers(lambda size: np.zeros(size, np.uint8))
    device._transfers = Transfers(buffers, device._transfers._copy_in, device._transfers._copy_out, piece_bytes=100)
    host = np.arange(1001, dtype=np.uint32)
    assert np.array_equal(device.download(device.upload(host)), host)


def test_transfer_buffers_are_reused_and_wiped(gpus, device):
    for _ in range(10):
        assert np.array_equal(device.download(device.upload(SECRET)), SECRET)
    # One for the way up, and where that is still in use, another for the way down.
    assert 1 <= len(gpus.pinned) <= 2
    device._transfers.wipe()
    assert not any(buffer.any() for buffer in gpus.pinned)


# --- pinned buffers --------------------------------------------------------------------------------------


class ManualEvent:
    def __init__(self) -> None:
        self.done = False

    def synchronize(self) -> None:
        self.done = True


def test_a_buffer_is_not_lent_while_the_device_reads_it():
    buffers = PinnedBuffers(lambda size: np.zeros(size, np.uint8))
    event = ManualEvent()
    first = buffers.take(100)
    first[:100] = 7
    buffers.give_after(event, first, 100)
    assert buffers.take(100) is not first
    assert (first[:100] == 7).all()
    event.done = True
    assert buffers.take(100) is first
    assert not first.any()


def test_a_download_that_fails_leaves_no_buffer_to_the_device():
    made, events = [], []

    def allocate(size):
        made.append(np.zeros(size, np.uint8))
        return made[-1]

    def copy_out(address, pointer, size, stream):
        if events:
            raise CUDARuntimeError("cudaErrorLaunchFailure")

    def record():
        events.append(ManualEvent())
        return events[-1]

    buffers = PinnedBuffers(allocate)
    transfers = Transfers(buffers, lambda *_: None, copy_out, piece_bytes=1 << 16)
    with pytest.raises(CUDARuntimeError):
        transfers.download(np.empty(2 << 16, np.uint8), 0, SimpleNamespace(record=record))
    # The first piece is still on its way: its buffer is neither let go of nor lent.
    made[0][:] = 7
    assert buffers.take(1 << 16) is not made[0]
    events[0].done = True
    assert buffers.take(1 << 16) is made[0]
    assert not made[0].any()


def test_buffers_are_lent_by_size_and_kept_within_bounds():
    buffers = PinnedBuffers(lambda size: np.zeros(size, np.uint8), kept_bytes=2 * SMALLEST_BYTES)
    small, large = buffers.take(1), buffers.take(SMALLEST_BYTES + 1)
    assert (small.size, large.size) == (SMALLEST_BYTES, 2 * SMALLEST_BYTES)
    buffers.give(small, 1)
    buffers.give(large, 1)
    assert buffers.free_bytes == SMALLEST_BYTES
    assert buffers.take(SMALLEST_BYTES) is small
    assert buffers.take(SMALLEST_BYTES + 1) is not large


def test_the_oldest_upload_is_waited_for_where_too_many_are_under_way():
    buffers = PinnedBuffers(lambda size: np.zeros(size, np.uint8), kept_bytes=2 * SMALLEST_BYTES)
    events = [ManualEvent() for _ in range(4)]
    for event in events:
        buffers.give_after(event, buffers.take(1), 1)
    assert [event.done for event in events] == [True, False, False, False]
    buffers.wipe()
    assert all(event.done for event in events)


# --- order -----------------------------------------------------------------------------------------------


def test_other_threads_see_what_a_thread_made(device):
    for _ in range(20):
        array = in_a_thread(device.upload, SECRET)
        assert np.array_equal(device.download(copy(device, array)), SECRET)
        assert np.array_equal(in_a_thread(lambda array=array: device.download(copy(device, array))), SECRET)


def test_memory_is_not_wiped_or_lent_before_other_threads_are_done(device):
    for _ in range(20):
        array = device.upload(SECRET)
        with ThreadPoolExecutor(1) as thread:
            copied = thread.submit(copy, device, array).result()
            # The memory goes back while the other thread's work is still queued, and is taken again at once.
            del array
            again = device.upload(SECRET[::-1])
            assert np.array_equal(thread.submit(device.download, copied).result(), SECRET)
        assert np.array_equal(device.download(again), SECRET[::-1])


def test_published_memory_waits_for_its_readers_too(device):
    for _ in range(20):
        array = device.publish(device.upload(SECRET))
        with ThreadPoolExecutor(1) as thread:
            copied = thread.submit(copy, device, array).result()
            del array
            device.upload(SECRET[::-1])
            assert np.array_equal(thread.submit(device.download, copied).result(), SECRET)


def test_publishing_completes_an_array(gpus, device):
    array = in_a_thread(device.upload, SECRET)
    assert device.publish(array) is array
    assert np.array_equal(view(array.data.ptr, array.nbytes).view(np.uint32), SECRET)


def test_views_are_ordered_as_what_they_show(device):
    for _ in range(20):
        array = in_a_thread(device.upload, SECRET.reshape(8, -1))
        assert np.array_equal(device.download(copy(device, array.row(3)))[0], SECRET.reshape(8, -1)[3])


def test_functions_wait_where_an_array_is_made_ready(gpus, device):
    """What is queued on the thread's current stream after `ready` sees the array, within `active()` and outside."""
    for within in (True, False):
        for _ in range(10):
            array = in_a_thread(device.upload, SECRET)
            seen = np.zeros_like(SECRET)

            def look(array=array, seen=seen):
                pointer, size = array.data.ptr, array.nbytes
                stream = gpus.current_stream()
                gpus.submit(stream, lambda: np.copyto(seen, view(pointer, size).view(np.uint32)))
                return stream.record()

            if within:
                with device.active():
                    event = look(device.ready(array))
            else:
                event = look(device.ready(array))
            del array
            device.upload(SECRET[::-1])
            event.synchronize()
            assert np.array_equal(seen, SECRET)


def test_earlier_work_of_the_thread_on_cupys_own_stream_is_waited_for(gpus, device):
    for _ in range(20):
        storage = np.zeros(SECRET.size, np.uint32)
        array = ndarray(storage.shape, np.uint32, MemoryPointer(Memory(storage.ctypes.data, storage.nbytes, 0), 0))
        gpus.submit(gpus.null, lambda storage=storage: np.copyto(storage, SECRET))
        assert np.array_equal(device.download(copy(device, array)), SECRET)


def test_arrays_of_others_are_held_until_the_work_with_them_is_done(gpus, device):
    storage = SECRET.copy()
    memory = Memory(storage.ctypes.data, storage.nbytes, 0)
    gone = weakref.ref(memory)
    started = device.upload(np.zeros(1, np.uint32))
    out = copy(device, ndarray(storage.shape, np.uint32, MemoryPointer(memory, 0)))
    del memory
    if gpus.streams[device._streams.current().ptr].queue:
        assert gone() is not None
    device.download(out)
    device.download(started)
    gc.collect()
    assert gone() is None


def test_cupys_state_is_as_it_was(gpus):
    device = gpus.open(1)
    outer = object()
    gpus.current.allocate = outer
    with device.active() as stream:
        assert gpus.current.device == 1
        assert gpus.current_stream() is stream
        assert stream.device_id == 1
        inner = gpus.current.allocate
        with device.active() as again:
            assert again is stream
        assert gpus.current.allocate is inner
    assert (gpus.current.device, gpus.current_stream(), gpus.current.allocate) == (0, gpus.null, outer)


def test_devices_work_within_each_other(gpus):
    first, second = gpus.open(0), gpus.open(1)
    with first.active() as stream:
        array = second.upload(SECRET)
        assert second.owns(array)
        assert not first.owns(array)
        with second.active():
            assert np.array_equal(first.download(first.upload(SECRET)), SECRET)
        assert gpus.current_stream() is stream
    assert np.array_equal(second.download(array), SECRET)


# --- wiping ----------------------------------------------------------------------------------------------


def test_freed_memory_is_wiped(gpus, device):
    array = device.upload(SECRET)
    kept = device.upload(SECRET)
    view_of_it = array.row(0)
    pointer = array.data.ptr
    del array
    gpus.finish_all()
    assert view(pointer, SECRET.nbytes).any(), "an array is still on it"
    del view_of_it
    gpus.finish_all()
    assert not view(pointer, SECRET.nbytes).any()
    assert np.array_equal(device.download(kept), SECRET)


def test_memory_of_cupys_own_functions_is_wiped_too(gpus, device):
    array = device.upload(SECRET.reshape(2, -1))
    transposed = ndarray(array.shape[::-1], np.uint32, array.data, strides=(4, 2048))
    with device.active():
        pointer = gpus.module.ascontiguousarray(transposed).data.ptr
    gpus.finish_all()
    assert not view(pointer, SECRET.nbytes).any()


def test_nothing_is_left_at_the_end_of_the_process(gpus, device):
    kept = device.upload(SECRET)
    in_a_thread(device.upload, SECRET)
    device._wipe()
    [pool] = gpus.pools
    assert len(pool.all_blocks()) >= 2
    assert not any(block.any() for block in pool.all_blocks())
    assert not any(buffer.any() for buffer in gpus.pinned)
    assert kept is not None


# --- memory ----------------------------------------------------------------------------------------------


def test_a_device_that_is_full_says_what_is_left(gpus, device):
    assert device.memory_bytes == gpus.memory_bytes
    # Whole MiB of nine tenths of the fake GPU's one MiB would be none: one is the least.
    assert gpus.memory_bytes == gpus.pools[0].limit == 1 << 20
    held = device.empty(700 << 10, np.uint8)
    with pytest.raises(DeviceMemoryError) as refusal:
        device.empty((600, 1024), np.uint8)
    assert refusal.value.asked_bytes == 600 << 10
    assert refusal.value.free_bytes == (1 << 20) - held.nbytes
    del held
    assert device.empty((600, 1024), np.uint8).nbytes == 600 << 10


def test_memory_kept_for_other_threads_is_given_back_where_it_is_short(gpus, device):
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: device.empty(700 << 10, np.uint8) and None).result()
        assert device.empty(600 << 10, np.uint8).nbytes == 600 << 10


def test_room_is_asked_for_before_memory_is_refused(device):
    """Of one after the other; what they let go is wiped and lent again."""
    held = {"first": device.empty(500 << 10, np.uint8), "second": device.empty(300 << 10, np.uint8)}
    asked = []

    def let_go(name: str):
        def make_room(short: DeviceMemoryError) -> bool:
            asked.append((name, short.asked_bytes, short.free_bytes))
            return held.pop(name, None) is not None

        return make_room

    device.when_short(let_go("first"))
    device.when_short(let_go("second"))
    array = device.empty(900 << 10, np.uint8)
    assert array.nbytes == 900 << 10
    assert asked == [
        ("first", 900 << 10, 224 << 10),
        ("first", 900 << 10, 724 << 10),
        ("second", 900 << 10, 724 << 10),
    ]
    with pytest.raises(DeviceMemoryError):
        device.empty(900 << 10, np.uint8)
    assert [name for name, *_ in asked[3:]] == ["first", "second"]


def test_the_setting_limits_the_pool(gpus, monkeypatch):
    gpus.memory_bytes = 64 << 20
    assert gpus.open(0)._pool.limit == 57 << 20
    monkeypatch.setenv("HEKAT_CUDA_MIB", "3")
    assert gpus.open(0)._pool.limit == 3 << 20
    assert "hekat takes up to 3 MiB (HEKAT_CUDA_MIB=3)" in gpus.open(0).describe()["memory"]
    for wrong in ("0", "-1", "much", "1.5"):
        monkeypatch.setenv("HEKAT_CUDA_MIB", wrong)
        with pytest.raises(EngineError, match="HEKAT_CUDA_MIB is no size"):
            gpus.open(0)


# --- kernels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "threads", "blocks"), [(1, 1, 1), (128, 1, 1), (129, 1, 2), (32, 4, 1), (33, 4, 2), (5, 32, 2)]
)
def test_groups_fill_blocks(gpus, device, groups, threads, blocks):
    gpus.kernels["count"] = lambda *words: None
    device.run_groups("source/count", ("-DA=1",), groups, threads, 2**64 - 1)
    assert gpus.launches == [("count", blocks, 128, 0)]
    assert gpus.loaded == [b"source -DA=1 90"]


def test_nothing_is_launched_for_nothing(gpus, device):
    device.run_groups("source/count", (), 0, 4)
    device.run_blocks("source/count", (), 0, 256, 1024)
    assert gpus.launches == gpus.loaded == []


def test_blocks_get_the_shared_memory_they_ask_for(gpus, device):
    gpus.kernels["block"] = lambda *words: None
    device.run_blocks("source/block", (), 3, 256, 48 << 10)
    assert gpus.attributes == []
    device.run_blocks("source/block", (), 3, 256, 100 << 10, 5)
    assert gpus.attributes == [(77, 8, 100 << 10)]
    assert gpus.launches == [("block", 3, 256, 48 << 10), ("block", 3, 256, 100 << 10)]
    assert len(gpus.loaded) == 1


def test_shared_memory_that_another_thread_was_allowed_is_not_taken_back(gpus, device):
    gpus.kernels["block"] = lambda *words: None
    for kibibytes in (129, 65, 129, 49, 130):
        device.run_blocks("source/block", (), 1, 256, kibibytes << 10)
    # One that sets less between what another sets and launches would have its launch refused.
    assert gpus.attributes == [(77, 8, 129 << 10), (77, 8, 130 << 10)]
    device.run_blocks("source/block", ("-DHEKAT_PRIMES=2",), 1, 256, 65 << 10)
    assert gpus.attributes[2:] == [(77, 8, 65 << 10)]


def test_more_shared_memory_than_the_gpu_has_is_refused(gpus, device):
    with pytest.raises(EngineError, match=r"at most 200\.0 KiB") as caught:
        device.run_blocks("source/block", (), 1, 256, 201 << 10)
    assert "engine 'cpu'" in str(caught.value)
    assert gpus.attributes == gpus.launches == []


def test_kernels_take_contiguous_arrays_of_their_device(gpus, device):
    other = gpus.open(1).upload(SECRET)
    array = device.upload(SECRET)
    strided = ndarray((4,), np.uint32, array.data, strides=(8,))
    for wrong in (other, strided):
        with pytest.raises(AssertionError):
            device.run_groups("source/copy", (), 1, 1, wrong)
    assert gpus.launches == []


def test_what_cuda_reports_is_told(gpus, device):
    def fail(*_):
        raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    gpus.module.cuda.runtime.memcpyAsync = fail
    with pytest.raises(EngineError, match=r"cuda:0 reports an error.*cudaErrorIllegalAddress.*cure"):
        device.upload(SECRET)


def test_a_forked_process_is_told_to_start_anew(gpus, device, monkeypatch):
    def fail(*_):
        raise CUDARuntimeError("cudaErrorInitializationError: initialization error")

    gpus.module.cuda.runtime.memcpyAsync = fail
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    with pytest.raises(EngineError, match=r"forked.*'spawn'"):
        device.upload(SECRET)


def test_the_device_describes_itself(gpus):
    told = gpus.open(1).describe()
    assert told["device"] == "Fake GPU"
    assert told["compute capability"] == "9.0"
    assert told["cuda"] == "driver for 13.0; CuPy 14.0 for 13.0"
    assert told["resident"] == "0.0 MiB in use, 0.0 MiB kept for reuse"
    assert {"temperature", "load", "driver", "kernels"} <= set(told)


def test_a_cupy_that_is_newer_than_the_driver_is_refused(gpus, monkeypatch):
    monkeypatch.setattr(availability, "find_driver", lambda load=None: availability.Driver((12, 8), 2))
    with pytest.raises(EngineError, match=r"too old for the CuPy that is installed.*hekat\[cuda12\]"):
        gpus.open(0)


# --- what of this holds of CuPy itself -------------------------------------------------------------------

needs_cupy = pytest.mark.skipif(find_spec("cupy") is None, reason="needs hekat[cuda13]")


@needs_cupy
def test_the_fake_has_no_names_that_cupy_has_not():
    program = (
        "import cupy, sys\n"
        "for name in sys.argv[1:]:\n"
        "    found = cupy\n"
        "    for part in name.split('.'):\n"
        "        found = getattr(found, part)\n"
    )
    fake = FakeGpus(0).module
    names = [*(name for name in vars(fake) if not name.startswith("__")), "__version__"]
    for name, found in vars(fake.cuda).items():
        names += [f"cuda.{name}.{inner}" for inner in vars(found)] if isinstance(found, SimpleNamespace) else []
        names.append(f"cuda.{name}")
    # In a process of its own: here the name cupy belongs to the fake now and then.
    subprocess.run([sys.executable, "-c", program, *names], check=True, timeout=120)


@needs_cupy
def test_arrays_and_their_views_lead_to_the_owner_of_their_memory():
    program = (
        "import cupy, gc, weakref\n"
        "class Owner: pass\n"
        "owner = Owner()\n"
        "gone = weakref.ref(owner)\n"
        "whole = cupy.cuda.UnownedMemory(1 << 20, 512, owner, 0)\n"
        "array = cupy.ndarray((4, 8), 'uint32', cupy.cuda.MemoryPointer(whole, 0))\n"
        "view = array[1:3].reshape(-1).view('uint64')\n"
        "assert view.data.mem._owner is owner and view.data.ptr == (1 << 20) + 32 and view.data.device_id == 0\n"
        "assert view.flags.c_contiguous and not array.T.flags.c_contiguous and array.device.id == 0\n"
        "del owner, whole, array\n"
        "gc.collect()\n"
        "assert gone() is not None\n"
        "del view\n"
        "gc.collect()\n"
        "assert gone() is None\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
