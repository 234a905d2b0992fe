"""The exact twin of a round without protection: the same integers, the same truncation, and all of them in the clear.

Where a mask is uniform otherwise, it is 2^127 here: no number is so large that it takes the sum around the ring.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from hekat.errors import WireTruncatedError
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.fixed_point import IntegerMap
from hekat.protocol.shares.share_array import RING_BITS, ShareArray, add_shares, constant, negate, zero_shares

MASK: Final = constant(1 << (RING_BITS - 1))


class PlainArbiter:
    """Encrypts nothing and opens what is open."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape

    def encrypt(self, share: ShareArray) -> bytes:
        return _to_bytes(share)

    def open(self, total: bytes) -> ShareArray:
        return _from_bytes(total, self._shape)


class PlainAggregator:
    """Adds what is open, and MASK."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape

    def complete(self, share: bytes, own: ShareArray) -> bytes:
        return _to_bytes(add_shares(_from_bytes(share, self._shape), own))

    def add(self, updates: Mapping[str, bytes]) -> tuple[bytes, ShareArray]:
        total = zero_shares(self._shape)
        for host, update in updates.items():
            with blame(host):
                total = add_shares(total, _from_bytes(update, self._shape))
        return _to_bytes(add_shares(total, MASK)), np.broadcast_to(negate(MASK), total.shape)


class PlainHost:
    """Multiplies weights that it can read."""

    def __init__(self, shape: tuple[int, int], own: IntegerMap) -> None:
        self._shape, self._own = shape, own

    def update(self, weights: bytes, round_number: int) -> bytes:
        return _to_bytes(self._own.apply(_from_bytes(weights, self._shape)))


def _to_bytes(share: ShareArray) -> bytes:
    return share.astype("<u8").tobytes()


def _from_bytes(content: bytes, shape: tuple[int, int]) -> ShareArray:
    size_bytes = 16 * shape[0] * shape[1]
    if len(content) != size_bytes:
        raise WireTruncatedError(
            "weights of another shape",
            expected=f"{size_bytes} bytes",
            got=f"{len(content)}",
        )
    return np.frombuffer(content, "<u8").astype(np.uint64).reshape(*shape, 2)
