"""Roles that take turns: each begins with no pool of OpenMP threads but its own, so none slows another one's."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import hekat
from hekat.channel.computing_turn import ComputingTurn, end_own_pool

TASKS = Path("/proc/self/task")
POOL_THREADS = 3
MOST_LOOKS = 20_000

torch = pytest.importorskip("torch", reason="the pools are PyTorch's: needs hekat[torch]")


@pytest.fixture(autouse=True)
def several_threads(monkeypatch):
    """PyTorch computes on three threads, whatever this machine has; this thread has no pool at first."""
    before = torch.get_num_threads()
    torch.set_num_threads(POOL_THREADS)
    end_own_pool()
    yield
    torch.set_num_threads(before)


def compute() -> None:
    """A parallel region: PyTorch splits what has more than 32,768 values."""
    torch.exp(torch.ones(1 << 18))


def native_threads() -> int:
    """Threads of this process that are not Python's."""
    return len(list(TASKS.iterdir())) - threading.active_count()


def threads_come_to(count: int) -> bool:
    """Whether there are soon no more: a thread that ends is there for a moment longer."""
    for _ in range(MOST_LOOKS):
        if native_threads() <= count:
            return True
        os.sched_yield()
    return False


def in_a_thread(work) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_giving_the_turn_back_ends_the_threads_of_who_had_it() -> None:
    turn, counts = ComputingTurn(), []
    idle, over = native_threads(), threading.Event()

    def play() -> None:
        with turn:
            compute()
            counts.append(native_threads())
        over.wait()  # the role waits on, and keeps nothing meanwhile

    roles = [threading.Thread(target=play) for _ in range(3)]
    try:
        for role in roles:
            role.start()
        assert threads_come_to(idle)
    finally:
        over.set()
        for role in roles:
            role.join()
    assert counts
    assert max(counts) >= idle + POOL_THREADS - 1, "it did compute in parallel"


def test_each_party_of_a_loop_trains_with_its_own_threads_alone() -> None:
    counts: dict[str, list[int]] = {}

    def play(party):
        state = {"w": torch.zeros(4)}
        for _ in range(2):
            before = native_threads()
            compute()
            counts.setdefault(party.name, []).append(native_threads() - before)
            assert threads_come_to(before + POOL_THREADS - 1)
            state = party.aggregate(state, weight=1)
        return native_threads()

    compute()  # the caller has a pool of its own, which ends with the loop's begin
    own = native_threads()
    run = hekat.federate(play, ["north", "lake", "county"], protection="none", clipping="fixed", alpha=1.0)
    assert [counts[name] for name in run.results] == [[POOL_THREADS - 1] * 2] * 3
    assert threads_come_to(own)
