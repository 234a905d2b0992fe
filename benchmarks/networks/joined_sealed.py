"""A sealed network with all columns in one place, in float64: the same rows, batches, first weights and steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.protocol.shares.share_array import to_floats
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_network.own_features import draw_seed, standardised
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.sealed.first_shares import ADDEND_VARIANCE
from hekat.protocol.vertical_network.sealed.float_network import FloatNetwork
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import first_addend
from networks.joined_network import SHARE_BITS, prepare_tables

FloatArray = npt.NDArray[np.float64]


@dataclass
class JoinedSealed:
    """`losses` are the mean over rows by epoch."""

    settings: VerticalNetworkSettings
    standardisers: Mapping[str, tuple[FloatArray, FloatArray]]
    """Means and spreads by party."""
    network: FloatNetwork
    losses: list[float] = field(default_factory=list)

    def scores(self, tables: Mapping[str, Table]) -> FloatArray:
        """The scores (rows,) of rows that all parties have in one order; log-odds rise with them."""
        limit = self.settings.training.limit
        columns = [standardised(tables[name], *self.standardisers[name], limit) for name in self.settings.parties]
        return self.network.scores(np.column_stack(columns))


def train_joined_sealed(
    settings: VerticalNetworkSettings, tables: Mapping[str, Table], seeds: Mapping[str, int]
) -> JoinedSealed:
    """Train on all columns; `seeds` are what the parties draw their first weights from."""
    labels = tables[settings.guest].labels
    assert labels is not None
    targets = 2.0 * np.asarray(labels, np.float64) - 1
    prepared = prepare_tables(settings, tables)
    columns = np.column_stack([np.asarray(prepared[name].features, np.float64) for name in settings.parties])
    joined = JoinedSealed(
        settings,
        {name: (one.means, one.spreads) for name, one in prepared.items()},
        FloatNetwork(_first_weights(settings, seeds, columns.shape[1] + 1), settings.training),
    )
    plan = RowPlan.of(len(targets), settings.training)
    joined.losses = [joined.network.train_epoch(columns, targets, plan) for _ in range(settings.training.epochs)]
    return joined


def _first_weights(settings: VerticalNetworkSettings, seeds: Mapping[str, int], width: int) -> FloatArray:
    """What the parties' first shares add up to."""
    drawn = [
        first_addend(
            np.random.default_rng(draw_seed(NetworkRun(Stopwatch(), seed=seeds[name]), 3)),
            width,
            settings.network.units + 1,
            ADDEND_VARIANCE / width,
        )
        for name in settings.parties
    ]
    return np.asarray(sum(to_floats(addend, SHARE_BITS) for addend in drawn))
