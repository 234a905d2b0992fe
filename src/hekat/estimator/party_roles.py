"""What one party does in a training and in a prediction: common rows first, where it has ids; then its role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.estimator.common_rows import Rows, common_rows_of
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import PredictionSettings, predict_scores
from hekat.protocol.vertical_linear.roles import run_role
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.scheme.paillier import KeyPair

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrainingRole:
    """One party's side of a training: called with its channel and stopwatch, it returns its part of the model.

    `table` is None at an arbiter. `start_from` are the weights of an earlier part, for a warm start.
    """

    settings: VerticalLinearSettings
    table: Table | None
    intersection: IntersectionSettings | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    start_from: Mapping[str, npt.NDArray[Any]] | None = None
    on_epoch: Callable[[EpochRecord], None] = lambda record: None

    def __call__(self, channel: RecordedChannel, stopwatch: Stopwatch) -> ModelPart | None:
        table = self.table
        if table is not None and self.intersection is not None:
            table = table.take(common_rows_of(channel, table, self.intersection, stopwatch))
        run = PartyRun(stopwatch, on_epoch=self.on_epoch, start_from=self.start_from, key_pair=self.key_pair)
        return run_role(channel, table, self.settings, run)


@dataclass(frozen=True)
class PartyScores:
    """What one party has of a prediction: the numbers of its rows that were predicted (None: all, in their order), and
    their scores (rows, K) (None: it receives none)."""

    rows: Rows | None = field(repr=False)
    scores: FloatArray | None = field(repr=False)


@dataclass(frozen=True)
class PredictionRole:
    """One party's side of a prediction. `count_predictions` is told of its rows, and may refuse them."""

    settings: PredictionSettings
    part: ModelPart
    table: Table
    intersection: IntersectionSettings | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    count_predictions: Callable[[int], None] = lambda row_count: None

    def __call__(self, channel: RecordedChannel, stopwatch: Stopwatch) -> PartyScores:
        rows, table = None, self.table
        if self.intersection is not None:
            rows = common_rows_of(channel, table, self.intersection, stopwatch)
            table = table.take(rows)
        run = PartyRun(stopwatch, key_pair=self.key_pair, count_predictions=self.count_predictions)
        return PartyScores(rows, predict_scores(channel, self.part, table, self.settings, run))
