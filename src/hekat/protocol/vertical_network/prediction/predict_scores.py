"""Joint prediction with the parts of a split network."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings

FloatArray = npt.NDArray[np.float64]


def predict_scores(
    channel: RecordedChannel, part: NetworkPart, table: Table, settings: NetworkPredictionSettings, run: NetworkRun
) -> FloatArray | None:
    """Play this party's role in a joint prediction of the rows of `table`."""
    raise NotImplementedError
