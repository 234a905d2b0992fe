"""No party, and no majority of them, makes the aggregator take memory for more than the tensors that all announced."""

from __future__ import annotations

import pytest

from hekat.errors import InputError
from hekat.protocol.horizontal.slot_ceiling import most_slots, value_count_of


@pytest.mark.parametrize(
    ("announced", "count"),
    [("weight (3, 4)", 12), ("bias (5,)", 5), ("scale ()", 1), ("float32 (2, 3), shared with a (9, 9) b", 81)],
)
def test_values_of_an_announced_tensor(announced: str, count: int) -> None:
    assert value_count_of(announced) == count


@pytest.mark.parametrize("announced", ["weight", "weight (3", "weight (-3,)", "weight (1e9,)", f"w ({'9' * 13},)"])
def test_a_tensor_without_a_shape_is_refused(announced: str) -> None:
    with pytest.raises(InputError, match="without its shape"):
        value_count_of(announced)


def test_the_ceiling_grows_with_what_is_announced_alone() -> None:
    small = most_slots(["w (10,)"], 4)
    assert most_slots(["w (1000000,)"], 4) == small + 2 * 999_990
    assert small < 100_000
    with pytest.raises(InputError, match="more values than any upload"):
        most_slots(["w (999999999999, 9)"], 4)
