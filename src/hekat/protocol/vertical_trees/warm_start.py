"""A warm start: the scores that an earlier model gives the rows of a training, predicted jointly as any other rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings


def predict_before(channel: RecordedChannel, table: Table, run: TreesRun) -> npt.NDArray[np.float64] | None:
    """The scores (rows, K) of the training rows at the guest, by the model that training goes on with.

    None at hosts, and where no model or a resumed run is gone on with. The rows count as predicted: the guest hears
    their sides at all splits of the earlier model. Raises as `predict_scores`.
    """
    part = run.start_from
    if part is None or run.resume_from is not None:
        return None
    # Training goes on with scores of what it saw, answers or labels: nothing is corrected.
    return predict_scores(channel, replace(part, label_privacy=None), table, TreePredictionSettings.of(part), run)
