"""Results on a device: the longest unused move to the host where memory is short, and come back as they were."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.device import DeviceMemoryError
from hekat.engine.cuda.memory.residency import Residency, Rows, _Moved
from hekat.engine.cuda.memory.table_memory import CUDA_MEMORY_VARIABLE, DeviceTableMemory
from hekat.errors import EngineError, InputError

KIB = 1 << 10
MIB = 1 << 20


def make(memory_bytes: int = 8 * KIB, streams: int | None = None) -> tuple[EmulatedDevice, Residency]:
    device = EmulatedDevice(memory_bytes=memory_bytes, streams=streams)
    return device, Residency(device)


def keep(residency: Residency, value: int, byte_count: int = 2 * KIB) -> Rows:
    return residency.keep(residency.device.upload(np.full((byte_count // 64, 16), value, np.uint32)))


def value_of(rows: Rows) -> int:
    """The value that `keep` filled rows with, all of which hold it."""
    values = np.unique(rows._residency.device.download(rows.on_device()))
    assert values.size == 1
    return int(values[0])


def test_rows_stay_while_there_is_room() -> None:
    device, residency = make()
    kept = [keep(residency, value) for value in range(4)]
    assert device.live_bytes == device.memory_bytes
    assert [value_of(rows) for rows in kept] == [0, 1, 2, 3]
    assert (kept[0].shape, kept[0].nbytes, len(kept[0])) == ((32, 16), 2 * KIB, 32)
    assert residency.describe() == {
        "resident results": "4 arrays, 0.0 MiB",
        "results moved to the host": "0 arrays, 0.0 MiB; moved out 0 times, back 0 times",
    }


def test_the_longest_unused_move_out_and_come_back() -> None:
    device, residency = make()
    kept = [keep(residency, value) for value in range(4)]
    kept[0].on_device()
    new = keep(residency, 4, 4 * KIB)
    assert [rows.is_on_device for rows in kept] == [True, False, False, True]
    assert residency.describe()["results moved to the host"] == "2 arrays, 0.0 MiB; moved out 2 times, back 0 times"
    assert value_of(kept[1]) == 1
    # For it the one that was unused for longest then made room: not the one used in between.
    assert [rows.is_on_device for rows in kept] == [True, True, False, False]
    assert [value_of(rows) for rows in [*kept, new]] == [0, 1, 2, 3, 4]
    assert device.live_bytes <= device.memory_bytes


def test_rows_that_nobody_keeps_are_freed_and_not_moved() -> None:
    device, residency = make()
    kept = [keep(residency, value) for value in range(4)]
    del kept[1:]
    gc.collect()
    assert device.live_bytes == 2 * KIB
    assert device.wiped_bytes == 6 * KIB
    keep(residency, 5, 6 * KIB)
    assert kept[0].is_on_device


def test_what_is_worked_on_stays_and_is_found_again() -> None:
    device, residency = make()
    rows = keep(residency, 7, 4 * KIB)
    held = rows.on_device()
    with pytest.raises(DeviceMemoryError):
        device.empty(6 * KIB, np.uint8)
    assert not rows.is_on_device  # moved in vain: who holds it keeps it
    assert (device.download(held) == 7).all()
    assert rows.on_device() is held
    assert residency.describe()["results moved to the host"].endswith("moved out 1 times, back 0 times")


def test_both_copies_are_wiped() -> None:
    device, residency = make()
    rows = keep(residency, 7, 6 * KIB)
    storage = rows.on_device().base.base.storage
    assert storage.any()
    other = device.empty(6 * KIB, np.uint8)
    assert not storage.any()
    assert isinstance(rows._place, _Moved)
    copy = rows._place.host
    assert (copy == 7).all()
    del other
    assert value_of(rows) == 7
    assert not copy.any()
    device.empty(6 * KIB, np.uint8)
    assert isinstance(rows._place, _Moved)
    copy = rows._place.host
    assert (copy == 7).all()
    del rows
    assert not copy.any()


def test_more_than_there_is_says_what_would_fit() -> None:
    device, residency = make()
    rows = keep(residency, 1, 2 * KIB)
    message = (
        r"emulated:0 is out of memory; expected at most 0\.0 MiB: the rest is in use; got 0\.0 MiB; "
        r"cure: work in batches of at most 64% of this size, end what else uses this device, or compute on the CPU"
    )
    with pytest.raises(DeviceMemoryError, match=message) as refused:
        device.empty((150, 64), np.uint8)
    # More than the device has: none moved for it.
    assert rows.is_on_device
    assert "0.0 MiB for 150 items; cure: work in batches of at most 96 items, " in str(refused.value.for_items(150))
    held = device.empty((64, 64), np.uint8)
    with pytest.raises(DeviceMemoryError, match="of at most 98% of"):
        device.empty((65, 64), np.uint8)
    device.empty((64, 64), np.uint8)
    assert not rows.is_on_device
    del held


def test_functions_on_arrays_make_room_too() -> None:
    device, residency = make()
    rows = keep(residency, 3, 4 * KIB)
    ones = device.upload(np.ones(KIB // 2, np.uint64))
    assert rows.is_on_device
    assert int((ones + ones)[5]) == 2
    assert not rows.is_on_device
    assert value_of(rows) == 3


def test_a_host_out_of_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    device, residency = make()
    rows = keep(residency, 3, 6 * KIB)

    def fail(_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(device, "download", fail)
        with pytest.raises(EngineError, match="and so is the host"):
            device.empty(6 * KIB, np.uint8)
    assert value_of(rows) == 3


@pytest.mark.parametrize("seed", range(6))
def test_threads_that_are_short_at_once_corrupt_nothing(seed: int) -> None:
    device, residency = make(16 * KIB, streams=seed)
    shared = [keep(residency, value, KIB) for value in range(24)]
    start = threading.Barrier(3)

    def work(number: int) -> list[int]:
        choose = np.random.default_rng([seed, number])
        own: list[tuple[int, Rows]] = []
        wrong = []
        start.wait()
        for _ in range(60):
            i, j = (int(x) for x in choose.integers(len(shared), size=2))
            with device.active():
                total = shared[i].on_device() + shared[j].on_device()
            own.append((i + j, residency.keep(total)))
            value, rows = own[int(choose.integers(len(own)))]
            if value_of(rows) != value:
                wrong.append(value)
            if len(own) > 8:
                del own[int(choose.integers(len(own)))]
        return wrong

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(3))) == [[], [], []]
    assert [value_of(rows) for rows in shared] == list(range(24))
    assert residency._moved_out_count > residency._brought_back_count > 24
    assert device.live_bytes <= device.memory_bytes


def test_tables_take_a_quarter_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device, residency = make(16 * MIB)
    rows = keep(residency, 3, 15 * MIB)
    memory = DeviceTableMemory(device)
    assert str(memory) == "4 MiB at most (the default), 0.0 in use"
    asked = {"window_bits": None, "widest_bits": 12, "uses": 10**9}

    def words_for(window: int) -> int:
        return 16 << window

    window, table = memory.allocate(400, words_for, **asked)
    # Half of what is free is left to others; results make room.
    assert (window, table.nbytes, table.dtype) == (12, 8 * words_for(12), np.uint32)
    assert device.owns(table)
    assert rows.is_on_device
    second = memory.allocate(400, lambda window: 4 * words_for(window), **asked)[1]
    assert not rows.is_on_device
    assert memory.used_bytes == table.nbytes + second.nbytes <= memory.table_bytes
    with pytest.raises(InputError, match=rf"at most 2\.5 MiB: 4\.0 MiB less 1\.5 .* raise {CUDA_MEMORY_VARIABLE}, "):
        memory.allocate(400, lambda window: words_for(15), **asked)
    del table
    gc.collect()
    assert memory.used_bytes == second.nbytes
    monkeypatch.setenv(CUDA_MEMORY_VARIABLE, "8")
    assert str(DeviceTableMemory(device)) == "8 MiB at most (HEKAT_CUDA_TABLE_MIB=8), 0.0 in use"
    monkeypatch.setenv(CUDA_MEMORY_VARIABLE, "much")
    with pytest.raises(EngineError, match=r"HEKAT_CUDA_TABLE_MIB is no size.*cure: set .* unset it for 4"):
        DeviceTableMemory(device)


def test_a_table_that_the_device_has_no_room_for_is_refused_as_one_beyond_the_cap() -> None:
    device, _ = make(2 * MIB)
    memory = DeviceTableMemory(device)  # 1 MiB, the least
    held = device.empty(3 * MIB // 2, np.uint8)
    message = (
        r"does not fit into the memory of emulated:0; expected at most 0\.5 MiB.*; got 0\.8 MiB; .* let go of keys"
    )
    with pytest.raises(InputError, match=message):
        memory.allocate(400, lambda window: 3 * MIB // 32, window_bits=5, widest_bits=12, uses=1)
    assert memory.used_bytes == 0
    del held
    assert memory.allocate(400, lambda window: 3 * MIB // 32, window_bits=5, widest_bits=12, uses=1)[0] == 5
