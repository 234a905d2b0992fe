"""Every message of a joint prediction where each party holds the weights of its own columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public, sealed


@message("vertical-linear/prediction-call", version=2)
@dataclass(frozen=True)
class PredictionCallMessage:
    """Guest to all other parties, first: which model, how many rows, who receives the scores, and how fine they are.

    Version 1 did not say how fine.
    """

    model_id: str = public()
    row_count: int = public()
    receivers: list[str] = public()
    score_bits: int = public()


@message("vertical-linear/prediction-seed", version=1)
@dataclass(frozen=True)
class PredictionSeedMessage:
    """One sender of parts to another: the seed of a mask that the one adds and the other subtracts."""

    seed: bytes = sealed("a seed of masks for one prediction")


@message("vertical-linear/prediction-masked-part", version=1)
@dataclass(frozen=True)
class MaskedScoresMessage:
    """Party to the receiver that sums, where two parties or more send: its masked part of every score, (rows, K)."""

    values: npt.NDArray[np.uint64] = ciphertext(under="masks among the senders: only the sum of their parts opens")


@message("vertical-linear/prediction-part", version=1)
@dataclass(frozen=True)
class PartialScoresMessage:
    """Party to the receiver that sums, where no other party sends: its part of every score, (rows, K)."""

    values: npt.NDArray[np.uint64] = disclosed("the sender's part of every score, which two parties' score tells")


@message("vertical-linear/prediction-spread", version=1)
@dataclass(frozen=True)
class TargetSpreadMessage:
    """Guest to a host that receives the scores of a linear regression: the unit of the target."""

    spread: float = disclosed("the spread of the guest's target over the training rows")


@message("vertical-linear/prediction-scores", version=1)
@dataclass(frozen=True)
class ScoresMessage:
    """The receiver that summed to every other receiver: the score of every row, (rows, K)."""

    scores: npt.NDArray[np.float64] = disclosed("the score of every row")
