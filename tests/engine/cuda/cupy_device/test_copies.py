"""Copies between `CupyDevice` and the host, and the page-locked buffers that they pass through."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.engine.cuda.cupy_device.device_work import SECRET
from tests.engine.cuda.cupy_device.fake_cupy import CUDARuntimeError, ndarray

from hekat.engine.cuda.memory.pinned_buffers import SMALLEST_BYTES, PinnedBuffers, Transfers

MODULE = "hekat.engine.cuda.cupy_device"


@pytest.mark.quick_values
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
