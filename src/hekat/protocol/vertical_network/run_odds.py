"""With what odds a truncation goes astray anywhere in a run, before the run begins.

Truncated shares are astray with odds of 2^(l + 1 - 128) a number of magnitude below 2^l
(`hekat.protocol.shares.truncation`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from hekat.errors import BoundError
from hekat.ledger import Ledger
from hekat.protocol.shares.share_array import RING_BITS
from hekat.protocol.vertical_network.fixed_point import GRADIENT_BITS, SHARE_BITS, WHOLE_BITS
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings

LEAST_RUN_BITS: Final = 32
"""Odds above 2^-32 for a whole run are refused."""


def run_bits(settings: VerticalNetworkSettings, widths: Sequence[int], steps: int, batch_rows: int) -> float:
    """The odds that any truncation of a run of `steps` steps is astray are two to the minus so many.

    `widths` are the hosts'. A weight is below 8; a velocity below what the largest gradients add up to.
    """
    training = settings.training
    odds = 2.0 ** (SHARE_BITS + WHOLE_BITS + 1 - RING_BITS)
    if training.momentum_units:
        # Features and slopes are below 8, and the penalty is smaller than their sum.
        gradient = batch_rows * 2.0 ** (GRADIENT_BITS + 2 * WHOLE_BITS + 1)
        velocity = gradient / (1 - training.momentum_units / 256)
        odds += 2 * velocity * training.momentum_units / 2.0**RING_BITS
    return -math.log2(odds * sum(widths) * settings.network.units * steps)


def check_odds(
    ledger: Ledger, settings: VerticalNetworkSettings, widths: Sequence[int], steps: int, batch_rows: int
) -> None:
    """Note the odds of the run. Raises BoundError where they are above 2^-LEAST_RUN_BITS."""
    bits = run_bits(settings, widths, steps, batch_rows)
    cure = "train fewer epochs, or in larger batches"
    refuse_odds(bits, "a truncation of the shared weights", "run", f"in {steps:,} steps", cure)
    ledger.note("setup", f"a truncated weight goes astray in the run with odds of at most 2^-{bits:.0f}", "public")


def refuse_odds(bits: float, what: str, whole: str, counted: str, cure: str) -> None:
    """Raise BoundError where the odds of 2^-bits that `what` goes astray in the whole run are above 2^-LEAST_RUN_BITS.

    `whole` names what is counted as one run, and `counted` says how long it is.
    """
    if bits < LEAST_RUN_BITS:
        raise BoundError(
            f"{what} would go astray too often",
            expected=f"odds of at most 2^-{LEAST_RUN_BITS} for the whole {whole}",
            got=f"2^-{bits:.1f} {counted}",
            cure=cure,
        )
