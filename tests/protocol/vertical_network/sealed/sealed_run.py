"""Whole trainings of form sealed: tables whose labels follow products across parties; the network in floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.protocol.vertical_network.rehearsal import CLASSES, GUEST, HOSTS, Rehearsal

from hekat.data import Table
from hekat.protocol.shares.share_array import add_shares, to_floats
from hekat.protocol.vertical_network.model_part import SEALED_SHARE
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.own_features import draw_seed, standardised
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.sealed.float_network import FloatNetwork
from hekat.protocol.vertical_network.sealed.scales import signs_of
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import first_addend

HOST = HOSTS[0]
FloatArray = Any


def make_sealed(**changes: Any) -> VerticalNetworkSettings:
    """Settings of a small training."""
    network = {"units": 4} | changes.pop("network", {})
    training = {"epochs": 2, "batch_rows": 64, "shared_rate": 0.1, "limit_spreads": 3.0} | changes.pop("training", {})
    usual = {"protection": "none", "form": "sealed", "host_bottom": "source"}
    return VerticalNetworkSettings(
        GUEST,
        (HOST,),
        "binary",
        CLASSES["binary"],
        network=NetworkShape(**network),
        training=NetworkTraining(**training),
        **(usual | changes),
    )


def crossed_tables(seed: int, rows: int, columns: tuple[int, int] = (2, 3)) -> dict[str, Table]:
    """Normal columns; labels follow the product of a guest's and a host's."""
    rng = np.random.default_rng(seed)
    guest, host = (rng.normal(size=(rows, count)) for count in columns)
    labels = (guest[:, 0] * host[:, 0] + 0.3 * rng.normal(size=rows) > 0).astype(np.int64)
    return {
        name: Table(one, labels if name == GUEST else None, tuple(f"{name}-{n}" for n in range(one.shape[1])), name)
        for name, one in ((GUEST, guest), (HOST, host))
    }


def weights_of(parts: Mapping[str, Any]) -> FloatArray:
    """All weights (width, units + 1) of parts or states, which no party has."""
    return to_floats(add_shares(*(parts[name].arrays[SEALED_SHARE] for name in (GUEST, HOST))), 64)


def joined_columns(tables: Mapping[str, Table], parts: Mapping[str, Any]) -> FloatArray:
    """Ones, the guest's columns and the host's, as a training takes them."""
    prepared = [
        standardised(tables[name], parts[name].arrays["means"], parts[name].arrays["spreads"], 3.0)
        for name in (GUEST, HOST)
    ]
    return np.concatenate([np.ones((len(tables[GUEST]), 1)), *prepared], axis=1)


def scores_of(X: FloatArray, weights: FloatArray) -> FloatArray:
    """The scores s of rows."""
    units = X @ weights
    return (units[:, :-1] ** 2) @ np.array(signs_of(weights.shape[1] - 1)) / 4 + units[:, -1]


def train_in_floats(run: Rehearsal, parts: Mapping[str, Any]) -> tuple[FloatArray, list[float]]:
    """The weights and losses of the same training on the joined rows in float64, from the same start."""
    settings, training, X = run.settings, run.settings.training, joined_columns(run.tables, parts)
    labels, units, width = 2.0 * np.asarray(run.tables[GUEST].labels) - 1, settings.network.units, X.shape[1]
    drawn = [
        first_addend(np.random.default_rng(draw_seed(run.make_run(name), 3)), width, units + 1, 0.25 / width)
        for name in (GUEST, HOST)
    ]
    network = FloatNetwork(to_floats(add_shares(*drawn), 64), training)
    plan = RowPlan.of(len(X), training)
    losses = [network.train_epoch(X[:, 1:], labels, plan) for _ in range(training.epochs)]
    return network.weights, losses
