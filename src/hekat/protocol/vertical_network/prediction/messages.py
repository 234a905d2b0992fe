"""Every message of a joint prediction with a split network that a training does not have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import disclosed, message, public


@message("vertical-network/prediction-call", version=1)
@dataclass(frozen=True)
class NetworkPredictionCallMessage:
    """Guest to each host, first: which model, how many rows, who receives the scores, and the guest's key."""

    model_id: str = public()
    row_count: int = public()
    receivers: list[str] = public()
    public_key: bytes = public()


@message("vertical-network/prediction-scores", version=1)
@dataclass(frozen=True)
class NetworkScoresMessage:
    """Guest to every other receiver: the score of every row, (rows, K)."""

    scores: npt.NDArray[np.float64] = disclosed("the score of every row")


@message("vertical-network/prediction-key", version=1)
@dataclass(frozen=True)
class SealedPredictionKeyMessage:
    """Host to guest, of a sealed network: the host's key for this prediction, empty under protection `none`."""

    public_key: bytes = public()


@message("vertical-network/prediction-score-share", version=1)
@dataclass(frozen=True)
class SealedScoreShareMessage:
    """Either party to the other where that one receives, of a sealed network: a share of every score, (rows,).

    Shares are at 2^-12 mod 2^28; the sender's noise of the row is in its own.
    """

    share: npt.NDArray[np.uint64] = disclosed(
        "the score of every row to 2^-12, mod 2^28, with the receiver's share of it; to a receiver that lies as many "
        "bits a row of the sender's columns"
    )
