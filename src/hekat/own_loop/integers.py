"""Arrays of integers that a loop sums: checked before anything leaves, and as the aggregator is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hekat.errors import BoundError, InputError
from hekat.own_loop.arguments import as_whole_number
from hekat.protocol.secure_sum.integer_sums import MOST_MAGNITUDE, IntArray


def as_integers(integers: Any, maximum: Any, party: str) -> dict[str, IntArray]:
    """The arrays by name, int64, in the order of their names.

    Raises InputError for what maps no names to arrays of integers, and for a bound that is none; BoundError for an
    integer beyond it.
    """
    bound = as_whole_number("maximum", maximum)
    if not 1 <= bound <= MOST_MAGNITUDE:
        raise InputError(
            f"party {party}: the bound of a sum cannot be",
            expected=f"a whole number from 1 to {MOST_MAGNITUDE:,}",
            got=str(bound),
            cure="sum smaller numbers, or their high and low digits apart",
        )
    if not isinstance(integers, Mapping) or not integers or not all(isinstance(name, str) for name in integers):
        raise InputError(
            f"party {party}: nothing to sum",
            expected="a mapping of names to arrays of integers",
            got="an empty one" if integers == {} else type(integers).__name__,
        )
    return {name: _as_array(name, integers[name], bound, party) for name in sorted(integers)}


def describe_integers(arrays: Mapping[str, IntArray], maximum: int) -> dict[str, str]:
    """What the aggregator is told of each: shape and bound, by which it knows the size of an upload."""
    return {name: f"integers {values.shape}, magnitudes up to {maximum}" for name, values in arrays.items()}


def _as_array(name: str, values: Any, maximum: int, party: str) -> IntArray:
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        raise InputError(
            f"party {party}: {name!r} cannot be summed exactly",
            expected="integers",
            got=f"dtype {array.dtype}",
            cure="round the values to integers first; the mean of floats is party.aggregate",
        )
    if array.size and max(int(array.max()), -int(array.min())) > maximum:
        raise BoundError(
            f"party {party}: a number of {name!r} is beyond the public bound",
            expected=f"magnitudes up to {maximum}",
            got="a larger one",
            cure="raise maximum at every party",
        )
    return array.astype(np.int64)
