"""The scheduler: the same result as one call, each chunk once, progress, and a clean end on errors."""

from __future__ import annotations

from itertools import count as count_from
from threading import Barrier, Event, Lock, Thread, current_thread, main_thread
from threading import enumerate as enumerate_threads

import numpy as np
import pytest

from hekat.engine import scheduler as scheduler_module
from hekat.engine.interface import Modulus
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.engine.scheduler import ChunkQueue, Scheduler, cut_evenly, cut_falling
from hekat.engine.workload import LEAST_LOADED, ROUND_ROBIN, EngineLoad, Workload
from hekat.errors import EngineError, InputError

MODULUS = Modulus(2**127 - 1)


def powers(base_limbs, exponents):
    """The chunk function of base^exponent: load the slice, compute in the engine given, store."""

    def function(engine, chunk):
        return engine.store(engine.mod_exp(engine.load(base_limbs[chunk], MODULUS), exponents[chunk]))

    return function


@pytest.mark.quick_values
@pytest.mark.parametrize("engine_count", [1, 2, 3])
@pytest.mark.parametrize("chunk_count", [1, 2, 7, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 9, 50])
def test_chunks_join_to_what_one_call_gives(engine_count, chunk_count, count):
    bases = limbs_from_ints([pow(3, i + 100, MODULUS.value) for i in range(count)], 2)
    exponents = limbs_from_ints([7**i % 2**64 for i in range(count)], 1)
    function = powers(bases, exponents)
    scheduler = Scheduler([ReferenceEngine() for _ in range(engine_count)], chunk_count)
    found = scheduler.run(function, count)
    np.testing.assert_array_equal(found, function(ReferenceEngine(), slice(0, count)), strict=True)


@pytest.mark.parametrize("engine_count", [1, 2])
def test_every_element_is_worked_on_once_and_progress_adds_up(engine_count):
    seen, steps, lock = [], [], Lock()

    def function(engine, chunk):
        with lock:
            seen.extend(range(chunk.start, chunk.stop))
        return np.zeros((chunk.stop - chunk.start, 1), np.uint64)

    def progress(done, total):
        assert current_thread() is main_thread()
        steps.append((done, total))

    Scheduler([ReferenceEngine() for _ in range(engine_count)], 5).run(function, 23, progress)
    assert sorted(seen) == list(range(23))
    assert len(steps) == 5
    assert steps == sorted(steps)
    assert steps[-1] == (23, 23)


def test_engines_work_at_the_same_time():
    both = Barrier(2, timeout=30)
    engines = [ReferenceEngine(), ReferenceEngine()]
    used = []

    def function(engine, chunk):
        both.wait()
        used.append(engine)
        return np.zeros((1, 1), np.uint64)

    Scheduler(engines, 2).run(function, 2)
    assert {id(engine) for engine in used} == {id(engine) for engine in engines}


def test_a_busy_engine_is_passed_over():
    """One engine is held in its first chunk until the other has done all the rest."""
    slow, quick = ReferenceEngine(), ReferenceEngine()
    rest_done = Event()
    done_by = {id(slow): 0, id(quick): 0}

    def function(engine, chunk):
        if engine is slow:
            assert rest_done.wait(30)
        done_by[id(engine)] += 1
        if done_by[id(quick)] == 9:
            rest_done.set()
        return np.zeros((1, 1), np.uint64)

    Scheduler([slow, quick], 10).run(function, 10)
    assert (done_by[id(slow)], done_by[id(quick)]) in {(1, 9), (0, 10)}


@pytest.mark.quick_values
@pytest.mark.parametrize("engine_count", [1, 2])
@pytest.mark.parametrize("error_class", [InputError, KeyboardInterrupt])
def test_an_error_in_a_chunk_ends_the_run(engine_count, error_class):
    started, lock = [], Lock()

    def function(engine, chunk):
        with lock:
            started.append(chunk.start)
        if chunk.start == 3:
            raise error_class("stop here")
        return np.zeros((1, 1), np.uint64)

    with pytest.raises(error_class, match="stop here"):
        Scheduler([ReferenceEngine() for _ in range(engine_count)], 50_000).run(function, 50_000)
    assert 3 in started
    assert len(started) < 50_000
    assert not [thread for thread in enumerate_threads() if thread.name.startswith("hekat-")]


