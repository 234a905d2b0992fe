"""The role of the guest in a training."""

from __future__ import annotations

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings


def run_guest(
    channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun
) -> NetworkPart:
    """Train with the others; returns the guest's part of the model."""
    raise NotImplementedError
