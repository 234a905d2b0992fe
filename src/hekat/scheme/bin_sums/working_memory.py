"""How much memory a host's sums take, by public facts alone: known before any of it is taken."""

from __future__ import annotations

from typing import Final

import numpy as np

from hekat.engine.interface import IndexArray
from hekat.scheme.bin_sums.layout import SumLayout

RESIDUE_BYTES: Final = 8
# A coefficient of an answer: the number itself, and its bytes in the message, as they are written, sealed and sent.
ANSWER_BYTES: Final = 16
# A block's polynomials: as bytes of the message, as residues, and transformed.
BLOCK_COPIES: Final = 3


def working_bytes(layout: SumLayout, starts: IndexArray, bin_counts: IndexArray) -> int:
    """The most memory that a `BinSummer` and `conceal` have at work for one block of an exchange, in bytes.

    `starts` (S + 1,) and `bin_counts` (S,) as BinSummer takes them. All segments that a block has rows of are added up
    side by side, each in as many windows as the one of most bins needs; their answers lie beside them.
    """
    parameters = layout.parameters
    element = parameters.degree * len(parameters.ring.primes) * RESIDUE_BYTES
    first_halves = layout.components * len(parameters.ring.primes) * layout.window * RESIDUE_BYTES
    windows = layout.windows(bin_counts)
    cuts = np.arange(0, int(starts[-1]), layout.rows_at_once)
    ends = np.minimum(cuts + layout.rows_at_once, starts[-1])
    firsts, lasts = np.searchsorted(starts[1:], cuts, "right"), np.searchsorted(starts[:-1], ends, "left")
    most = 0
    for first, last in dict.fromkeys(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        of_block = windows[first:last]
        side_by_side = of_block.size * int(of_block.max(initial=0))
        sums = side_by_side * (element + first_halves)
        answers = int(of_block.sum()) * parameters.degree + int(bin_counts[first:last].sum()) * layout.components
        most = max(most, sums + answers * ANSWER_BYTES)
    rows = min(int(starts[-1]), layout.rows_at_once)
    return most + BLOCK_COPIES * layout.groups(rows) * (layout.components + 1) * element
