"""Whole trainings of form sealed: tables whose labels follow products across parties, and the joined network."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.protocol.vertical_network.rehearsal import CLASSES, GUEST, HOSTS

from hekat.data import Table
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings

HOST = HOSTS[0]


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