@pytest.mark.parametrize("engine_count", [1, 2])
def test_an_interrupt_between_chunks_ends_the_run(engine_count):
    def function(engine, chunk):
        return np.zeros((1, 1), np.uint64)

    def progress(done, total):
        if done == 2:
            raise KeyboardInterrupt

    calls = []
    scheduler = Scheduler([ReferenceEngine() for _ in range(engine_count)], 10)
    with pytest.raises(KeyboardInterrupt):
        scheduler.run(lambda engine, chunk: calls.append(chunk) or function(engine, chunk), 10, progress)
    assert len(calls) == 2 if engine_count == 1 else len(calls) >= 2


@pytest.mark.parametrize(("engines", "chunk_count", "error_class"), [([], 4, EngineError), ([1], 0, InputError)])
def test_a_scheduler_needs_an_engine_and_a_chunk(engines, chunk_count, error_class):
    with pytest.raises(error_class, match="expected"):
        Scheduler(engines, chunk_count)


def test_a_negative_batch_is_refused():
    with pytest.raises(InputError, match="negative length"):
        Scheduler([ReferenceEngine()]).run(lambda engine, chunk: np.zeros((0, 1), np.uint64), -1)


@pytest.mark.parametrize(("count", "chunk_count"), [(0, 4), (1, 3), (7, 7), (9, 7), (23, 5), (4096, 16), (10**6, 50)])
def test_chunks_fall_and_make_up_the_batch(count, chunk_count):
    chunks = cut_falling(count, chunk_count)
    assert [i for chunk in chunks for i in (chunk.start, chunk.stop)][1:-1:2] == [chunk.start for chunk in chunks[1:]]
    assert (chunks[0].start, chunks[-1].stop) == (0, count)
    sizes = [chunk.stop - chunk.start for chunk in chunks]
    assert len(sizes) == len(cut_evenly(count, chunk_count))
    assert sizes == sorted(sizes, reverse=True)
    assert count == 0 or sizes[-1] >= max(1, count // len(sizes) // 4)


def end_times(sizes, speeds, policy=LEAST_LOADED):
    """When each engine of `speeds` (items a second) ends, and the chunks it took, by a clock that only work moves."""
    now = [0.0]
    workload = Workload(["engine"] * len(speeds), lambda: now[0])
    queue = ChunkQueue(sizes, workload, policy)
    ends, taken, at_work = [0.0] * len(speeds), [[] for _ in speeds], []
    free = list(range(len(speeds)))
    while free or at_work:
        for engine in free:
            if (number := queue.take(engine)) is not None:
                taken[engine].append(number)
                work = workload.work(engine, sizes[number])
                work.__enter__()
                at_work.append((now[0] + sizes[number] / speeds[engine], engine, work))
        free = []
        if at_work:
            at_work.sort(key=lambda entry: entry[:2])
            now[0], engine, work = at_work.pop(0)
            work.__exit__(None, None, None)
            ends[engine], free = now[0], [engine]
    assert sorted(number for numbers in taken for number in numbers) == list(range(len(sizes)))
    assert [load.waiting for load in workload.loads()] == [0] * len(speeds)
    return ends, taken


@pytest.mark.parametrize("speeds", [[1.0, 1.0], [1.0, 20.0], [20.0, 1.0], [1.0, 7.0, 30.0]])
def test_engines_of_any_speeds_end_nearly_together(speeds):
    sizes = [chunk.stop - chunk.start for chunk in cut_falling(10_000, 64)]
    ends, taken = end_times(sizes, speeds)
    best = 10_000 / sum(speeds)
    # A chunk begun too late keeps one engine busy alone for at most the smallest chunk's time, and one more begun
    # before any speed was known.
    slowest = min(speeds)
    assert max(ends) <= max(best * 1.1, (sizes[0] + sizes[-1]) / slowest)
    if len(set(speeds)) > 1:
        slow, quick = speeds.index(slowest), speeds.index(max(speeds))
        later = [sizes[number] for number in taken[slow][1:]]
        assert all(size <= min(sizes[number] for number in taken[quick][:3]) for size in later)


def test_a_slow_engine_does_not_hold_the_last_large_chunk():
    count, speeds = 10_000, [1.0, 4.0]
    falling = [chunk.stop - chunk.start for chunk in cut_falling(count, 16)]
    even = [chunk.stop - chunk.start for chunk in cut_evenly(count, 16)]
    assert max(end_times(falling, speeds)[0]) < max(end_times(even, speeds)[0])
    assert max(end_times(falling, speeds)[0]) < max(end_times(even, speeds, ROUND_ROBIN)[0]) / 2


def test_round_robin_takes_turns_whoever_is_free():
    _, taken = end_times([1] * 9, [1.0, 100.0], ROUND_ROBIN)
    assert taken == [[0, 2, 4, 6, 8], [1, 3, 5, 7]]


@pytest.mark.parametrize("policy", [LEAST_LOADED, ROUND_ROBIN])
def test_every_policy_gives_what_one_call_gives(policy):
    bases = limbs_from_ints([pow(3, i + 100, MODULUS.value) for i in range(50)], 2)
    function = powers(bases, limbs_from_ints([7**i % 2**64 for i in range(50)], 1))
    scheduler = Scheduler([ReferenceEngine(), ReferenceEngine()], 7, policy=policy)
    np.testing.assert_array_equal(scheduler.run(function, 50), function(ReferenceEngine(), slice(0, 50)), strict=True)
    assert sum(load.items for load in scheduler.loads()) == 50
    assert sum(load.chunks for load in scheduler.loads()) == 7


def test_loads_of_round_robin_are_known_to_the_item():
    moments = count_from(0)
    scheduler = Scheduler([ReferenceEngine()], 4, policy=ROUND_ROBIN, clock=lambda: float(next(moments)))
    scheduler.run(lambda engine, chunk: np.zeros((1, 1), np.uint64), 10)
    assert scheduler.loads() == (EngineLoad("reference", 4, 10, 4.0, 0),)


@pytest.mark.parametrize("policy", [LEAST_LOADED, ROUND_ROBIN])
def test_after_an_error_nothing_waits(policy):
    def function(engine, chunk):
        raise InputError("stop here")

    scheduler = Scheduler([ReferenceEngine(), ReferenceEngine()], 10, policy=policy)
    with pytest.raises(InputError, match="stop here"):
        scheduler.run(function, 20)
    assert [(load.chunks, load.items, load.waiting) for load in scheduler.loads()] == [(0, 0, 0)] * 2


def test_the_variable_chooses_the_policy(monkeypatch):
    monkeypatch.setenv("HEKAT_SCHEDULE", "fastest")
    with pytest.raises(EngineError, match=r"HEKAT_SCHEDULE names no way .* least_loaded or round_robin"):
        Scheduler([ReferenceEngine()])
    assert Scheduler([ReferenceEngine()], policy=ROUND_ROBIN).run(lambda e, c: np.zeros((1, 1), np.uint64), 1).size == 1


def test_a_thread_that_does_not_start_leaves_none_behind(monkeypatch):
    may_end, workers = Event(), []

    class Worker(Thread):
        def start(self):
            if workers:
                raise RuntimeError("can't start new thread")
            workers.append(self)
            super().start()

        def join(self, timeout=None):
            may_end.set()
            super().join(timeout)

    def function(engine, chunk):
        may_end.wait()
        return np.zeros((chunk.stop - chunk.start, 1), np.uint64)

    monkeypatch.setattr(scheduler_module, "Thread", Worker)
    try:
        with pytest.raises(RuntimeError, match="can't start"):
            Scheduler([ReferenceEngine(), ReferenceEngine()], 5).run(function, 10)
        assert not workers[0].is_alive()
    finally:
        may_end.set()
