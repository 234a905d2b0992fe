"""Sizes and scales of a sealed network, as powers of two.

With X the columns of both parties, W_j the weights of unit j, L linear ones, sigma_j = 1 or -1 and labels y = 1 or -1:

    P = X [W | L]      s = sum over j of sigma_j P_j^2 / 4 + P_L      d = s / 4 - y / 2
    dW_j = sigma_j X^T (d o P_j) / 2      dL = X^T d      mean loss = 2 mean d^2 + ln 2 - 1/2

Numbers mod 2^128 come from products of matrices, numbers mod t = p1 p2 from products entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hekat.errors import InputError
from hekat.protocol.shares.modular_shares import ModularRing
from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, OUTPUT_BITS, SHARE_BITS, WEIGHT_BITS
from hekat.scheme.bfv import PRODUCTS
from hekat.scheme.bfv.slot_products import SLOT_PRIMES

SLOT_RING: Final = ModularRing(SLOT_PRIMES)
SLOTS: Final = PRODUCTS.degree
UNIT_BITS: Final = 12
"""P."""
SCORE_BITS: Final = 2 * UNIT_BITS + 2
"""s; s / 4 is the same integer at two bits more."""
RESIDUAL_BITS: Final = 14
"""d."""
SLOPE_BITS: Final = 20
"""Q = d o P."""
GRADIENT_BITS: Final = FEATURE_BITS + SLOPE_BITS + 1
RATE_BITS: Final = SHARE_BITS - GRADIENT_BITS
"""A rate at this scale takes a gradient to the scale of weights in shares."""
PENALTY_BITS: Final = GRADIENT_BITS - WEIGHT_BITS
"""A penalty at this scale takes weights as used to the scale of a gradient."""
LINEAR_LIFT: Final = GRADIENT_BITS - FEATURE_BITS - RESIDUAL_BITS
UNIT_SHIFT: Final = OUTPUT_BITS - UNIT_BITS
RESIDUAL_SHIFT: Final = SCORE_BITS + 2 - RESIDUAL_BITS
SLOPE_SHIFT: Final = RESIDUAL_BITS + UNIT_BITS - SLOPE_BITS


def signs_of(units: int) -> tuple[int, ...]:
    """The fixed, public signs of so many units: 1 and -1 by turns, so that half of the squares may take away."""
    return tuple(1 - 2 * (unit % 2) for unit in range(units))


@dataclass(frozen=True)
class SealedShape:
    """A batch of `rows` rows; columns of guest and host, and the signs of all units.

    Raises InputError for no rows, more than slots, no columns at a party, or other signs.
    """

    rows: int
    guest_width: int
    host_width: int
    signs: tuple[int, ...]

    def __post_init__(self) -> None:
        fits = 1 <= self.rows <= SLOTS and min(self.guest_width, self.host_width, len(self.signs)) >= 1
        if not fits or not set(self.signs) <= {1, -1}:
            raise InputError(
                "sizes of a sealed network refused",
                expected=f"1 to {SLOTS} rows, columns at both parties, a sign of 1 or -1 for each unit",
                got=f"{self.rows:,} rows, {self.guest_width} and {self.host_width} columns, {len(self.signs)} signs",
            )

    @property
    def width(self) -> int:
        """Columns of both."""
        return self.guest_width + self.host_width

    @property
    def units(self) -> int:
        """Squared units; the linear one stands behind them."""
        return len(self.signs)

    @property
    def padded_rows(self) -> int:
        """The rows of one unit in slots: a power of two, so that no unit lies in two blocks."""
        return 1 << (self.rows - 1).bit_length()

    @property
    def slots(self) -> int:
        """Slots of all units and the linear one."""
        return (self.units + 1) * self.padded_rows

    @property
    def block_slots(self) -> int:
        """Slots of one block, or of all units where these take less."""
        return min(SLOTS, self.slots)
