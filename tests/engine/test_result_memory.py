"""The memory of results: used again, never shared by two results, no more of it kept than is said."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.engine.result_memory import LEAST_BYTES, ResultMemory, room_for

SEED = 20261123
MIB = 1 << 20
ROW = 16  # limbs
ROWS = LEAST_BYTES // 8 // ROW  # of the smallest result that is lent
LENT_BYTES = LEAST_BYTES

Views = dict[str, Callable[[LimbArray], object]]
VIEWS: Views = {
    "slice": lambda a: a[5:],
    "slice of a slice": lambda a: a[5:][3:9][::2],
    "one row": lambda a: a[7],
    "reshape": lambda a: a.reshape(-1),
    "transpose of a reshape": lambda a: a.reshape(ROW, -1).T,
    "other type": lambda a: a.view(np.uint8),
    "broadcast": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "same array again": lambda a: np.asarray(a),
    "contiguous": lambda a: np.ascontiguousarray(a)[1:],
    "buffer": lambda a: np.frombuffer(a.data, np.uint64),
    "memoryview": lambda a: memoryview(a)[2:],
    "residues": lambda a: ResidueArray(CpuEngine(1), Modulus(7), a.shape[:-1], a),
}


@pytest.fixture
def memory() -> ResultMemory:
    return ResultMemory(8 * MIB)


def address(array: LimbArray) -> int:
    return int(array.ctypes.data)


def test_a_result_is_written_where_the_last_one_of_its_size_was(memory: ResultMemory) -> None:
    first = memory.empty((ROWS,), ROW)
    assert (first.shape, first.dtype, first.flags.c_contiguous, first.flags.writeable) == (
        (ROWS, ROW),
        np.uint64,
        True,
        True,
    )
    assert address(first) % 64 == 0, "at the start of a cache line"
    place = address(first)
    assert memory.kept_bytes == 0
    del first
    assert memory.kept_bytes == LENT_BYTES
    again = memory.empty((ROW, ROWS), 1)
    assert address(again) == place
    assert memory.kept_bytes == 0


def test_sizes_that_differ_a_little_share_and_others_do_not(memory: ResultMemory) -> None:
    words = 10 * ROWS * ROW
    place = address(memory.empty((words,), 1))
    assert address(memory.empty((words - words // 100,), 1)) == place
    kept = memory.kept_bytes
    for other in (words // 2, words - words // 6, words + words // 6, 2 * words):
        held = memory.empty((other,), 1)
        assert not place <= address(held) < place + kept
        assert memory.kept_bytes >= kept, "the one of another size still waits"


def test_no_buffer_is_more_than_an_eighth_too_large() -> None:
    rng = np.random.default_rng(SEED)
    sizes = [1, 7, 8, 9, 2**16 - 1, 2**16, 2**16 + 1, *rng.integers(1, 2**40, 1000).tolist()]
    for words in sizes:
        assert words <= room_for(words) <= words + words // 8, words
    assert len({room_for(words) for words in range(4096, 8192)}) <= 9


@pytest.mark.quick_cases("slice of a slice", "buffer", "residues", "transpose of a reshape")
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_keeps_the_memory(memory: ResultMemory, view: str) -> None:
    whole = memory.empty((ROWS,), ROW)
    whole[:] = 7
    kept_by = VIEWS[view](whole)
    del whole
    gc.collect()
    assert memory.kept_bytes == 0
    other = memory.empty((ROWS,), ROW)
    other[:] = 8
    data = kept_by.data if isinstance(kept_by, ResidueArray) else kept_by
    seen = np.asarray(data)
    assert not np.shares_memory(seen, other)
    words = seen.view(np.uint64) if seen.flags.c_contiguous else seen
    assert words.size
    assert (words == 7).all()
    del kept_by, data, seen, words
    gc.collect()
    assert memory.kept_bytes == LENT_BYTES


def test_a_copy_does_not_keep_the_memory(memory: ResultMemory) -> None:
    whole = memory.empty((ROWS,), ROW)
    whole[:] = 7
    copy = whole.copy()
    del whole
    memory.empty((ROWS,), ROW)[:] = 8
    assert (copy == 7).all()


def test_no_more_than_the_limit_is_kept_and_the_oldest_goes_first(memory: ResultMemory) -> None:
    count = memory.limit_bytes // LENT_BYTES
    results = [memory.empty((ROWS,), ROW) for _ in range(count + 3)]
    places = [address(result) for result in results]
    while results:
        results.pop(0)
        assert memory.kept_bytes <= memory.limit_bytes
    assert memory.kept_bytes == memory.limit_bytes
    held = [memory.empty((ROWS,), ROW) for _ in range(count)]
    assert [address(result) for result in held] == places[:2:-1], "the newest first"
    large = memory.empty((7 * ROWS,), 2 * ROW)
    del held, large
    assert memory.kept_bytes == 7 * MIB + 2 * LENT_BYTES, "what came back last, and of the others what still fits"


def test_what_is_small_or_beyond_the_limit_is_not_kept(memory: ResultMemory) -> None:
    for words in (0, 1, LEAST_BYTES // 8 - 1, memory.limit_bytes // 8 + 1):
        result = memory.empty((words,), 1)
        assert result.shape == (words, 1)
        del result
        assert memory.kept_bytes == 0
    memory.empty((ROWS,), ROW)
    memory.empty((memory.limit_bytes // 8 + 1,), 1)
    assert memory.kept_bytes == LENT_BYTES, "what can never be kept drives nothing out"
    memory.empty((memory.limit_bytes // 8,), 1)
    assert memory.kept_bytes == memory.limit_bytes


def test_a_buffer_that_another_thread_took_first_is_not_lent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = ResultMemory(8 * MIB)
    taken: list[LimbArray] = []

    class Raced(dict[tuple[int, int], LimbArray]):
        """Before anything is taken out, somebody else takes it."""

        def pop(self, *arguments: Any) -> Any:
            if not taken:
                taken.append(np.empty(0, np.uint64))
                taken.append(memory.empty((ROWS,), ROW))
            return super().pop(*arguments)

    monkeypatch.setattr(memory, "_kept", Raced())
    place = address(memory.empty((ROWS,), ROW))
    late = memory.empty((ROWS,), ROW)
    assert address(taken[1]) == place
    assert not np.shares_memory(late, taken[1])


def test_threads_never_share_memory(memory: ResultMemory) -> None:
    thread_count, turns = 4, 8000
    owners: dict[int, int] = {}
    shared: list[int] = []
    start = threading.Barrier(thread_count)

    def work(number: int) -> None:
        rng = np.random.default_rng([SEED, number])
        held: list[LimbArray] = []
        start.wait()
        for _ in range(turns):
            result = memory.empty((ROWS + 512 * int(rng.integers(2)),), ROW)
            if owners.setdefault(address(result), number) != number or any(
                address(result) == address(other) for other in held
            ):
                shared.append(number)
            held.append(result)
            del result
            if len(held) > 1:
                del owners[address(held[0])]
                del held[0]
        for result in held:
            del owners[address(result)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(thread_count)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert not shared
    assert not owners
    assert 0 < memory.kept_bytes <= memory.limit_bytes


@pytest.fixture
def eager_collector() -> Iterator[None]:
    """Garbage is collected at every chance there is."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("eager_collector")
