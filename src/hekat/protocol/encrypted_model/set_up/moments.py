"""How many rows all hosts have, and mean and spread of each column over them, from sums that no role sees apart.

Every host turns its float64 sums into integers mod 2^256 at 2^-SUM_BITS and adds masks that cancel over hosts, the
first host also one that all hosts share. The aggregator adds and returns: it sees uniform numbers. Sums of integers are
exact, so that all hosts standardise by the same bits.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.messages import MaskedMomentsMessage, MomentsMessage
from hekat.protocol.encrypted_model.set_up.host_seeds import HostSeeds
from hekat.protocol.encrypted_model.steps import SQUARES, SUMS, moments_step
from hekat.protocol.encrypted_model.timing_labels import MOMENTS
from hekat.protocol.stopwatch import Stopwatch

FloatArray = npt.NDArray[np.float64]

# A square below 2^82, for 2^31 rows at up to 2^13 hosts, and its sign.
SUM_BITS: Final = 100
RING: Final = 1 << 256
LARGEST_VALUE: Final = 2.0**40
_NUMBER_BYTES: Final = 32
_LIMBS: Final = 4
# Where a spread is below this part of the mean, float64 cannot tell it from rounding: the column is constant.
_LEAST_SPREAD: Final = 2.0**-45


@dataclass(frozen=True)
class Moments:
    """`row_count` rows of all hosts; `means` and `spreads` of each column of them, 0 and 1 without standardising and a
    spread of 1 for a constant column."""

    row_count: int
    means: FloatArray = field(repr=False)
    spreads: FloatArray = field(repr=False)

    def standardise(self, values: FloatArray) -> FloatArray:
        """Columns (rows, columns) with mean 0 and spread 1 over all hosts' rows."""
        return np.asarray((values - self.means) / self.spreads)


def sum_moments(
    channel: RecordedChannel,
    aggregator: str,
    seeds: HostSeeds,
    values: FloatArray,
    *,
    standardise: bool,
    stopwatch: Stopwatch,
) -> Moments:
    """A host's side: the moments of columns `values` (rows, columns) over all hosts.

    Raises InputError for a magnitude of LARGEST_VALUE or more, ProtocolError for sums that cannot be.
    """
    row_count, column_count = values.shape
    check_magnitudes(values)
    with stopwatch.measure(MOMENTS):
        own_sums = values.sum(axis=0).tolist() if standardise else []
    rows, *sums = _sum_over_hosts(channel, aggregator, seeds, SUMS, [float(row_count), *own_sums])
    total = round(rows)
    if total < row_count or total != rows:
        _refuse_sums(aggregator, "a count of all rows, not below the host's own")
    if not standardise:
        return Moments(total, np.zeros(column_count), np.ones(column_count))
    means = np.array(sums) / total
    with stopwatch.measure(MOMENTS):
        squares = np.square(values - means).sum(axis=0).tolist()
    variances = np.array(_sum_over_hosts(channel, aggregator, seeds, SQUARES, squares)) / total
    if (variances < 0).any():
        _refuse_sums(aggregator, "sums of squares of 0 or more")
    spreads = np.sqrt(variances)
    return Moments(total, means, np.where(spreads <= _LEAST_SPREAD * np.abs(means), 1.0, spreads))


def add_moments(channel: RecordedChannel, hosts: Sequence[str], which: str, count: int) -> None:
    """The aggregator's side of one sum of `count` numbers: it adds what hosts send, and returns it to all.

    Raises ProtocolError for another count of numbers.
    """
    step, total = moments_step(which), [0] * count
    for host in hosts:
        added = _integers(channel.receive(host, step, MaskedMomentsMessage).values, host, count)
        total = [(a + b) % RING for a, b in zip(total, added, strict=True)]
    for host in hosts:
        channel.send(host, step, MomentsMessage(_limbs(total)))


def check_magnitudes(values: FloatArray) -> None:
    """Raise InputError for a magnitude of LARGEST_VALUE or more."""
    if values.size and not float(np.abs(values).max()) < LARGEST_VALUE:
        raise InputError(
            "a column has values that are too large",
            expected=f"magnitudes below 2^{int(math.log2(LARGEST_VALUE))}",
            got="a larger one",
            cure="bring the column to another unit",
        )


def _sum_over_hosts(
    channel: RecordedChannel, aggregator: str, seeds: HostSeeds, which: str, numbers: list[float]
) -> list[float]:
    step, count = moments_step(which), len(numbers)
    masked = [int(math.ldexp(number, SUM_BITS)) for number in numbers]
    added, subtracted = seeds.cancelling(step, lambda seed: _grow(seed, count))
    common = seeds.shared(step, lambda seed: _grow(seed, count))
    for sign, masks in ((1, [*added, *([common] if seeds.is_first else [])]), (-1, subtracted)):
        for mask in masks:
            masked = [(a + sign * b) % RING for a, b in zip(masked, mask, strict=True)]
    channel.send(aggregator, step, MaskedMomentsMessage(_limbs([number % RING for number in masked])))
    total = _integers(channel.receive(aggregator, step, MomentsMessage).values, aggregator, count)
    opened = [(a - b) % RING for a, b in zip(total, common, strict=True)]
    return [float(number - RING if number >= RING // 2 else number) / 2.0**SUM_BITS for number in opened]


def _grow(seed: bytes, count: int) -> list[int]:
    stream = hashlib.shake_256(seed).digest(_NUMBER_BYTES * count)
    return _from_bytes(stream)


def _limbs(numbers: list[int]) -> npt.NDArray[np.uint64]:
    content = b"".join(number.to_bytes(_NUMBER_BYTES, "little") for number in numbers)
    return np.frombuffer(content, "<u8").astype(np.uint64).reshape(-1, _LIMBS)


def _integers(limbs: npt.NDArray[np.uint64], sender: str, count: int) -> list[int]:
    if limbs.shape != (count, _LIMBS):
        raise ProtocolError(
            f"{sender!r} sent sums of another shape",
            expected=f"{(count, _LIMBS)}",
            got=f"{limbs.shape}",
            cure="all roles must run the same job and release",
        )
    return _from_bytes(limbs.astype("<u8").tobytes())


def _from_bytes(content: bytes) -> list[int]:
    return [
        int.from_bytes(content[start : start + _NUMBER_BYTES], "little")
        for start in range(0, len(content), _NUMBER_BYTES)
    ]


def _refuse_sums(aggregator: str, expected: str) -> None:
    raise ProtocolError(
        f"the sums over all hosts' rows that {aggregator!r} returned cannot be",
        expected=expected,
        got="others",
        cure="find out which host or aggregator departs from the protocol",
    )
