"""With what odds a number goes astray anywhere in a run of a sealed network, before the run begins.

Truncated shares mod m of a number v are astray with odds of |v| / m (`hekat.protocol.shares.modular_truncation`); a
product entry by entry misses with the odds of its layout. Numbers are as large as they may be: X and weights below 8,
P below 16, d below 128.
"""

from __future__ import annotations

import math
from typing import Final

from hekat.ledger import Ledger
from hekat.protocol.shares.modular_truncation import astray_odds
from hekat.protocol.shares.share_array import RING_BITS
from hekat.protocol.vertical_network.fixed_point import OUTPUT_BITS, SHARE_BITS, WHOLE_BITS
from hekat.protocol.vertical_network.network_settings import MOMENTUM_BITS
from hekat.protocol.vertical_network.run_odds import refuse_odds
from hekat.protocol.vertical_network.sealed.scales import (
    GRADIENT_BITS,
    RESIDUAL_BITS,
    RESIDUAL_SHIFT,
    SLOPE_BITS,
    SLOPE_SHIFT,
    SLOT_RING,
    SLOTS,
    SealedShape,
)
from hekat.scheme.bfv.slot_products import SLOT_PRIMES, lay_out_slot_sums

UNIT_WHOLE_BITS: Final = 4
RESIDUAL_WHOLE_BITS: Final = 7
_SLOPE_WHOLE_BITS: Final = UNIT_WHOLE_BITS + RESIDUAL_WHOLE_BITS


def run_bits(shape: SealedShape, steps: int, momentum_units: int) -> float:
    """Any number of `steps` batches goes astray with odds of at most two to the minus so many.

    The loss counts as if each batch opened its own.
    """
    ring, t = 1 << RING_BITS, SLOT_RING.modulus
    weights, numbers = shape.width * (shape.units + 1), shape.rows * (shape.units + 1)
    odds = astray_odds(ring, 1 << (WHOLE_BITS + SHARE_BITS), weights)
    odds += astray_odds(ring, 1 << (UNIT_WHOLE_BITS + OUTPUT_BITS), numbers)
    odds += astray_odds(t, 1 << (RESIDUAL_WHOLE_BITS + RESIDUAL_BITS + RESIDUAL_SHIFT), shape.rows)
    odds += astray_odds(t, 1 << (RESIDUAL_WHOLE_BITS + RESIDUAL_BITS), shape.rows)
    odds += astray_odds(t, 1 << (_SLOPE_WHOLE_BITS + SLOPE_BITS + SLOPE_SHIFT), shape.rows * shape.units)
    odds += astray_odds(t, shape.rows << (2 * (RESIDUAL_WHOLE_BITS + RESIDUAL_BITS)))
    if momentum_units:
        # What the largest gradients add up to, times the momentum; a penalty is a 2^10th of them.
        velocity = (1 + 2.0**-10) * shape.rows * 2.0 ** (WHOLE_BITS + _SLOPE_WHOLE_BITS - 1 + GRADIENT_BITS)
        velocity /= 1 - momentum_units / (1 << MOMENTUM_BITS)
        odds += astray_odds(ring, math.ceil(velocity) * momentum_units, weights)
    return -math.log2(steps * (odds + _slot_odds(shape)))


def check_sealed_odds(ledger: Ledger, shape: SealedShape, steps: int, momentum_units: int) -> None:
    """Note the odds of the run. Raises BoundError where they are above 2^-LEAST_RUN_BITS."""
    bits = run_bits(shape, steps, momentum_units)
    cure = "train fewer epochs, with fewer network.units, or with a smaller training.momentum"
    refuse_odds(bits, "a number in shares", "run", f"in {steps:,} batches", cure)
    ledger.note("setup", f"any number in shares goes astray in the run with odds of at most 2^-{bits:.0f}", "public")


def _slot_odds(shape: SealedShape) -> float:
    """Odds that an answer of a batch misses: the folded squares, and the slopes block by block."""
    blocks, odds = -(-shape.slots // SLOTS), 0.0
    for prime in SLOT_PRIMES:
        squares = lay_out_slot_sums(prime=prime, count=shape.slots, folded=True)
        slopes = lay_out_slot_sums(prime=prime, count=shape.slots, terms=2)
        odds += 2**-squares.exact_bits + blocks * 2**-slopes.exact_bits
    return odds
