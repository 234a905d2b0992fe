"""The split network with all columns in one place, in float64: the same rows, batches, first weights and optimisers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.model.split import Bottom, BottomTask, TopTask, dense_bottom, random_features, source_columns
from hekat.protocol.shares.share_array import to_floats
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.columns import Columns, prepare_columns
from hekat.protocol.vertical_network.guest_side.own_network import OwnNetwork
from hekat.protocol.vertical_network.guest_side.top import dense_top
from hekat.protocol.vertical_network.own_features import draw_seed, standardised
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import first_addend

FloatArray = npt.NDArray[np.float64]

SHARE_BITS = 64


@dataclass
class JoinedNetwork:
    """One guest and one host as one network; `losses` are the mean over rows by epoch, each before its batch's step."""

    settings: VerticalNetworkSettings
    prepared: Mapping[str, Columns]
    network: OwnNetwork
    bottom: Bottom
    """The host's."""
    shared: FloatArray
    """W_h, (m, k)."""
    losses: list[float] = field(default_factory=list)

    def scores(self, tables: Mapping[str, Table]) -> FloatArray:
        """The logits (rows,) of rows that all parties have in one order."""
        limit, prepared = self.settings.training.limit, self.prepared
        columns = {
            name: standardised(table, prepared[name].means, prepared[name].spreads, limit)
            for name, table in tables.items()
        }
        guest, host = self.settings.parties
        features = self.bottom.evaluate(columns[host])
        return np.asarray(self.network.evaluate(columns[guest], features @ self.shared)[:, 0])


def train_joined(
    settings: VerticalNetworkSettings, tables: Mapping[str, Table], seeds: Mapping[str, int]
) -> JoinedNetwork:
    """Train on all columns; `seeds` are what the parties of the split network draw their weights from."""
    guest, host = settings.parties
    training, labels = settings.training, tables[guest].labels
    assert labels is not None
    targets = np.asarray(labels, np.float64)[:, np.newaxis]
    plan = RowPlan.of(len(targets), training)
    runs = {name: NetworkRun(Stopwatch(), seed=seed) for name, seed in seeds.items()}
    prepared = prepare_tables(settings, tables)
    columns = {name: np.asarray(one.features, np.float64) for name, one in prepared.items()}
    bottoms = {name: _make_bottom(name, columns[name][plan.trained], settings, runs[name]) for name in tables}
    bottom, count = bottoms[host], sum(one.width for one in bottoms.values())
    top = TopTask(settings.network.units, 1, training.learning_rate, draw_seed(runs[guest], 2))
    network = OwnNetwork(
        bottoms[guest],
        dense_top(settings.network, top),
        2,
        units=settings.network.units,
        learning_rate=training.learning_rate,
        l2=training.l2,
        seed=draw_seed(runs[guest], 1),
        input_count=count,
    )
    joined = JoinedNetwork(settings, prepared, network, bottom, _first_weights(settings, runs, bottom.width, count))
    velocity = np.zeros_like(joined.shared)
    momentum = training.momentum if training.shared_optimiser == "momentum" else 0.0
    for _ in range(training.epochs):
        total = 0.0
        for rows in plan.batches:
            features = bottom.forward(columns[host][rows])
            outputs = network.forward(columns[guest][rows]) + features @ joined.shared
            loss, slopes = network.finish(outputs, targets[rows])
            network.backward()
            total += loss * len(rows)
            if bottom.trains:
                bottom.step(bottom.backward(slopes @ joined.shared.T / len(rows)))
            velocity = momentum * velocity + features.T @ slopes / len(rows)
            joined.shared = joined.shared - training.taken_rate(len(rows)) * velocity
        joined.losses.append(total / len(plan.trained))
    return joined


def prepare_tables(settings: VerticalNetworkSettings, tables: Mapping[str, Table]) -> dict[str, Columns]:
    """Columns of each party as it trains on them."""
    training = settings.training
    return {
        name: prepare_columns(
            Table(table.features, None, table.feature_names, name),
            standardise=training.standardise,
            limit_spreads=training.limit,
        )
        for name, table in tables.items()
    }


def _first_weights(
    settings: VerticalNetworkSettings, runs: Mapping[str, NetworkRun], width: int, input_count: int
) -> FloatArray:
    """What the parties' first addends add up to."""
    drawn = [
        first_addend(np.random.default_rng(draw_seed(runs[name], 3)), width, settings.network.units, 1.0 / input_count)
        for name in settings.parties
    ]
    return np.asarray(sum(to_floats(addend, SHARE_BITS) for addend in drawn))


def _make_bottom(name: str, columns: FloatArray, settings: VerticalNetworkSettings, run: NetworkRun) -> Bottom:
    """Hekat's own, as the party makes it."""
    shape, is_guest = settings.network, name == settings.guest
    trains = is_guest or settings.host_bottom == "trained"
    is_source = not is_guest and settings.host_bottom == "source"
    width = columns.shape[1] if is_source else shape.guest_width if is_guest else shape.width_of(name)
    rate, seed = settings.training.learning_rate, draw_seed(run, 0)
    task = BottomTask(columns, width, trains, seed, rate, shape.bottom_hidden, shape.activation)
    return (source_columns if is_source else dense_bottom if trains else random_features)(task)
