"""The roles that an estimator plays: each takes its party's channel and stopwatch, and returns what the party keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.label_privacy import OwnLabels
from hekat.protocol.vertical.matching import Matching
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.roles import run_role
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.scheme.paillier import KeyPair

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrainingRole:
    """One party's side of a training; returns its part of the model, None at an arbiter.

    `table` is None at an arbiter. `start_from` are the weights of an earlier part, for a warm start. Scores that
    probabilities are fitted to are told to 2^-score_bits at the finest; `count_predictions` is told how many rows have
    them, and may refuse. `own_labels` is what a guest keeps of its labels, for label privacy.
    """

    settings: VerticalLinearSettings
    table: Table | None
    intersection: IntersectionSettings | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    start_from: Mapping[str, npt.NDArray[Any]] | None = None
    on_epoch: Callable[[EpochRecord], None] = lambda record: None
    score_bits: int = SCORE_BITS
    count_predictions: Callable[[int], None] = lambda row_count: None
    own_labels: OwnLabels | None = None

    def __call__(self, channel: RecordedChannel, stopwatch: Stopwatch) -> ModelPart | None:
        run = PartyRun(
            stopwatch,
            on_epoch=self.on_epoch,
            start_from=self.start_from,
            key_pair=self.key_pair,
            count_calibration=lambda part, row_count: self.count_predictions(row_count),
        )
        if self.table is None:
            return run_role(channel, None, self.settings, run)
        matching = Matching(self.intersection, stopwatch)
        trained = match_and_train(
            channel,
            self.table,
            self.settings,
            matching,
            lambda matched: run,
            score_bits=self.score_bits,
            own_labels=self.own_labels,
        )
        return trained.part


@dataclass(frozen=True)
class PartyScores:
    """What one party has of a prediction.

    Attributes:
        rows: The numbers of the party's rows that were predicted, int64 (rows,); None: all rows, in their order.
        scores: Their scores, float64 (rows, K); None where the party receives none.
    """

    rows: npt.NDArray[np.int64] | None = field(repr=False)
    scores: FloatArray | None = field(repr=False)


@dataclass(frozen=True)
class PredictionRole:
    """One party's side of a prediction. `count_predictions` is told how many rows it has, and may refuse them."""

    settings: PredictionSettings
    part: ModelPart
    table: Table
    intersection: IntersectionSettings | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    count_predictions: Callable[[int], None] = lambda row_count: None

    def __call__(self, channel: RecordedChannel, stopwatch: Stopwatch) -> PartyScores:
        run = PartyRun(stopwatch, key_pair=self.key_pair, count_predictions=self.count_predictions)
        matching = Matching(self.intersection, stopwatch)
        makes_key = self.part.needs_key and self.key_pair is None
        predicted = match_and_predict(
            channel, self.part, self.table, self.settings, matching, lambda matched: run, makes_key=makes_key
        )
        return PartyScores(predicted.matched.positions, predicted.scores)
