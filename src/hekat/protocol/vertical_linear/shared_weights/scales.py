"""The scales of the integers behind shares, as powers of two, and how large these integers may become."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.errors import BoundError
from hekat.protocol.shares.share_array import RING_BITS
from hekat.protocol.vertical_linear.training_settings import FixedPoint

# Prepared features and targets stay below 2^15: thirty thousand spreads from the mean.
LIMIT_BITS = 15
TARGET_LIMIT_BITS = 47
# Mean gradients and residuals stay far below 2^10 unless training diverges.
RANGE_BITS = 10
# Truncating a number below 2^l fails with odds of 2^(l - 127): at most 2^-32 at the very end of this range.
TRUNCATED_BITS = 95


@dataclass(frozen=True)
class Scales:
    """Weights, scores and mean gradients at 2^-value_bits, features at 2^-feature_bits.

    A residual d = u / 4 - y / 2 (logistic) or u - y (linear) stands at 2^-(value_bits + residual_shift): the factor of
    a score goes into the scale, so that nothing is rounded.
    """

    fixed_point: FixedPoint
    task: str

    @property
    def feature_bits(self) -> int:
        return self.fixed_point.feature_bits

    @property
    def value_bits(self) -> int:
        return self.fixed_point.value_bits

    @property
    def feature_limit_bits(self) -> int:
        """Features as integers stay below 2^feature_limit_bits."""
        return self.feature_bits + LIMIT_BITS

    @property
    def target_bits(self) -> int:
        """The scale of targets: whole numbers for classes, the scale of scores for a regression."""
        return 0 if self.task == "logistic" else self.value_bits

    @property
    def target_limit_bits(self) -> int:
        """Targets as integers stay below 2^target_limit_bits."""
        return 1 if self.task == "logistic" else min(TARGET_LIMIT_BITS, self.value_bits + LIMIT_BITS)

    @property
    def residual_shift(self) -> int:
        """The factor of scores in a residual: d = u 2^-residual_shift - y 2^-target_shift."""
        return 2 if self.task == "logistic" else 0

    @property
    def target_shift(self) -> int:
        """The factor of targets in a residual, see `residual_shift`."""
        return 1 if self.task == "logistic" else 0

    @property
    def residual_bits(self) -> int:
        """The scale of residuals."""
        return self.value_bits + self.residual_shift

    @property
    def target_lift(self) -> int:
        """How many bits a target's integer is shifted by to become a part of a residual."""
        return self.residual_bits - self.target_shift - self.target_bits

    @property
    def target_error(self) -> float:
        """How far a target's integer may lie from the target."""
        return 0.0 if self.task == "logistic" else 2.0 ** -(self.target_bits + 1)

    def gram_gradient_bits(self, row_count: int) -> int:
        """The bits of a batch's gradient by the Gram matrix, before truncation, at the end of the range."""
        return 2 * self.feature_bits + self.residual_bits + row_count.bit_length() + RANGE_BITS

    def check(self, row_count: int, largest_batch: int) -> None:
        """Raise BoundError where sums over so many rows leave no room in the ring for safe truncation."""
        gradient = self.feature_bits + self.residual_bits + largest_batch.bit_length() + RANGE_BITS
        squares = 2 * self.residual_bits + row_count.bit_length() + RANGE_BITS
        if gradient > TRUNCATED_BITS or squares > RING_BITS - 2:
            raise BoundError(
                "sums over rows do not fit into 128 bits at these scales",
                expected=f"at most {TRUNCATED_BITS} bits for gradients, {RING_BITS - 2} for squares of residuals",
                got=f"{gradient} and {squares} bits",
                cure="choose smaller fixed_point.feature_bits or value_bits, or a smaller training.batch_rows",
            )


def rows_shift(row_count: int) -> int:
    """floor(log2 rows): a sum over rows is divided by this power of two, exactly, on the way to its mean."""
    return row_count.bit_length() - 1
