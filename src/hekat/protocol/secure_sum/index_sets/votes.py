"""Votes of all parties for blocks of coordinates: their exact counts, many in one integer of a sum.

A party votes for the blocks in which its own update has the most energy. With B = parties + 1, the votes for m blocks
are the digits of one integer in base B; no digit of the sum is above the number of parties, so none carries over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec import level_bound
from hekat.codec.clip import FloatArray
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.integer_sums import sum_integers
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import PIECE_VALUES

BLOCK_VALUES = 64
VOTES = "votes"


def votes_step(step: str) -> str:
    """The sum of votes that goes ahead of the sum of `step`."""
    return f"{step}/{VOTES}"


def block_count(value_count: int) -> int:
    """Blocks of so many values. What is left behind the last one is always sent: so a round's size is known ahead."""
    return value_count // BLOCK_VALUES


def wanted_blocks(value_count: int, kept_count: int) -> int:
    """How many blocks are sent, one or more where there are any, for at least `kept_count` values in all."""
    left = value_count % BLOCK_VALUES
    return min(block_count(value_count), max(1, -(-(kept_count - left) // BLOCK_VALUES)))


def vote(values: Mapping[str, npt.NDArray[Any]], count: int) -> npt.NDArray[np.bool_]:
    """For which blocks this party votes: up to `count`, the ones with the most energy, none without any.

    Blocks run through all tensors in the order of their names, one boolean each.
    """
    energies = _energies(values)
    chosen = largest(energies, min(count, int(np.count_nonzero(energies))))
    ballot = np.zeros(energies.size, dtype=np.bool_)
    ballot[chosen] = True
    return ballot


def largest(scores: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
    """The places of the `count` largest scores, of equal ones the first; the same under every release of NumPy."""
    if not count:
        return np.zeros(0, dtype=np.int64)
    least = np.partition(scores, scores.size - count)[scores.size - count]
    above = np.flatnonzero(scores > least)
    return np.concatenate([above, np.flatnonzero(scores == least)[: count - above.size]])


def count_votes(
    aggregation: Aggregation, step: str, ballot: npt.NDArray[np.bool_], sums: SumSettings
) -> npt.NDArray[np.int64]:
    """How many parties voted for each block. Raises as `sum_integers`."""
    level, party_count = level_bound(sums.codec.value_bits), len(sums.parties)
    base = party_count + 1
    digits = digits_of(level, base)
    powers = base ** np.arange(digits)
    padded = np.zeros(max(1, -(-ballot.size // digits)) * digits, dtype=np.int64)
    padded[: ballot.size] = ballot
    integers = padded.reshape(-1, digits) @ powers
    summed = sum_integers(
        aggregation, votes_step(step), {VOTES: integers}, maximum=level, weight_max=sums.weight_max
    ).tensors[VOTES]
    counts: npt.NDArray[np.int64] = (summed[:, None] // powers % base).reshape(-1)[: ballot.size]
    return counts


def digits_of(level: int, base: int) -> int:
    """How many votes an integer of magnitude up to `level` holds."""
    digits, most = 1, 1
    while most * base + 1 <= level:
        digits, most = digits + 1, most * base + 1
    return digits


def _energies(values: Mapping[str, npt.NDArray[Any]]) -> FloatArray:
    """The sum of squares in each block."""
    value_count = sum(tensor.size for tensor in values.values())
    found = np.zeros(block_count(value_count) + 1)
    place = 0
    for name in sorted(values):
        flat = values[name].reshape(-1)
        for start in range(0, flat.size, PIECE_VALUES):
            piece = flat[start : start + PIECE_VALUES].astype(np.float64)
            # A block may have begun in the tensor before.
            starts = np.arange(-(place % BLOCK_VALUES), piece.size, BLOCK_VALUES).clip(min=0)
            first = place // BLOCK_VALUES
            found[first : first + starts.size] += np.add.reduceat(piece * piece, starts)
            place += piece.size
    return found[:-1]
