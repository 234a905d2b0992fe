"""The engine over several: who takes what, tables made when needed, errors of one engine, and no silent fallback."""

from __future__ import annotations

import gc
import weakref
from itertools import count
from threading import Barrier, Thread

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice
from tests.engine.spread.conftest import N, TellingEngine, make_spread

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.spread.engine import SpreadEngine
from hekat.engine.spread.pool import Asynchronous
from hekat.errors import EngineError, InputError

BASE = limbs_from_ints([3], N.limb_count)[0]


def exponents(number):
    return limbs_from_ints(range(number), 1)


def test_a_small_batch_goes_whole_to_the_engine_that_is_free_first():
    spread = make_spread(least_work=8 * N.limb_count)
    assert spread.owners(spread.load([5] * 7)) == [0] * 7
    spread.engine._pool.workload.give(0, 1)
    assert spread.owners(spread.load([5] * 7)) == [1] * 7
    assert spread.owners(spread.load([5] * 8)) == [0] * 4 + [1] * 4


def test_round_robin_takes_turns_and_cuts_equally():
    spread = make_spread(least_work=8 * N.limb_count, policy="round_robin")
    measure(spread.engine, 1, 9)
    assert [spread.owners(spread.load([5]))[0] for _ in range(4)] == [0, 1, 0, 1]
    assert spread.owners(spread.load([5] * 8)) == [0] * 4 + [1] * 4


def test_a_batch_is_cut_by_measured_speeds(spread):
    measure(spread.engine, 1, 3)
    assert spread.owners(spread.load([5] * 8)) == [0] * 2 + [1] * 6


def test_speeds_are_measured_by_operations():
    """The clock moves by a second at each look, so that busy times say how often each member worked, not how long."""
    moments = count()
    spread = make_spread(clock=lambda: float(next(moments)))
    a = spread.load([5] * 8)
    for _ in range(3):
        spread.engine.mod_mul(a, a)
    first, second = spread.engine.loads()
    assert (first.chunks, first.items, first.waiting) == (second.chunks, second.items, second.waiting) == (4, 16, 0)
    assert min(first.busy_seconds, second.busy_seconds) >= 4
    assert ("mod_mul", N.limb_count) in spread.engine._pool.workload._seen


def measure(engine, *rates):
    """As if an operation of so many seconds had run at these rates, twice."""
    for _ in range(2):
        engine._pool.workload.observe("power", dict(enumerate(rates)), dict.fromkeys(range(len(rates)), 100.0))


# --- tables ------------------------------------------------------------------------------------------------


def test_a_member_makes_its_table_when_it_needs_it():
    spread = make_spread(least_work=100 * N.limb_count * 10)
    table = spread.engine.fixed_base_table(BASE, N, 40, 4)
    assert list(table.data.made) == [0]
    # A small batch goes to a member that has the table, whoever is free.
    spread.engine._pool.workload.give(0, 1000)
    assert spread.owners(spread.engine.mod_exp_fixed(table, exponents(99))) == [0] * 99
    assert list(table.data.made) == [0]
    for _ in range(2):
        found = spread.engine.mod_exp_fixed(table, exponents(100))
    assert spread.owners(found) == [0] * 50 + [1] * 50
    assert ints_from_limbs(spread.engine.store(found)) == [pow(3, e, N.value) for e in range(100)]
    assert [member.operations.count("fixed_base_table") for member in spread.members] == [1, 1]


def test_all_tables_have_the_window_asked_for_or_each_its_own(spread):
    for asked in (3, None):
        table = spread.engine.fixed_base_table(BASE, N, 40, asked, uses=9, constant_time=False)
        spread.engine.mod_exp_fixed(table, exponents(10))
        made = table.data.made
        assert [made[member].engine for member in (0, 1)] == spread.members
        assert {t.constant_time for t in made.values()} == {table.constant_time} == {False}
        assert {t.window_bits for t in made.values()} == {table.window_bits}
        assert asked in (None, table.window_bits)


def test_two_threads_make_one_table_a_member(spread):
    table, both, results = spread.engine.fixed_base_table(BASE, N, 40), Barrier(2, timeout=30), []

    def power():
        both.wait()
        results.append(ints_from_limbs(spread.engine.store(spread.engine.mod_exp_fixed(table, exponents(10)))))

    threads = [Thread(target=power) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[3**e for e in range(10)]] * 2
    assert spread.members[1].operations.count("fixed_base_table") == 1


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "named"), [([7], 7), ([5, 2], 2), ([6, 7], 6), ([0, 4], 0)])
def test_a_refusal_names_the_index_in_the_whole_batch(spread, bad, named):
    values = [1] * 8
    for index in bad:
        values[index] = N.root
    not_below = limbs_from_ints([N.value if value != 1 else 1 for value in values], N.limb_count)
    not_root = limbs_from_ints(values, 2)
    a, ones = spread.load(values), spread.load([1] * 8)
    table = spread.engine.fixed_base_table(BASE, N, 4)
    wide = limbs_from_ints([16 if value != 1 else 1 for value in values], 1)
    signs = np.array([[value != 1] for value in values])
    for action, text in [
        (lambda: spread.engine.load(not_below, N), str(named)),
        (lambda: spread.engine.mod_mul_one_plus(ones, not_root), str(named)),
        (lambda: spread.engine.mod_inv(a), str(named)),
        (lambda: spread.engine.mod_inv(spread.engine.reshape(a, (4, 2))), f"({named // 2}, {named % 2})"),
        (lambda: spread.engine.mod_exp_fixed(table, wide), str(named)),
        (lambda: spread.engine.mod_multi_exp(a, limbs_from_ints([2] * 8, 1)[:, None], signs), str(named)),
    ]:
        with pytest.raises(InputError) as refusal:
            action()
        assert f"index {text} " in str(refusal.value)
        assert refusal.value.index == named
    assert [load.waiting for load in spread.engine.loads()] == [0, 0]


