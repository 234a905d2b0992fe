"""Threads' streams wait for each other where memory goes from one to another, and nowhere else."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedArray, EmulatedDevice
from tests.engine.cuda.emulation.streams import EmulatedStream

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.cuda.layout import Layout, choose_layout
from hekat.engine.cuda.memory.ordering import MemoryOrder, ThreadStreams
from hekat.engine.interface import Modulus, ResidueArray
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints

MODULUS = Modulus((1 << 512) - 569)
SEEDS = range(12)


class Notes:
    """A stream that writes down what it is told."""

    def __init__(self, name: str, said: list[str]) -> None:
        self.name = name
        self.said = said

    def record(self) -> str:
        return self.name

    def wait_event(self, event: str) -> None:
        self.said.append(f"{self.name} waits for {event}")


@pytest.fixture
def said() -> list[str]:
    return []


def test_memory_of_one_stream_waits_for_nobody(said: list[str]) -> None:
    home = Notes("home", said)
    order = MemoryOrder(home)
    order.before_use(home)
    order.before_free()
    assert said == []
    assert not order.is_shared


def test_another_stream_waits_for_the_home_once_and_the_home_for_it_at_the_end(said: list[str]) -> None:
    home, second, third = (Notes(name, said) for name in ("home", "second", "third"))
    order = MemoryOrder(home)
    assert not order.is_ordered_for(second)
    for stream in (second, home, third, second):
        order.before_use(stream)
    assert said == ["second waits for home", "third waits for home"]
    assert order.is_shared
    assert order.is_ordered_for(second)
    said.clear()
    order.before_free()
    assert said == ["home waits for second", "home waits for third"]


def test_nobody_waits_for_published_memory_but_its_end_waits_for_all(said: list[str]) -> None:
    home, second = Notes("home", said), Notes("second", said)
    order = MemoryOrder(home)
    order.publish()
    order.before_use(second)
    assert said == []
    assert order.is_shared
    order.before_free()
    assert said == ["home waits for second"]


def test_a_thread_has_one_stream_and_leaves_it_to_the_next() -> None:
    made = []

    def make() -> object:
        made.append(object())
        return made[-1]

    streams = ThreadStreams(make)
    assert streams.current() is streams.current() is made[0]
    for _ in range(3):
        thread = threading.Thread(target=streams.current)
        thread.start()
        thread.join()
    assert len(made) == 2
    both_there = threading.Barrier(2)

    def current(_: int) -> object:
        both_there.wait()
        return streams.current()

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(current, range(2))
    assert len({id(first), id(second), id(made[0])}) == len(made) == 3


class Workers:
    """A thread each, which work at the word of the test alone: what happens is the seed's doing."""

    def __init__(self, engine: CudaEngine, count: int, stack: ExitStack) -> None:
        self.engine = engine
        self.pools = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(count)]

    def load(self, worker: int, values: list[int]) -> ResidueArray:
        limbs = limbs_from_ints(values, MODULUS.limb_count)
        return self.pools[worker].submit(self.engine.load, limbs, MODULUS).result()

    def mod_mul(self, worker: int, a: ResidueArray, b: ResidueArray) -> ResidueArray:
        return self.pools[worker].submit(self.engine.mod_mul, a, b).result()

    def store(self, worker: int, a: ResidueArray) -> list[int]:
        return ints_from_limbs(self.pools[worker].submit(self.engine.store, a).result())


def hand_around(seed: int) -> bool:
    """Whether products are right whose operands went from thread to thread, and were let go at once."""
    choose = np.random.default_rng(seed)
    device = EmulatedDevice(streams=seed)
    with ExitStack() as stack:
        workers = Workers(CudaEngine(device), 3, stack)
        values = [[int(x) for x in choose.integers(1, 2**62, 3)] for _ in range(4)]
        arrays = [workers.load(int(choose.integers(3)), one) for one in values]
        for _ in range(24):
            i, j = (int(x) for x in choose.integers(4, size=2))
            # The operand that is replaced has no other holder: it is freed with work on it still queued.
            arrays[i] = workers.mod_mul(int(choose.integers(3)), arrays[i], arrays[j])
            values[i] = [x * y % MODULUS.value for x, y in zip(values[i], values[j], strict=True)]
        return [workers.store(int(choose.integers(3)), one) for one in arrays] == values


