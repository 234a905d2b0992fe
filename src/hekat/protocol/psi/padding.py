"""The public ladder of sizes: every list is filled up to the next rung, so that a set shows its size only roughly.

The rungs are 256, and then 32 to each doubling. All sets of up to 256 ids look alike; a larger set grows by less than
1/32.
"""

from __future__ import annotations

from typing import Final

SMALLEST_RUNG: Final = 256
RUNGS_PER_DOUBLING: Final = 32


def padded_count(count: int) -> int:
    """The lowest rung that is not below `count`."""
    if count <= SMALLEST_RUNG:
        return SMALLEST_RUNG
    step = (1 << (count - 1).bit_length() - 1) // RUNGS_PER_DOUBLING
    return -(-count // step) * step
