"""Integers in a stream of slots: the levels of the same floats, back as sums."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import BoundError, InputError
from hekat.protocol.secure_sum.masked.slot_stream import SlotStream

LEVEL, WEIGHT_MAX = 127, 10
RNG = np.random.default_rng(5)
INTEGERS = {"b": RNG.integers(-LEVEL, LEVEL + 1, (7, 3)), "a": RNG.integers(-LEVEL, LEVEL + 1, 40), "c": np.zeros(0)}
INTEGERS = {name: values.astype(np.int64) for name, values in INTEGERS.items()}
BOUNDS = dict.fromkeys(INTEGERS, LEVEL / WEIGHT_MAX)


def stream_of(tensors) -> SlotStream:
    return SlotStream(tensors, BOUNDS, (), value_bits=8, weight_max=WEIGHT_MAX, rounding="nearest")


def read_slots(tensors, block_slots: int, weight: int = 1) -> np.ndarray:
    return np.concatenate([block.copy() for block in stream_of(tensors).blocks(tensors, weight, block_slots)])


@pytest.mark.parametrize("block_slots", [5, 64, 1000])
def test_integers_are_the_levels_of_the_same_floats_and_come_back_as_sums(block_slots) -> None:
    stream = stream_of(INTEGERS)
    slots = read_slots(INTEGERS, block_slots).astype(np.int64)
    floats = {name: values.astype(np.float64) for name, values in INTEGERS.items()}
    # The weight before them is hidden anew each time.
    assert slots[stream.head_slots :].tolist() == read_slots(floats, block_slots)[stream.head_slots :].tolist()
    sums = slots + 2 * slots
    reader = stream.reader(3)
    for start in range(0, sums.size, block_slots):
        reader.read(sums[start : start + block_slots].copy())
    aggregate = reader.finish()
    assert aggregate.weight_sum == 3
    assert not aggregate.mean
    assert {name: values.tolist() for name, values in aggregate.sums.items()} == {
        name: (3 * values).tolist() for name, values in INTEGERS.items()
    }
    assert all(values.dtype == np.int64 for values in aggregate.sums.values())


@pytest.mark.parametrize("value", [LEVEL + 1, -LEVEL - 1, 1 << 32, -(1 << 63)])
def test_an_integer_that_is_no_level_is_refused(value) -> None:
    """Also one whose low 32 bits are a level."""
    tensors = {**INTEGERS, "a": np.array([0, value, 1])}
    with pytest.raises(BoundError, match="no level"):
        read_slots(tensors, 64)


def test_integers_have_no_weight() -> None:
    with pytest.raises(InputError, match="summed as they are"):
        read_slots(INTEGERS, 64, weight=2)