@pytest.mark.parametrize("seed", SEEDS)
def test_results_go_from_thread_to_thread(seed: int) -> None:
    assert hand_around(seed)


@pytest.mark.parametrize("rule", ["before_use", "before_free"])
def test_without_a_rule_results_are_wrong(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """What the test above rests on: the emulation does show a wait that is missing."""

    def forget(order: MemoryOrder, *stream: EmulatedStream) -> None:
        # Only the wait is forgotten: what used the memory is not.
        if rule == "before_use" and stream[0] is not order.home:
            order._others[id(stream[0])] = stream[0]

    monkeypatch.setattr(MemoryOrder, rule, forget)
    assert not all(hand_around(seed) for seed in SEEDS)


def on_another_thread(function, *arguments):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


def within(device: EmulatedDevice, function, *arguments):
    with device.active():
        return function(*arguments)


def test_functions_on_arrays_of_another_thread_want_them_ready() -> None:
    device = EmulatedDevice(streams=1)
    array = device.upload(np.arange(5))
    assert within(device, device.xp.sum, array) == 10
    with pytest.raises(AssertionError, match="not made ready"):
        on_another_thread(within, device, device.xp.sum, array)
    assert on_another_thread(within, device, lambda: device.xp.sum(device.ready(array))) == 10
    assert on_another_thread(device.download, array).tolist() == [0, 1, 2, 3, 4]
    with device.active(), pytest.raises(AssertionError, match="is written"):
        array[0] = 7


def test_limbs_in_several_pieces_come_from_any_thread() -> None:
    device = EmulatedDevice(streams=1)
    engine = CudaEngine(device)
    values = [[3, 7], [5, 9], [6, 1]]
    limbs = device.upload(np.array(values, np.uint64))

    def reduce(part: object) -> list[int]:
        return ints_from_limbs(engine.store(engine.reduce(part, MODULUS)))

    # Copied together by a function of arrays, not by a kernel.
    assert on_another_thread(reduce, limbs[:, :1]) == [low for low, _ in values]
    ones = engine.load(np.ones((3, 1), np.uint64), MODULUS)
    powers = on_another_thread(engine.mod_exp, ones, limbs[:, :1])
    assert ints_from_limbs(engine.store(powers)) == [1, 1, 1]


def test_functions_outside_of_active_are_another_stream() -> None:
    device = EmulatedDevice(streams=1)
    array = device.upload(np.arange(5))
    with pytest.raises(AssertionError, match="not made ready"):
        device.xp.sum(array)
    # What is made outside of it is there within it, as long as it is said which arrays are used.
    doubled = device.ready(array) * 2
    with device.active(), pytest.raises(AssertionError, match="not made ready"):
        doubled.sum()
    assert device.download(doubled).tolist() == [0, 2, 4, 6, 8]


def test_published_memory_is_not_written() -> None:
    device = EmulatedDevice(streams=1)
    array = device.publish(device.upload(np.arange(5)))
    with device.active(), pytest.raises(AssertionError, match="is written"):
        array[0] = 7
    layout = choose_layout(MODULUS)
    words = device.publish(device.upload(np.ones(layout.constants_words, np.uint32)))
    with pytest.raises(AssertionError, match="is written"):
        run_at_once(device, "modulus_constants/modulus_constants", layout, words)


def run_at_once(device: EmulatedDevice, kernel: str, layout: Layout, words: EmulatedArray) -> None:
    device.run_groups(kernel, layout.options, 1, layout.threads, words)
    device.download(words)


def test_freed_memory_is_wiped_after_what_is_queued_on_it() -> None:
    device = EmulatedDevice(streams=3)
    array = device.upload(np.full(300, 7))
    storage = array.base.base.storage
    del array
    gc.collect()
    device.download(device.upload(np.zeros(1)))
    assert not storage.any()
