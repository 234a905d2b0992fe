"""A sealed network on the joined rows, in floats, which a run of form sealed is compared with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hekat.launch.vertical_network.joined_columns import joined_columns
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.sealed.first_shares import ADDEND_VARIANCE
from hekat.protocol.vertical_network.sealed.float_network import FloatNetwork
from hekat.protocol.vertical_network.sealed.prediction.log_odds import log_odds_of
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.run.vertical.role import PartyOutcome

FloatArray = npt.NDArray[np.float64]


class JoinedSealed:
    """All columns in one place; the first weights are drawn as the parties' sum is."""

    def __init__(self, settings: VerticalNetworkSettings, outcomes: Mapping[str, PartyOutcome[NetworkPart]]) -> None:
        guest, training = outcomes[settings.guest].rows, settings.training
        sides = [joined_columns(outcomes[name], training, is_guest=name == settings.guest) for name in settings.parties]
        self._columns, self._test_columns = (np.column_stack(side) for side in zip(*sides, strict=True))
        self._labels = 2 * read_labels(guest, settings).astype(np.float64) - 1
        self._plan = RowPlan.of(len(guest), training)
        shape = (self._columns.shape[1] + 1, settings.network.units + 1)
        scale = (len(settings.parties) * ADDEND_VARIANCE / shape[0]) ** 0.5
        self._network = FloatNetwork(np.random.default_rng().normal(scale=scale, size=shape), training)

    def train_epoch(self) -> float:
        """Take the steps of an epoch; the mean Taylor loss of its rows, each before its batch's step."""
        return self._network.train_epoch(self._columns, self._labels, self._plan)

    def scores(self) -> FloatArray:
        """The log-odds (rows, 1) of the test rows."""
        return log_odds_of(self._network.scores(self._test_columns))[:, np.newaxis]
