"""How finely the guest is told the loss of an epoch, in either form: to 2^-LOSS_BITS, and more coarsely of few rows.

A loss is a function of all rows, of the hosts' columns too, which the guest knows but for these: every bit of it is an
equation on them. A host may hold as little as one yes or no of each row, one bit. So all losses of a run together have
at most as many bits behind the point as the run has rows; of less rows than epochs they are told in whole numbers.
"""

from __future__ import annotations

from typing import Final

# Finer digits would tell more of the rows than of the loss.
LOSS_BITS: Final = 24


def told_loss_bits(row_count: int, epochs: int) -> int:
    """Each loss, as a mean square of residuals, is told to one unit of 2^-told_loss_bits. `epochs` as the job has
    them, so that a run that is resumed tells as much."""
    return min(LOSS_BITS, row_count // epochs)


def describe_told_loss(row_count: int, epochs: int) -> str:
    """The line of the ledger."""
    bits = told_loss_bits(row_count, epochs)
    return (
        f"the guest learns each epoch's mean square of residuals to 2^-{bits}: "
        f"{bits * epochs} bits behind the point in {epochs} epochs, over {row_count} rows"
    )
