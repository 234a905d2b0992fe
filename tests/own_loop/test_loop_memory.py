"""A party keeps its reference and the running result, each as large as what is averaged, and no float copy beside; an
aggregator counts bytes of all rounds together."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from hekat.own_loop.averaging import References
from hekat.own_loop.selection import select_tensors
from hekat.protocol.horizontal.training.clipping import clipped_counters, exponent_counters
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS, SlotStream
from hekat.protocol.secure_sum.streamed_tensor import scale_streamed

VALUES = 2_000_000
WORK_BYTES = 16 << 20
"""Blocks and pieces: the same for any number of values."""


def _play_call(references: References, state) -> None:
    """A call of one party by itself: what it would sum is its own levels."""
    selection = select_tensors(state, party="north")
    call = references.begin(selection, "north", 1)
    scaled = scale_streamed(dict(call.tensors), 3, 4)
    exponent_counters(scaled)
    bounds = dict.fromkeys(call.tensors, 8.0)
    counters = clipped_counters(scaled, bounds)
    stream = SlotStream(call.tensors, bounds, counters, value_bits=16, weight_max=4, rounding="nearest")
    reader = stream.reader(1)
    for block in stream.blocks(call.tensors, 3, BLOCK_SLOTS):
        reader.read(block.astype(np.int64))
    assert reader.finish().mean == {}
    references.take(call)
    call.digest(b"key")


@pytest.mark.long
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_call_takes_twice_the_update_and_no_more(dtype) -> None:
    state = {"matrix": np.ones((VALUES // 1000, 1000), dtype).T, "vector": np.zeros(7, dtype)}
    update_bytes = sum(values.nbytes for values in state.values())
    references = References()
    tracemalloc.start()
    try:
        for _ in range(2):
            _play_call(references, state)
        _, peak = tracemalloc.get_traced_memory()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * update_bytes + WORK_BYTES
    assert kept < update_bytes + WORK_BYTES // 4


def test_results_are_those_of_levels() -> None:
    """The same path gives the values back, to half a step of 8 / 32767 / (3 / 4)."""
    rng = np.random.default_rng(3)
    state = {"w": rng.uniform(-4, 4, size=BLOCK_SLOTS + 11)}
    references = References()
    call = references.begin(select_tensors(state, party="north"), "north", 1)
    stream = SlotStream(call.tensors, {"w": 8.0}, [], value_bits=16, weight_max=4, rounding="nearest")
    reader = stream.reader(1)
    for block in stream.blocks(call.tensors, 3, BLOCK_SLOTS):
        reader.read(block.astype(np.int64))
    reader.finish()
    assert np.abs(call.tensors["w"].result - state["w"]).max() <= 8 / 32767 / 2 / 0.75 * (1 + 1e-9)


@pytest.mark.long
@pytest.mark.sealed
def test_an_aggregator_counts_many_rounds_in_the_memory_of_two(play_with, opened_channels) -> None:
    """Of a hundred parties, counts by round would take it a hundred kilobytes a round."""

    def counts_after(rounds: int) -> int:
        opened_channels.clear()
        play_with(lambda party: [party.aggregate({"w": np.ones(3)}, weight=1) for _ in range(rounds)])
        (aggregator,) = [channel for channel in opened_channels if channel.party == "aggregator"]
        return len(aggregator.traffic)

    assert counts_after(6) == counts_after(2)
