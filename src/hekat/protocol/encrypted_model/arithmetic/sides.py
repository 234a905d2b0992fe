"""What each role computes in a round, whatever protects the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hekat.protocol.shares.share_array import ShareArray


class ArbiterSide(Protocol):
    """Holds the key; shares are (size, K, 2)."""

    def encrypt(self, share: ShareArray) -> bytes:
        """The arbiter's share of the weights, encrypted."""
        ...

    def open(self, total: bytes) -> ShareArray:
        """The arbiter's share of what `AggregatorSide.add` gave."""
        ...


class AggregatorSide(Protocol):
    """Holds no key."""

    def complete(self, share: bytes, own: ShareArray) -> bytes:
        """The encrypted weights: the arbiter's share and the aggregator's own."""
        ...

    def add(self, updates: Mapping[str, bytes]) -> tuple[bytes, ShareArray]:
        """The sum of all updates, by host, under a fresh mask, and the aggregator's share of the sum.

        Raises ProtocolError for bytes that cannot be read, and names the host.
        """
        ...


class HostSide(Protocol):
    """Holds its map and no key."""

    def update(self, weights: bytes, round_number: int) -> bytes:
        """Its map of the encrypted weights, hidden for the sum over hosts."""
        ...
