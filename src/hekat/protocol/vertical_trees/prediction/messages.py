"""Every message of a joint prediction with trees across columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import disclosed, message, public


@message("vertical-trees/prediction-call", version=1)
@dataclass(frozen=True)
class TreePredictionCallMessage:
    """Guest to each host, first: which model, how many rows, who receives the scores, and the splits of the host."""

    model_id: str = public()
    row_count: int = public()
    receivers: list[str] = public()
    split_count: int = public()


@message("vertical-trees/prediction-sides", version=1)
@dataclass(frozen=True)
class PredictionSidesMessage:
    """Host to guest, for some rows: the side of each row at every split of the host, 1 for left.

    Packed bits, split by split, each split's rows filled up to whole bytes with zeros.
    """

    sides: bytes = disclosed("on which side of every split of the host each row lies")


@message("vertical-trees/prediction-scores", version=1)
@dataclass(frozen=True)
class TreeScoresMessage:
    """Guest to every other receiver: the score of every row, (rows, K)."""

    scores: npt.NDArray[np.float64] = disclosed("the score of every row")
