"""Public factors that both parties multiply shares with, such as the learning rate: integers at 2^-FACTOR_BITS."""

from __future__ import annotations

from hekat.errors import JobError
from hekat.protocol.vertical_linear.shared_weights.scales import RANGE_BITS, TRUNCATED_BITS
from hekat.protocol.vertical_linear.training_settings import LinearTraining

FACTOR_BITS = 36
# A factor of so many bits is within 2^-8 of the job's number.
MIN_FACTOR_BITS = 8


def as_integer(factor: float) -> int:
    """The integer that stands for a factor."""
    return round(factor * 2.0**FACTOR_BITS)


def check_factors(training: LinearTraining, value_bits: int) -> None:
    """Raise JobError for factors too small for an integer, or too large for safe truncation of their products."""
    most_bits = TRUNCATED_BITS - RANGE_BITS - FACTOR_BITS - value_bits
    for name, factor in _factors_of(training, training.learning_rate):
        wide = factor >= 2.0**most_bits
        if wide or _is_small(factor):
            raise JobError(
                f"training.{name} cannot be written as an integer of form 'shared_weights'",
                expected=f"0, or from 2^{MIN_FACTOR_BITS - FACTOR_BITS} to 2^{most_bits}",
                got="a larger one" if wide else "a smaller one",
                cure="correct it in the job, or use protection.form = 'arbiter'",
            )


def check_last_factors(training: LinearTraining, batch_count: int) -> None:
    """Raise JobError where decay makes a factor too small for an integer by the last step of `batch_count` an epoch.

    The factor falls from step to step, so the last step decides for all. A training that ends early would not reach
    that step, but nobody knows that before.
    """
    steps = training.epochs * batch_count
    decay = training.optimiser_settings.get("decay", 0.0)
    last_rate = training.learning_rate / (1.0 + decay * (steps - 1))
    for name, factor in _factors_of(training, last_rate):
        if _is_small(factor):
            raise JobError(
                f"decay makes training.{name} too small for an integer of form 'shared_weights'",
                expected=f"2^{MIN_FACTOR_BITS - FACTOR_BITS} or more at every step, the last of {steps} too",
                got=f"learning_rate {last_rate:.3g} by then",
                cure="choose a smaller training.optimiser_settings.decay, fewer epochs or larger batches, "
                "or use protection.form = 'arbiter'",
            )


def _factors_of(training: LinearTraining, rate: float) -> list[tuple[str, float]]:
    """The smallest factors of shares in a step at this rate, by their names in the job; see SharedWeights."""
    l2 = training.l2
    if training.optimiser == "momentum":
        momentum = training.optimiser_settings.get("momentum", 0.0)  # the default fits
        settings = [("optimiser_settings.momentum", momentum), ("l2", l2)]
        return [("learning_rate", rate), *((name, factor) for name, factor in settings if factor)]
    # The rate is multiplied by 2^floor(log2 rows) / rows, which is more than 1/2.
    penalties = [("l2", l2), ("learning_rate * l2", rate * l2)] if l2 else []
    return [("learning_rate", rate / 2), *penalties]


def _is_small(factor: float) -> bool:
    return as_integer(factor).bit_length() < MIN_FACTOR_BITS
