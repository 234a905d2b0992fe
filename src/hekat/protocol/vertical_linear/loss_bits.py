"""How finely the guest is told the loss of an epoch, in either form: to 2^-LOSS_BITS, and more coarsely of few rows.

A loss is a function of all rows, of the hosts' columns too, which the guest knows but for these: every bit of it is an
equation on them. A host may hold as little as one yes or no of each row, one bit. So all losses of a run together tell
at most as many bits as the run has rows. Of each those behind the point are counted and one more: the guest knows the
mask, or its share, to every bit, and so where between whole units the ends lie that the loss is between. Of fewer rows
than twice the epochs losses are told in whole numbers, which is as coarse as they get.
"""

from __future__ import annotations

from typing import Final

# Finer digits would tell more of the rows than of the loss.
LOSS_BITS: Final = 24


def told_loss_bits(row_count: int, epochs: int) -> int:
    """Each loss, as a mean square of residuals, is told to one unit of 2^-told_loss_bits. `epochs` as the job has
    them, so that a run that is resumed tells as much."""
    return max(0, min(LOSS_BITS, row_count // epochs - 1))


def describe_told_loss(row_count: int, epochs: int) -> str:
    """The line of the ledger."""
    bits = told_loss_bits(row_count, epochs)
    return (
        f"the guest learns each epoch's mean square of residuals to 2^-{bits}: "
        f"{(bits + 1) * epochs} bits in {epochs} epochs, one of each for where its unit begins, over {row_count} rows"
    )