def test_memory_comes_back_in_the_middle_of_a_garbage_collection(memory: ResultMemory) -> None:
    held: list[LimbArray] = []
    for turn in range(200):
        result = memory.empty((ROWS,), ROW)
        result[:, 0] = turn
        cycle: list[object] = [memory.empty((ROWS + 512 * (turn % 3),), ROW)]
        cycle.append(cycle)
        del cycle
        held = [*held[-3:], result]
        assert [int(array[0, 0]) for array in held] == list(range(turn - len(held) + 1, turn + 1))
        assert memory.kept_bytes <= memory.limit_bytes
    gc.collect()
    assert memory.kept_bytes > 0


def test_results_outlive_the_memory_they_came_from() -> None:
    memory = ResultMemory(8 * MIB)
    result = memory.empty((ROWS,), ROW)
    result[:] = 9
    del memory
    gc.collect()
    assert (result == 9).all()


AT_EXIT = """
from hekat.engine.result_memory import ResultMemory
memory = ResultMemory(1 << 23)
held = [memory.empty((1 << 13,), 16) for _ in range(4)]
held.append(held)
view = memory.empty((1 << 13,), 16)[3:]
del memory
"""


def test_the_end_of_a_process_is_quiet() -> None:
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True)
    assert done.stderr == ""


# --- in the engine -------------------------------------------------------------------------------------

MODULUS = Modulus((1 << 521) - 1)
ROOT = (1 << 255) - 19
SQUARE = Modulus(ROOT * ROOT, root=ROOT)
COUNT = 3 * LEAST_BYTES // 2 // (8 * MODULUS.limb_count)
FACTORS = 4


