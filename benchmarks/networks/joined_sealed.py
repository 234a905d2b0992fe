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
from hekat.protocol.vertical_network.sealed.scales import RATE_BITS, signs_of
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import first_addend
from networks.joined_network import SHARE_BITS, prepare_tables

FloatArray = npt.NDArray[np.float64]


@dataclass
class JoinedSealed:
    """`weights` are (columns with the ones, units and the linear one); `losses` the mean over rows by epoch."""

    settings: VerticalNetworkSettings
    standardisers: Mapping[str, tuple[FloatArray, FloatArray]]
    """Means and spreads by party."""
    weights: FloatArray
    losses: list[float] = field(default_factory=list)

    def scores(self, tables: Mapping[str, Table]) -> FloatArray:
        """The scores (rows,) of rows that all parties have in one order; log-odds rise with them."""
        limit = self.settings.training.limit
        columns = [standardised(tables[name], *self.standardisers[name], limit) for name in self.settings.parties]
        return self.score_units(_join(columns) @ self.weights)

    def score_units(self, units: FloatArray) -> FloatArray:
        """s of P."""
        signs = np.array(signs_of(self.settings.network.units))
        return np.asarray(units[:, :-1] ** 2 @ signs / 4 + units[:, -1])


def train_joined_sealed(
    settings: VerticalNetworkSettings, tables: Mapping[str, Table], seeds: Mapping[str, int]
) -> JoinedSealed:
    """Train on all columns; `seeds` are what the parties draw their first weights from."""
    training, labels = settings.training, tables[settings.guest].labels
    assert labels is not None
    targets = 2.0 * np.asarray(labels, np.float64) - 1
    plan, prepared = RowPlan.of(len(targets), training), prepare_tables(settings, tables)
    columns = _join([np.asarray(prepared[name].features, np.float64) for name in settings.parties])
    joined = JoinedSealed(
        settings,
        {name: (one.means, one.spreads) for name, one in prepared.items()},
        _first_weights(settings, seeds, columns.shape[1]),
    )
    velocity = np.zeros_like(joined.weights)
    signs, momentum = np.array(signs_of(settings.network.units)), training.momentum_units / 256
    for _ in range(training.epochs):
        total = 0.0
        for rows in plan.batches:
            units = columns[rows] @ joined.weights
            residuals = joined.score_units(units) / 4 - targets[rows] / 2
            slopes = np.column_stack((residuals[:, np.newaxis] * units[:, :-1] * signs / 2, residuals))
            total += float((residuals**2).sum())
            velocity = momentum * velocity + columns[rows].T @ slopes / len(rows)
            joined.weights = joined.weights - training.taken_rate(len(rows), RATE_BITS) * velocity
        joined.losses.append(2 * total / len(plan.trained) + np.log(2) - 0.5)
    return joined


def _join(columns: list[FloatArray]) -> FloatArray:
    return np.column_stack([np.ones(len(columns[0])), *columns])


def _first_weights(settings: VerticalNetworkSettings, seeds: Mapping[str, int], width: int) -> FloatArray:
    """What the parties' first shares add up to."""
    drawn = [
        first_addend(
            np.random.default_rng(draw_seed(NetworkRun(Stopwatch(), seed=seeds[name]), 3)),
            width,
            settings.network.units + 1,
            0.25 / width,
        )
        for name in settings.parties
    ]
    return np.asarray(sum(to_floats(addend, SHARE_BITS) for addend in drawn))
