"""What a host sends of its sums: `conceal` makes it, `open_answers` reads it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hekat.engine.interface import IndexArray
from hekat.engine.ring.interface import RingArray
from hekat.errors import InputError
from hekat.scheme.bin_sums.keys import PublicKey
from hekat.scheme.bin_sums.layout import SumLayout
from hekat.scheme.bin_sums.rows import check_layout


@dataclass(frozen=True)
class Answers:
    """Sums of the segments from `first_segment` on: c1 (answers, N), c0 (numbers, C), integers below 2^w.

    Answers and numbers lie segment by segment, windows and bins ascending. Raises InputError for another layout and
    for larger integers.
    """

    key: PublicKey
    layout: SumLayout
    first_segment: int
    bin_counts: IndexArray
    c1: RingArray = field(repr=False)
    c0: RingArray = field(repr=False)

    def __post_init__(self) -> None:
        check_layout(self.key, self.layout)
        if self.bin_counts.ndim != 1 or (self.bin_counts.size and int(self.bin_counts.min()) < 0):
            raise InputError("answers have the wrong layout", expected="0 or more bins a segment", got="others")
        expected = answer_shapes(self.layout, self.bin_counts)
        got = (self.c1.shape, self.c0.shape)
        if got != expected or self.c1.dtype != np.uint64 or self.c0.dtype != np.uint64:
            raise InputError("answers have the wrong layout", expected=f"shapes {expected}", got=f"shapes {got}")
        if any(x.size and int(x.max()) >> self.layout.sent_bits for x in (self.c1, self.c0)):
            raise InputError(
                "answers hold too large an integer", expected=f"below 2^{self.layout.sent_bits}", got="more"
            )

    def __repr__(self) -> str:
        return f"Answers({len(self.c1)} of {len(self.bin_counts)} segments, {len(self.c0)} numbers)"


def answer_shapes(layout: SumLayout, bin_counts: IndexArray) -> tuple[tuple[int, int], tuple[int, int]]:
    """The shapes of c1 and c0 for segments with so many bins each."""
    return (int(layout.windows(bin_counts).sum()), layout.parameters.degree), (int(bin_counts.sum()), layout.components)
