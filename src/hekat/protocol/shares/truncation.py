"""Truncation: shares of a number become shares of the number without its last bits, each party by itself.

The guest floors its share, and the host floors the negation of its own share. Together they are off by less than one
unit, unless the guest's share lies so near the end of the ring that the sum of shares wraps. For a uniform share and a
number of magnitude below 2^l the odds of that are below 2^(l + 1 - 128). Then the result is off by 2^(128 - bits),
which no caller can miss: the loss, which the guest opens, is far beyond its range. Source: Mohassel and Zhang 2017
(SecureML), theorem 1.

The theorem needs a uniform share. Sums and known multiples of truncated shares are not uniform, so both parties grow a
pad from a public seed first; it is added to one share and taken off the other. The pad hides nothing.
"""

from __future__ import annotations

from hekat.protocol.shares.public_pads import PublicPads
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    negate,
    shift_left,
    shift_right,
    subtract,
)


class Truncation:
    """One party's side of truncation. Both parties call it in the same order with arrays of the same shapes."""

    def __init__(self, seed: bytes, *, is_guest: bool) -> None:
        self._pads, self._is_guest = PublicPads(seed), is_guest

    def truncate(self, a: ShareArray, bits: int) -> ShareArray:
        """Shares of the number divided by 2^bits, off by less than 1; 0 < bits < 128."""
        pad = self._pads.draw(a.shape[:-1])
        if self._is_guest:
            return shift_right(add_shares(a, pad), bits)
        return negate(shift_right(negate(subtract(a, pad)), bits))

    def rescale(self, a: ShareArray, from_bits: int, to_bits: int) -> ShareArray:
        """Bring shares from a scale of 2^-from_bits to 2^-to_bits: exactly where the new scale is finer."""
        if to_bits >= from_bits:
            return shift_left(a, to_bits - from_bits)
        return self.truncate(a, from_bits - to_bits)
