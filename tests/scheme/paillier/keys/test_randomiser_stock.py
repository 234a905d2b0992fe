"""Randomisers drawn ahead: each is handed out once, to one thread, in the process that drew it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.interface import Modulus, ResidueArray
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.scheme.paillier.keys.randomiser_stock import MOST_AHEAD, RandomiserStock

ABREAST = 32


class WideEngine(ReferenceEngine):
    """The reference, as if it computed many powers at once."""

    @property
    def chunk_plan(self) -> ChunkPlan:
        return ChunkPlan(abreast=ABREAST)


ENGINE = WideEngine()
MODULUS = Modulus(1_000_003)


@pytest.fixture
def draw() -> Callable[[int], ResidueArray]:
    """Numbers from 0 on, each once."""
    drawn = iter(range(MODULUS.value))
    return lambda count: ENGINE.load(limbs_from_ints([next(drawn) for _ in range(count)], 1), MODULUS)


def values(residues: ResidueArray) -> list[int]:
    return ints_from_limbs(ENGINE.store(residues))


def test_each_is_handed_out_once_whatever_is_asked_for(draw) -> None:
    stock = RandomiserStock()
    most = ABREAST
    counts = [10, 14, 0, 1, most - 1, most, 3 * most, most - 2, 1, 10, most - 1]
    handed = [values(stock.take(count, ENGINE, draw)) for count in counts]
    assert [len(part) for part in handed] == counts
    together = [value for part in handed for value in part]
    assert len(set(together)) == len(together) == sum(counts)


def test_few_cost_few_draws(draw) -> None:
    stock, asked = RandomiserStock(), []

    def count_draws(count: int) -> ResidueArray:
        asked.append(count)
        return draw(count)

    for _ in range(12):
        stock.take(10, ENGINE, count_draws)
    assert asked == [ABREAST] * -(-120 // ABREAST)


def test_an_engine_that_computes_one_after_the_other_draws_no_more_than_it_is_asked_for(draw) -> None:
    stock, asked, engine = RandomiserStock(), [], ReferenceEngine()

    def count_draws(count: int) -> ResidueArray:
        asked.append(count)
        return engine.load(ENGINE.store(draw(count)), MODULUS)

    for count in (1, 10, 3):
        stock.take(count, engine, count_draws)
    assert asked == [1, 10, 3]


def test_an_engine_of_very_many_threads_draws_no_more_than_others(draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WideEngine, "chunk_plan", ChunkPlan(abreast=8192))
    stock, asked = RandomiserStock(), []

    def count_draws(count: int) -> ResidueArray:
        asked.append(count)
        return draw(count)

    stock.take(1, ENGINE, count_draws)
    assert asked == [MOST_AHEAD]


def test_threads_get_different_ones(draw) -> None:
    stock = RandomiserStock()
    with ThreadPoolExecutor(8) as threads:
        handed = list(threads.map(lambda _: values(stock.take(7, ENGINE, draw)), range(100)))
    together = [value for part in handed for value in part]
    assert len(set(together)) == 700


def values_in_child(stock: RandomiserStock, draw: Callable[[int], ResidueArray]) -> str:
    """What a forked process gets of `stock`, as text; nothing where it waits for a lock for ever."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # Ends the process, not the test.
            signal.alarm(20)
            os.write(writer, repr(values(stock.take(3, ENGINE, draw))).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


FRESH = repr([ABREAST, ABREAST + 1, ABREAST + 2])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_draws_its_own(draw) -> None:
    """Whatever its number: that of a parent which ended may come again."""
    stock = RandomiserStock()
    stock.take(3, ENGINE, draw)
    # What is left of the first draw stays with the parent.
    assert values_in_child(stock, draw) == FRESH
    assert values(stock.take(3, ENGINE, draw)) == [3, 4, 5]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_while_another_thread_draws_waits_for_nobody(draw) -> None:
    stock, begun, go_on = RandomiserStock(), threading.Event(), threading.Event()

    def draw_slowly(count: int) -> ResidueArray:
        drawn = draw(count)
        begun.set()
        go_on.wait()
        return drawn

    with ThreadPoolExecutor(1) as thread:
        handed = thread.submit(stock.take, 3, ENGINE, draw_slowly)
        begun.wait()
        try:
            assert values_in_child(stock, draw) == FRESH
        finally:
            go_on.set()
    assert values(handed.result()) == [0, 1, 2]
