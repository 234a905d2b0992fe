"""How the weights of a training on an encrypted model move."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Final

from hekat.protocol.setting_checks import MAX_SEED, is_whole, refuse_setting

OPTIMISERS: Final = ("sgd", "momentum")
CURES: Final[Mapping[str, str]] = {
    "adam": "Adam divides by a root of squared gradients, which no sum of products gives",
    "rmsprop": "RMSProp divides by a root of squared gradients, which no sum of products gives",
}


@dataclass(frozen=True)
class EncryptedTraining:
    """`rounds` times `local_epochs` epochs at every host over batches of `batch_rows` rows (0: one batch of all rows).

    Batches are drawn once from `seed` and kept, so that an epoch is one affine map of the weights. `momentum` 0 is
    plain gradient descent; the velocity is averaged over hosts as the weights are. `l2` leaves the intercept out.
    `standardise`: columns, and the numbers of a regression, get mean 0 and spread 1 over the rows of all hosts. The
    owner is given the model of every `report_every`-th round (0: only the last one). EncryptedModelSettings checks all.
    """

    rounds: int = 10
    local_epochs: int = 1
    batch_rows: int = 1024
    learning_rate: float = 0.1
    optimiser: str = "momentum"
    momentum: float = 0.9
    l1: float = 0.0
    l2: float = 0.0
    standardise: bool = True
    report_every: int = 0
    seed: int = 1

    @property
    def uses_velocity(self) -> bool:
        """Whether a velocity is carried beside every weight."""
        return self.optimiser == "momentum" and self.momentum > 0

    @property
    def reported_count(self) -> int:
        """How many models the owner is given, the last one included."""
        every = self.report_every
        return 1 if not every else -(-self.rounds // every)

    def reports(self, round_number: int) -> bool:
        """Whether the owner is given the model of this round."""
        every = self.report_every
        return round_number == self.rounds or bool(every and round_number % every == 0)


def check_training(training: EncryptedTraining) -> None:
    """Raise InputError for values out of their range, and for what is no affine map of the weights."""
    if training.optimiser not in OPTIMISERS:
        reason = CURES.get(training.optimiser, "others are no affine map of the weights")
        refuse_setting("training.optimiser", f"'sgd' or 'momentum': {reason}", repr(training.optimiser))
    if training.l1:
        refuse_setting("training.l1", "0: the sign of a weight that nobody reads is unknown", "an l1 above 0")
    for name, value, least in (
        ("rounds", training.rounds, 1),
        ("local_epochs", training.local_epochs, 1),
        ("batch_rows", training.batch_rows, 0),
        ("report_every", training.report_every, 0),
        ("seed", training.seed, 0),
    ):
        if not is_whole(value) or not least <= value <= MAX_SEED:
            refuse_setting(f"training.{name}", f"a whole number of {least} or more", value)
    for name, number, expected, is_in_range in (
        ("learning_rate", training.learning_rate, "a finite number above 0", training.learning_rate > 0),
        ("momentum", training.momentum, "a number of 0 or more and below 1", 0 <= training.momentum < 1),
        ("l2", training.l2, "a finite number of 0 or more", training.l2 >= 0),
    ):
        if not isinstance(number, Real) or not (math.isfinite(number) and is_in_range):
            refuse_setting(f"training.{name}", expected, number)
