"""Truncation from ring to ring: what both parties floor sums over the integers, so it may be reduced mod anything.

As in `hekat.protocol.shares.truncation` the guest floors its share, and the host the negation of its own one. For a
uniform share a of the guest the host's is v - a, and its negation a - v, an integer of the ring unless v takes it over
an end: for a modulus m, odd or not, that is |v| of m shares. Else the guest's floor(a / 2^f), less the host's floor((a
- v) / 2^f), is v / 2^f over the integers, off by less than one. So each party may reduce its own integer mod 2^128 or
mod t, whatever modulus its shares had. Astray, the sum is off by about m / 2^f.
"""

from __future__ import annotations

import hashlib
from typing import Final

from hekat.protocol.shares.modular_shares import ModularRing, ModularShares
from hekat.protocol.shares.public_pads import PublicPads
from hekat.protocol.shares.share_array import ShareArray, add_shares, negate, shift_right, subtract

PAD_DOMAIN: Final = b"hekat/shares/modular-truncation/1:"


class ModularTruncation:
    """One party's side of truncation between Z_2^128 and Z_t, by 0 to 127 bits.

    Both parties call it in the same order with arrays of the same shapes.
    """

    def __init__(self, seed: bytes, ring: ModularRing, *, is_guest: bool) -> None:
        self.ring = ring
        self._pads, self._is_guest = PublicPads(hashlib.sha256(PAD_DOMAIN + seed).digest()), is_guest

    def into_modular(self, shares: ShareArray, bits: int) -> ModularShares:
        """From shares (..., 2) of v mod 2^128 shares (primes, ...) mod t of v / 2^bits, off by less than 1."""
        return self._modular(shift_right(self._padded_limbs(shares), bits))

    def into_limbs(self, shares: ModularShares, bits: int) -> ShareArray:
        """From shares (primes, ...) of v mod t shares (..., 2) mod 2^128 of v / 2^bits, off by less than 1."""
        floors = shift_right(self._padded_residues(shares), bits)
        return floors if self._is_guest else negate(floors)

    def truncate(self, shares: ModularShares, bits: int) -> ModularShares:
        """From shares (primes, ...) of v mod t shares mod t of v / 2^bits, off by less than 1."""
        return self._modular(shift_right(self._padded_residues(shares), bits))

    def _padded_limbs(self, shares: ShareArray) -> ShareArray:
        """The guest's padded share, or the negation of the host's, as integers."""
        pad = self._pads.draw(shares.shape[:-1])
        return add_shares(shares, pad) if self._is_guest else negate(subtract(shares, pad))

    def _padded_residues(self, shares: ModularShares) -> ShareArray:
        """The same of shares mod t. A pad below 2^128 is uniform mod t but for a part of t / 2^128."""
        ring = self.ring
        pad = ring.from_limbs(self._pads.draw(shares.shape[1:]))
        return ring.to_limbs(ring.add(shares, pad) if self._is_guest else ring.subtract(pad, shares))

    def _modular(self, floors: ShareArray) -> ModularShares:
        residues = self.ring.from_limbs(floors)
        return residues if self._is_guest else self.ring.negate(residues)


def astray_odds(modulus: int, largest: int, count: int = 1) -> float:
    """The odds that any of `count` numbers of magnitudes up to `largest`, in shares mod `modulus`, goes astray."""
    return count * largest / modulus