def values() -> LimbArray:
    limbs = np.random.default_rng(SEED).integers(1, 2**64, (COUNT, MODULUS.limb_count), np.uint64)
    limbs[:, -1] = 1
    return limbs


def residues_of_every_operation(engine: CpuEngine, limbs: LimbArray) -> dict[str, ResidueArray]:
    """A large result of each operation that gives residues."""
    a = engine.load(limbs, MODULUS)
    many = engine.concatenate([a] * FACTORS)
    exponents = limbs[:, :1] >> np.uint64(56)
    ones = np.concatenate([limbs[:, :7], limbs[:, -1:]], axis=1)
    plain = np.concatenate([limbs[:, :3], limbs[:, -1:]], axis=1)
    table = engine.fixed_base_table(limbs[0], MODULUS, 64, 4)
    return {
        "load": a,
        "reduce": engine.reduce(np.concatenate([limbs, limbs], axis=1), MODULUS),
        "take": engine.take(a, np.arange(COUNT)[::-1].copy()),
        "concatenate": many,
        "mod_mul": engine.mod_mul(a, a),
        "mod_mul_one_plus": engine.mod_mul_one_plus(engine.load(ones, SQUARE), plain),
        "mod_exp": engine.mod_exp(a, exponents),
        "mod_exp_vartime": engine.mod_exp_vartime(a, exponents),
        "mod_exp_fixed": engine.mod_exp_fixed(table, limbs[:, :1]),
        "mod_product": engine.mod_product(engine.reshape(many, (FACTORS, COUNT)), 0),
        "mod_segment_product": engine.mod_segment_product(many, np.arange(FACTORS * COUNT) % COUNT, COUNT),
        "mod_multi_exp": engine.mod_multi_exp(engine.take(a, np.arange(2)), np.stack([exponents, exponents])),
        "mod_inv": engine.mod_inv(a),
    }


def test_every_operation_writes_all_of_a_used_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = CpuEngine(2)
    monkeypatch.setenv("HEKAT_TABLE_MIB", "1")
    fresh = CpuEngine(2)
    assert fresh._results.limit_bytes < LEAST_BYTES, "its results are always on new memory"
    limbs = values()
    wanted = {name: fresh.store(result) for name, result in residues_of_every_operation(fresh, limbs).items()}
    for dirt in (0, 2**64 - 1):
        # Every buffer that an operation can get holds dirt.
        held = residues_of_every_operation(engine, limbs)
        for result in held.values():
            result.data[:] = dirt
        del held, result
        kept = engine._results.kept_bytes
        assert kept > 0
        results = residues_of_every_operation(engine, limbs)
        assert engine._results.kept_bytes < kept
        for name, result in results.items():
            assert np.array_equal(engine.store(result), wanted[name]), name
        del results, result


def test_results_of_residues_come_back_and_integers_do_not() -> None:
    engine = CpuEngine(1)
    memory = engine._results
    limbs = values()
    for name, result in residues_of_every_operation(engine, limbs).items():
        assert type(result.data.base).__name__ == "_Loan", name
    del result
    a = engine.load(limbs, MODULUS)
    kept = memory.kept_bytes
    integers = [engine.store(a), engine.int_add(limbs, limbs), engine.int_mul(limbs, limbs)]
    integers += [engine.int_sub(limbs, limbs)[0], *engine.int_divmod(limbs, limbs)]
    assert all(integer.nbytes >= LEAST_BYTES for integer in integers)
    del integers
    assert memory.kept_bytes == kept


def test_the_share_of_the_cap_is_an_eighth_and_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEKAT_TABLE_MIB", "64")
    engine = CpuEngine(1)
    assert engine._results.limit_bytes == 8 * MIB
    a = engine.load(values(), MODULUS)
    size = room_for(a.data.size) * 8
    assert engine.describe()["table memory"].endswith("; 8 for results to reuse, 0.0 kept")
    del a
    assert engine._results.kept_bytes == size
    assert engine.describe()["table memory"].endswith(f"; 8 for results to reuse, {size / MIB:.1f} kept")


def test_refused_values_leave_nothing_behind() -> None:
    engine = CpuEngine(1)
    limbs = values()
    limbs[COUNT - 1] = limbs_from_ints([MODULUS.value], MODULUS.limb_count)[0]
    with pytest.raises(Exception, match="is not below its modulus"):
        engine.load(limbs, MODULUS)
    gc.collect()
    assert engine._results.kept_bytes > 0, "the memory of the refused result came back"
