"""How finely the guest learns the loss of an epoch, in either form: to 2^-LOSS_BITS, and more coarsely with few rows.

A loss is a function of all rows. The guest knows all of it but the hosts' columns, so every bit of a loss is an
equation on these columns. A host may hold as little as one yes or no of each row: one bit. So all losses of a run
together tell at most as many bits as the run has rows.

Each loss counts as its bits behind the point and one bit more. The guest knows its mask, or its share, to every bit,
and so it knows two ends a unit apart, anywhere between whole units, that the loss lies between. A run with fewer rows
than twice its epochs tells losses in whole numbers, which is as coarse as losses get.
"""

from __future__ import annotations

from typing import Final

# Finer digits would tell more about the rows than about the loss.
LOSS_BITS: Final = 24


def told_loss_bits(row_count: int, epochs: int) -> int:
    """How finely a run tells each loss: a mean square of residuals, to one unit of 2^-told_loss_bits.

    `epochs` is the job's number, so that a resumed run tells no more than one that was not stopped.
    """
    return max(0, min(LOSS_BITS, row_count // epochs - 1))


def describe_told_loss(row_count: int, epochs: int) -> str:
    """The line of the ledger."""
    bits = told_loss_bits(row_count, epochs)
    return (
        f"the guest learns each epoch's mean square of residuals to 2^-{bits}: "
        f"{(bits + 1) * epochs:,} bits in {epochs:,} epochs, one of each for where its unit begins, over "
        f"{row_count:,} rows"
    )
