"""The epoch's loss as integers: each party's part of the mean of d^2 at a public scale, and the loss from their sum.

The sum of d^2 over rows is the sum over parties of (score factor) w . X^T d, less (target factor) y . d. Each party
knows its own term of the first sum from its gradients. The guest adds up y . d encrypted, over the batches of an epoch,
so that it learns the loss of the epoch and no finer sum. The arbiter tells the upper bits of the number that it opens;
under its mask the guest finds the loss to one unit of 2^-told_loss_bits (`loss_bits`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hekat.errors import DivergedError
from hekat.protocol.vertical_linear.arbiter.sum_layout import SHARE_LIMIT_BITS, SumLayout
from hekat.protocol.vertical_linear.fixed_point import IntArray, encode_numbers
from hekat.protocol.vertical_linear.objective import Residual

FloatArray = npt.NDArray[np.float64]


def encode_target_shares(targets: FloatArray, residual: Residual, layout: SumLayout, party: str) -> IntArray:
    """Integers (K, rows) for the targets (rows, K) of a batch.

    Their product with the residuals is the batch's part of -(target factor) y . d in the epoch's mean.
    """
    share = residual.target_factor / (layout.batches * len(targets) * layout.targets)
    return encode_numbers(-share * targets.T, layout.share_bits, SHARE_LIMIT_BITS, f"targets of {party}")


def encode_loss_part(batch_parts: Sequence[float], layout: SumLayout) -> int:
    """Turn a party's parts of the batches' means of d^2 into one integer of the epoch. Raises DivergedError."""
    scaled = math.ldexp(math.fsum(batch_parts) / layout.batches, layout.loss_bits)
    if not abs(scaled) <= layout.loss_part_bound:
        raise DivergedError(
            "the loss cannot be written as an integer of its scale",
            expected=f"magnitudes below 2^{layout.loss_part_bound.bit_length() - layout.loss_bits}",
            got="a larger one: training diverges",
            cure="lower training.learning_rate",
        )
    return round(scaled)


def decode_loss(total: int, residual: Residual, layout: SumLayout) -> float:
    """The loss, from the sum of all parts without the bits that the arbiter tells nobody."""
    return residual.loss(math.ldexp(total, layout.loss_cut_bits - layout.loss_bits))
