"""The epoch's loss as integers: each party's part of the mean of d^2, at a public scale, and what comes of the sum.

The sum of d^2 over rows is the sum over parties of (score factor) w . X^T d, less (target factor) y . d. The first
parts each party has in the clear from its own gradients. The last the guest adds up encrypted, over the batches of an
epoch, so that it learns the loss of the epoch and no finer sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError
from hekat.protocol.vertical_linear.arbiter.signed_limbs import WIDE_BITS, IntegerArray, as_objects
from hekat.protocol.vertical_linear.fixed_point import IntArray, encode_numbers
from hekat.protocol.vertical_linear.objective import Residual
from hekat.protocol.vertical_linear.settings import FixedPoint

FloatArray = npt.NDArray[np.float64]
# A target's share of the mean over all rows keeps so many bits.
SHARE_BITS = 21
SHARE_LIMIT_BITS = 40


@dataclass(frozen=True)
class LossScale:
    """At what scale parts of the loss are integers; all parties make the same from public counts."""

    batch_sizes: tuple[int, ...]
    target_count: int
    value_bits: int

    @classmethod
    def of(cls, batches: Sequence[IntArray], target_count: int, fixed_point: FixedPoint) -> LossScale:
        return cls(tuple(len(rows) for rows in batches), target_count, fixed_point.value_bits)

    @property
    def share_bits(self) -> int:
        """Of a row's share 1 / (batches rows K) of the epoch's mean."""
        largest = max(self.batch_sizes) * len(self.batch_sizes) * self.target_count
        return SHARE_BITS + (largest - 1).bit_length()

    def target_rows(self, targets: FloatArray, residual: Residual, party: str) -> IntArray:
        """Integers (K, rows) whose product with the residuals of a batch is -(target factor) y . d of the epoch."""
        share = 1.0 / (len(self.batch_sizes) * len(targets) * self.target_count)
        shares = -residual.target_factor * share * targets.T
        return encode_numbers(shares, self.share_bits, SHARE_LIMIT_BITS, f"targets of {party}")

    def encode_part(self, batch_parts: Sequence[float]) -> IntegerArray:
        """A party's parts of each batch's mean of d^2 as one integer of the epoch, shape (1,). Raises BoundError."""
        mean = math.fsum(batch_parts) / len(self.batch_sizes)
        scaled = math.ldexp(mean, self.share_bits + self.value_bits)
        if not abs(scaled) < 2.0 ** (WIDE_BITS - 1):
            raise BoundError(
                "the loss cannot be written as an integer of its scale",
                expected=f"magnitudes below 2^{WIDE_BITS - 1 - self.share_bits - self.value_bits}",
                got="a larger one: training diverges",
                cure="lower training.learning_rate",
            )
        return as_objects([round(scaled)])

    def decode(self, total: int, residual: Residual) -> float:
        """The loss, from the sum of all parts."""
        return residual.loss(math.ldexp(total, -(self.share_bits + self.value_bits)))
