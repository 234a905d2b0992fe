"""Loops of guest and hosts for tests, on small made rows; hosts' weights as `evaluate` of unit rows shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hekat import federate_split
from hekat.own_loop import FederatedSplit, SplitGuest, SplitHost
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED, ROTATION_ACCEPTED, SLOPES_ACCEPTED

ROWS, UNITS, WIDTH = 10, 3, 2
NUMBERS = np.random.default_rng(4)
FEATURES = {name: NUMBERS.integers(-1024, 1025, (ROWS, WIDTH)) / 1024 for name in ("lab", "shop")}
"""Of few bits: rounding leaves them as they are."""


def play(
    guest_code: Callable[[SplitGuest], Any], hosts: Mapping[str, Callable[[SplitHost], Any]], **others: Any
) -> FederatedSplit:
    """A run in the clear of three epochs with two batches, but for `others`."""
    usual: dict[str, Any] = {
        "row_count": ROWS,
        "host_widths": WIDTH,
        "units": UNITS,
        "epochs": 3,
        "batch_rows": 5,
        "shared_optimiser": "sgd",
        "protection": "none",
        "column_leak_accepted": ROTATION_ACCEPTED,
        "label_leak_accepted": LABELS_ACCEPTED,
        "slope_leak_accepted": SLOPES_ACCEPTED,
    }
    return federate_split(guest_code, hosts, **(usual | others))


def train_guest(party: SplitGuest) -> list[int]:
    """Steps of constant slopes; the epochs."""
    epochs = []
    for epoch in party.epochs():
        for rows in party.batches():
            party.backward(party.forward() * 0 + 0.1 / len(rows))
        epochs.append(epoch)
    return epochs


def train_host(party: SplitHost) -> list[Any]:
    """What `backward` gives for each batch."""
    found = []
    for _ in party.epochs():
        for rows in party.batches():
            party.forward(FEATURES[party.name][rows])
            found.append(party.backward())
    return found


def show_weights(party: SplitGuest | SplitHost) -> Any:
    """W of all hosts, (hosts, WIDTH, units), at the guest: every party calls this at once."""
    if isinstance(party, SplitGuest):
        return np.array([party.evaluate(row_count=WIDTH) for _ in party.hosts])
    for name in party.hosts:
        party.evaluate(np.eye(WIDTH) * (name == party.name))
    return None