@pytest.mark.parametrize("member", [0, 1])
def test_a_member_that_fails_is_an_error_and_no_other_takes_over(spread, member):
    a = spread.load([5] * 8)
    spread.members[member].fails = "mod_mul"
    with pytest.raises(EngineError, match="mod_mul is broken"):
        spread.engine.mod_mul(a, a)
    assert spread.members[1 - member].operations.count("mod_mul") == 1
    assert [load.waiting for load in spread.engine.loads()] == [0, 0]
    spread.members[member].fails = None
    assert ints_from_limbs(spread.engine.store(spread.engine.mod_mul(a, a))) == [25] * 8


def test_an_interrupt_is_raised_when_all_members_have_ended(spread):
    ended = []
    both = Barrier(2, timeout=30)

    def interrupted(engine):
        both.wait()
        raise KeyboardInterrupt

    def work(engine):
        both.wait()
        ended.append(engine)

    with pytest.raises(KeyboardInterrupt):
        spread.engine._pool.run({0: interrupted, 1: work}, {0: 1, 1: 1})
    assert ended == [spread.members[1]]


def test_engines_that_return_early_are_waited_for_where_work_is_cut():
    class EarlyEngine(TellingEngine):
        waited = 0

        def synchronize(self):
            self.waited += 1

    members = [CpuEngine(1), EarlyEngine()]
    engine = SpreadEngine(members, least_work=8)
    one, many = engine.load(np.ones((1, 1), np.uint64), N), engine.load(np.ones((8, 1), np.uint64), N)
    before = members[1].waited
    engine.mod_mul(many, many)
    assert members[1].waited == before + 1
    engine.mod_mul(one, one)
    assert members[1].waited == before + 1


# --- the engine as a whole ---------------------------------------------------------------------------------


def test_members_work_at_the_same_time(spread):
    both = Barrier(2, timeout=30)
    spread.engine._pool.run({member: lambda engine: both.wait() for member in (0, 1)}, {0: 1, 1: 1})


def test_it_is_made_of_two_engines_or_more_of_one_tenancy(monkeypatch):
    for members in ([], [CpuEngine(1)]):
        with pytest.raises(EngineError, match="nothing to spread over"):
            SpreadEngine(members)
    with pytest.raises(EngineError, match="differ in whether others run code"):
        SpreadEngine([CpuEngine(1), CpuEngine(1, single_tenant=True)])
    assert SpreadEngine([CpuEngine(1, single_tenant=True)] * 2).single_tenant
    monkeypatch.setenv("HEKAT_SCHEDULE", "both")
    with pytest.raises(EngineError, match="HEKAT_SCHEDULE names no way"):
        SpreadEngine([CpuEngine(1), CpuEngine(1)])


def test_describe_shows_each_member_and_its_load(spread, monkeypatch):
    monkeypatch.delenv("HEKAT_SCHEDULE", raising=False)
    spread.load([5] * 8)
    described = spread.engine.describe()
    assert spread.engine.name == "cpu+cpu"
    assert described["schedule"] == "least_loaded (the default)"
    assert described["shares"] == "cpu 50%, cpu (2) 50%"
    assert described["cpu: load"].startswith("1 chunks of 4 items in ")
    assert described["cpu (2): load"].startswith("1 chunks of 4 items in ")
    assert described["cpu (2): threads"] == "1 (asked for)"


def test_a_chunk_holds_as_much_as_all_engines_work_on_at_once(spread):
    alone = CpuEngine(1).chunk_plan.abreast
    assert spread.engine.chunk_plan == ChunkPlan(2, 2, 2 * alone)
    gpu = CudaEngine(EmulatedDevice())
    plan = gpu.chunk_plan
    assert plan.abreast == 32
    assert SpreadEngine([CpuEngine(1), gpu]).chunk_plan == ChunkPlan(
        1 + plan.factor * plan.in_flight, 2, alone + plan.abreast
    )


def test_a_gpu_is_waited_for():
    assert isinstance(CudaEngine(EmulatedDevice()), Asynchronous)
    assert not isinstance(CpuEngine(1), Asynchronous)


@pytest.mark.parametrize("member", [0, 1])
def test_an_error_that_is_let_go_holds_no_operands(spread, member):
    a = spread.load([5] * 8)
    part = weakref.ref(a.data.of[1])
    spread.members[member].fails = "mod_mul"
    gc.disable()
    try:
        with pytest.raises(EngineError, match="is broken"):
            spread.engine.mod_mul(a, a)
        del a
        assert part() is None
    finally:
        gc.enable()


def test_a_thread_that_cannot_be_started_is_an_error_and_nothing_waits(spread, monkeypatch):
    a = spread.load([5] * 8)

    def refuse(self, *arguments):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("hekat.engine.spread.pool.ThreadPoolExecutor.submit", refuse)
        with pytest.raises(EngineError, match=r"thread of an engine cannot be started.*cpu \(2\).*start new thread"):
            spread.engine.mod_mul(a, a)
    assert [load.waiting for load in spread.engine.loads()] == [0, 0]
    assert ints_from_limbs(spread.engine.store(spread.engine.mod_mul(a, a))) == [25] * 8
