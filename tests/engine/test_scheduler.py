"""The scheduler: the same result as one call, each chunk once, progress, and a clean end on errors."""

from __future__ import annotations

from threading import Barrier, Event, Lock, current_thread, main_thread
from threading import enumerate as enumerate_threads

import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.engine.scheduler import Scheduler
from hekat.errors import EngineError, InputError

MODULUS = Modulus(2**127 - 1)


def powers(base_limbs, exponents):
    """The chunk function of base^exponent: load the slice, compute in the engine given, store."""

    def function(engine, chunk):
        return engine.store(engine.mod_exp(engine.load(base_limbs[chunk], MODULUS), exponents[chunk]))

    return function


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
