"""Chunks of a batch, one after the other or several at once: the same results, order, progress and ends."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.reference import ReferenceEngine
from hekat.scheme.chunks import run_chunks


class PlannedEngine(ReferenceEngine):
    """The reference with a plan."""

    def __init__(self, plan: ChunkPlan) -> None:
        super().__init__()
        self.plan = plan

    @property
    def chunk_plan(self) -> ChunkPlan:
        return self.plan


@pytest.fixture(autouse=True)
def chunks_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hekat.scheme.chunks.CHUNK_COUNT", 2)


@pytest.fixture(params=[1, 3])
def engine(request: pytest.FixtureRequest) -> PlannedEngine:
    """One whose chunks are six items long."""
    return PlannedEngine(ChunkPlan(factor=3, in_flight=request.param))


def at_work() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("hekat-chunk")]


@pytest.mark.parametrize("count", [0, 1, 6, 7, 40])
def test_results_come_in_order_with_a_word_for_each(engine: PlannedEngine, count: int) -> None:
    said = []

    def progress(done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        said.append((done, total))

    parts = run_chunks(lambda chunk: list(range(count)[chunk]), count, engine, progress)
    assert [x for part in parts for x in part] == list(range(count))
    assert len(parts) == max(1, -(-count // 6))
    assert said == [(min(6 * (i + 1), count), count) for i in range(-(-count // 6))]
    assert run_chunks(lambda chunk: list(range(count)[chunk]), count, engine, None) == parts


def test_a_caller_may_ask_for_longer_chunks(engine: PlannedEngine) -> None:
    parts = run_chunks(lambda chunk: chunk.stop - chunk.start, 30, engine, None, times=2)
    assert parts == [12, 12, 6]


def test_as_many_chunks_as_planned_are_worked_on_at_once() -> None:
    all_there = threading.Barrier(3, timeout=60)
    names = set()

    def work(chunk: slice) -> int:
        names.add(threading.current_thread().name)
        return all_there.wait()

    parts = run_chunks(work, 36, PlannedEngine(ChunkPlan(3, 3)), None)
    assert sorted(parts) == [0, 0, 1, 1, 2, 2]
    assert len(names) == 3


def test_one_chunk_has_no_thread() -> None:
    engine = PlannedEngine(ChunkPlan(3, 3))
    assert run_chunks(lambda _: threading.current_thread(), 6, engine, None) == [threading.main_thread()]


def test_the_first_exception_in_order_ends_the_batch(engine: PlannedEngine) -> None:
    begun = []
    said = []
    # With three at once the later one fails first.
    second_failed = threading.Event()

    def work(chunk: slice) -> int:
        begun.append(chunk.start)
        if chunk.start == 12:
            second_failed.set()
            raise ValueError("the later one")
        if chunk.start == 6:
            if engine.plan.in_flight > 1:
                assert second_failed.wait(60)
            raise ValueError("the earlier one")
        return chunk.start

    with pytest.raises(ValueError, match="the earlier one"):
        run_chunks(work, 6000, engine, lambda done, _: said.append(done))
    assert said == [6]
    # No chunk waits for the calling thread to hear of the end, but none is begun after it.
    assert len(begun) < 1000
    assert not at_work()


def test_what_progress_raises_ends_the_batch(engine: PlannedEngine) -> None:
    begun = []
    go_on = threading.Event()

    class EnoughError(Exception):
        pass

    def work(chunk: slice) -> None:
        begun.append(chunk.start)
        if chunk.start >= 12:
            assert go_on.wait(60)

    def progress(done: int, total: int) -> None:
        go_on.set()
        raise EnoughError

    with pytest.raises(EnoughError):
        run_chunks(work, 6000, engine, progress)
    assert len(begun) < 1000
    assert not at_work()


INTERRUPTED = """
import os, signal, sys, threading
from tests.scheme.test_chunks import ChunkPlan, PlannedEngine, run_chunks

begun, heard = [], threading.Event()


def hear(*_):
    heard.set()
    raise KeyboardInterrupt


def work(chunk):
    begun.append(chunk.start)
    if len(begun) == 3:
        os.kill(os.getpid(), signal.SIGINT)
        # In the main thread the signal is heard within this call at the latest.
        heard.wait(60)


signal.signal(signal.SIGINT, hear)
try:
    run_chunks(work, 4096 * 5000, PlannedEngine(ChunkPlan(1, int(sys.argv[1]))), None)
except KeyboardInterrupt:
    print("stopped", len(begun) < 5000, threading.active_count())
"""


@pytest.mark.long
@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_control_c_ends_a_batch(in_flight: int) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(in_flight)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (finished.stdout, finished.stderr) == ("stopped True 1\n", "")
