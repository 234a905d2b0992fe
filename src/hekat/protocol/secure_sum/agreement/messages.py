"""Messages beside the sums, whatever protects them: clipping bounds, and the comparison of models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import disclosed, message, public


@message("horizontal/range", version=1)
@dataclass(frozen=True)
class RangeMessage:
    """Party to aggregator, `daciq` clipping only: per-tensor ranges (BatchCrypt, Algorithm 1, line 11)."""

    minimum: npt.NDArray[np.float64] = disclosed("the smallest value of each tensor of this party's update")
    maximum: npt.NDArray[np.float64] = disclosed("the largest value of each tensor of this party's update")
    sizes: npt.NDArray[np.int64] = public()


@message("horizontal/clip", version=1)
@dataclass(frozen=True)
class ClipMessage:
    """Aggregator to each party, `daciq` clipping only: the clipping bound of each tensor."""

    alpha: npt.NDArray[np.float64] = disclosed("clipping bounds fitted to the extreme values over all parties")


@message("horizontal/round-end", version=1)
@dataclass(frozen=True)
class RoundEndMessage:
    """Party to aggregator after every round: all models must be the same, and all must agree to go on or to stop."""

    model_digest: bytes = disclosed("a keyed digest of the model; equal or not is all the aggregator sees")
    finished: bool = public()


@message("horizontal/round-agreed", version=1)
@dataclass(frozen=True)
class RoundAgreedMessage:
    """Aggregator to each party: every party holds the same model after this round."""

    party_count: int = public()


@message("horizontal/final-model", version=1)
@dataclass(frozen=True)
class FinalModelMessage:
    """Party to each other party, once training has ended; the signature binds digest, session and party."""

    digest: bytes = disclosed(
        "a keyed digest of the final model and of the sums before it; equal or not is what it tells"
    )
    signature: bytes = public()


@message("horizontal/final-mark", version=1)
@dataclass(frozen=True)
class FinalMarkMessage:
    """Party to aggregator in a job of many parties, once training has ended; the signature binds mark and session."""

    mark: bytes = disclosed(
        "a digest of the party's final model and of the sums before it, under the parties' key and with the party's "
        "name: to parties it tells whether their models are equal, to the aggregator nothing"
    )
    signature: bytes = public()


@message("horizontal/final-marks", version=1, read_once=True)
@dataclass(frozen=True)
class FinalMarksMessage:
    """Aggregator to each party: what each party said of its final model, as that party signed it."""

    marks: dict[str, bytes] = disclosed("the marks of all parties; equal or not is what they tell of a final model")
    signatures: dict[str, bytes] = public()
