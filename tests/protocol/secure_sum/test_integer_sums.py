"""Sums of integers through weighted means: exact up to their bound, and refused beyond it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import BoundError, ProtocolError
from hekat.protocol.secure_sum.aggregation import Alone, Counter
from hekat.protocol.secure_sum.integer_sums import MOST_MAGNITUDE, sum_integers, value_bits_of


def test_bits_hold_the_bound_and_no_more() -> None:
    for maximum in (1, 2, 3, 4, 127, 128, 32767, 32768, MOST_MAGNITUDE):
        bits = value_bits_of(maximum)
        assert (1 << (bits - 1)) - 1 >= maximum
        assert bits == 2 or (1 << (bits - 2)) - 1 < maximum
    for maximum in (0, MOST_MAGNITUDE + 1):
        with pytest.raises(BoundError, match="cannot be summed"):
            value_bits_of(maximum)


def test_an_integer_beyond_the_public_bound_is_not_sent() -> None:
    class Silent(Alone):
        def weighted_mean(self, request):
            raise AssertionError("something was sent")

    for value in (8, -8):
        with pytest.raises(BoundError, match="beyond the public bound"):
            sum_integers(Silent(), "here", {"x": np.array([value])}, maximum=7, weight_max=10)


class Altered(Alone):
    """The answer of an aggregator that changes it."""

    def __init__(self, **changes) -> None:
        self.changes = changes

    def weighted_mean(self, request):
        return replace(super().weighted_mean(request), **self.changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"weight_sum": 2},
        {"mean": {"x": np.array([0.5])}},
        {"mean": {"x": np.array([9.0])}},
        {"mean": {"x": np.array([np.nan])}},
        {"mean": {}, "sums": {"x": np.array([8])}},
        {"mean": {}, "sums": {"x": np.array([-(1 << 63)])}},
    ],
)
def test_an_answer_that_is_no_sum_of_integers_is_refused(changes) -> None:
    with pytest.raises(ProtocolError, match="none of the parties' integers"):
        sum_integers(Altered(**changes), "here", {"x": np.array([3])}, maximum=7, weight_max=10)


def test_counters_are_summed_beside_them() -> None:
    sums = sum_integers(
        Alone(), "here", {"x": np.array([[3, -4]])}, maximum=7, weight_max=10, counters=[Counter("rows", 5, 10)]
    )
    assert sums.tensors["x"].tolist() == [[3, -4]]
    assert sums.counters == {"rows": 5}


@pytest.mark.parametrize("kind", ["i1", "u2", ">i8", "i8"])
def test_integers_of_any_width_and_order_are_summed_as_int64(kind) -> None:
    asked = []

    class Noting(Alone):
        def weighted_mean(self, request):
            asked.append(request.tensors["x"])
            return super().weighted_mean(request)

    values = np.array([3, 0, 7], dtype=kind)
    assert sum_integers(Noting(), "here", {"x": values}, maximum=7, weight_max=10).tensors["x"].tolist() == [3, 0, 7]
    assert (asked[0].dtype, asked[0].tolist()) == (np.int64, [3, 0, 7])
