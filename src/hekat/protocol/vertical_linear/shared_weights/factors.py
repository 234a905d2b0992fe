"""Factors that both parties know and multiply shares with, such as the learning rate: integers at 2^-FACTOR_BITS."""

from __future__ import annotations

from hekat.errors import JobError
from hekat.protocol.vertical_linear.shared_weights.scales import RANGE_BITS, TRUNCATED_BITS

FACTOR_BITS = 36
# So many bits keep a factor within 2^-8 of what the job says.
MIN_FACTOR_BITS = 8


def as_integer(factor: float) -> int:
    """The integer that stands for a factor."""
    return round(factor * 2.0**FACTOR_BITS)


def check_factors(learning_rate: float, l2: float, value_bits: int) -> None:
    """Raise JobError for factors too small for an integer, or too large for safe truncation of what they multiply."""
    for name, factor in (("learning_rate", learning_rate / 2), ("l2", l2), ("learning_rate * l2", learning_rate * l2)):
        integer_bits = as_integer(factor).bit_length()
        wide = value_bits + RANGE_BITS + integer_bits > TRUNCATED_BITS
        if wide or (factor and integer_bits < MIN_FACTOR_BITS):
            raise JobError(
                f"training.{name} cannot be written as an integer of form 'shared_weights'",
                expected=f"0, or from 2^{MIN_FACTOR_BITS - FACTOR_BITS} to 2^"
                f"{TRUNCATED_BITS - RANGE_BITS - FACTOR_BITS - value_bits}",
                got="a larger one" if wide else "a smaller one",
                cure="correct it in the job, or use protection.form = 'arbiter'",
            )
