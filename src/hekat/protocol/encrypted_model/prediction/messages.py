"""The messages of a prediction by an encrypted model that training has not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message


@message("encrypted-model/prediction-call", version=1)
@dataclass(frozen=True)
class PredictionCallMessage:
    """The asker to all other roles, once."""

    row_count: int = disclosed("how many rows are scored")


@message("encrypted-model/prediction-products", version=1)
@dataclass(frozen=True)
class PredictionProductsMessage:
    """The asker to the arbiter: scores under masks uniform in the whole ring, which the asker keeps."""

    values: bytes = ciphertext(under="the arbiter's key; it opens uniform numbers: its share of the scores")


@message("encrypted-model/score-share", version=1)
@dataclass(frozen=True)
class ScoreShareMessage:
    """Arbiter and asker to the receiver: a share of every score, mod 2^24 (rows, K)."""

    share: npt.NDArray[np.uint64] = disclosed("the score of every row to 2^-12, mod 2^24, with the other share of it")
