"""Exact sums of integers over all parties, under every protection, by the same sums as weighted means.

Every party has the weight 1, and a tensor's bound is the largest level of a value: then levels are the integers
themselves. What comes is their sum, or the mean in floats, which times the number of parties is the sum: all of it
stays below 2^53, where float64 is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError, ProtocolError
from hekat.protocol.secure_sum.aggregation import Aggregation, Counter, SumRequest
from hekat.protocol.secure_sum.agreement.digest_arrays import digest_arrays

IntArray = npt.NDArray[np.int64]

MOST_MAGNITUDE = (1 << 31) - 1
"""The largest magnitude of a party's integer."""
_MOST_REST = 1e-3


@dataclass(frozen=True)
class IntegerSums:
    """The sums that all parties hold: by tensor, int64 of the tensor's shape; the counters'; whose integers they are.

    `parties` is empty where all parties' are in them.
    """

    tensors: dict[str, IntArray]
    counters: dict[str, int]
    party_count: int
    parties: tuple[str, ...]


def value_bits_of(maximum: int) -> int:
    """Bits of a value that hold every integer from -maximum to maximum, 2 to 32.

    Raises BoundError for a maximum below 1 or above 2^31 - 1.
    """
    if not 1 <= maximum <= MOST_MAGNITUDE:
        raise BoundError(
            "integers cannot be summed",
            expected=f"a public bound on their magnitude from 1 to {MOST_MAGNITUDE}",
            got=f"{maximum}",
            cure="lower the bound on each party's rows (weight_max), or take fewer bits for a row's numbers",
        )
    return max(2, maximum.bit_length() + 1)


def sum_integers(
    aggregation: Aggregation,
    step: str,
    tensors: Mapping[str, IntArray],
    *,
    maximum: int,
    weight_max: int,
    counters: Sequence[Counter] = (),
) -> IntegerSums:
    """The exact sums of each tensor's integers over all parties; `maximum`, public, bounds every magnitude.

    `weight_max` is the one of the settings of the sums. Raises BoundError, before anything is sent, for an integer
    beyond `maximum`; ProtocolError where what came is no sum of so many parties' integers.
    """
    bits = value_bits_of(maximum)
    level = (1 << (bits - 1)) - 1
    if not _are_within(tensors.values(), maximum):
        raise BoundError(
            f"a number of this party is beyond the public bound in {step}",
            expected=f"magnitudes up to {maximum}",
            got="a larger one",
            cure="this is a defect in Hekat where rows and job are as stated: please report it",
        )
    request = SumRequest(
        step,
        # Integers of other bytes would pass as floats.
        {name: values.astype(np.int64, copy=False) for name, values in tensors.items()},
        # Scaled by 1 / weight_max, as every value of weight 1 is.
        dict.fromkeys(tensors, level / weight_max),
        1,
        counters,
        value_bits=bits,
    )
    aggregate = aggregation.weighted_mean(request)
    if aggregate.weight_sum != aggregate.party_count:
        raise _not_a_sum(step, f"a weight of 1 of each of {aggregate.party_count} parties", "another weight")
    most = aggregate.party_count * maximum
    if not _are_within(aggregate.sums.values(), most):
        raise _not_a_sum(step, f"magnitudes up to {most}", "a larger one")
    sums = {name: _as_sums(step, mean, aggregate.party_count, most) for name, mean in aggregate.mean.items()}
    sums |= aggregate.sums
    return IntegerSums(sums, aggregate.counters, aggregate.party_count, aggregate.parties)


def digest_integers(key: bytes, sums: IntegerSums) -> bytes:
    """HMAC-SHA-256 over names, shapes and values of the sums; `key` is the parties' alone, empty without protection."""
    return digest_arrays(key, "\0".join(sums.tensors).encode(), sums.tensors.values())


def _are_within(arrays: Iterable[IntArray], most: int) -> bool:
    return all(max(int(one.max()), -int(one.min())) <= most for one in arrays if one.size)


def _as_sums(step: str, mean: npt.NDArray[np.float64], party_count: int, most: int) -> IntArray:
    totals = mean * party_count
    rounded = np.rint(totals)
    if totals.size and not np.abs(totals - rounded).max() <= _MOST_REST:
        raise _not_a_sum(step, "whole numbers", "another number")
    if totals.size and np.abs(rounded).max() > most:
        raise _not_a_sum(step, f"magnitudes up to {most}", "a larger one")
    sums: IntArray = rounded.astype(np.int64)
    return sums


def _not_a_sum(step: str, expected: str, got: str) -> ProtocolError:
    return ProtocolError(
        f"the sum of {step} is none of the parties' integers",
        expected=expected,
        got=got,
        cure="find out who altered it: the ledgers hold the digests of all that was sent",
    )
