"""`CupyDevice` on late streams: what waits for what, and that no memory keeps what lay in it."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from tests.engine.cuda.cupy_device.device_work import SECRET, copy, in_a_thread
from tests.engine.cuda.cupy_device.fake_cupy import Memory, MemoryPointer, ndarray, view

MODULE = "hekat.engine.cuda.cupy_device"


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
