"""Plays the role of a party in a training of a split network, by its name."""

from __future__ import annotations

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.guest_side.role import run_guest
from hekat.protocol.vertical_network.host_side.role import run_host
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.sealed.role import run_sealed
from hekat.protocol.vertical_network.settings import SEALED, VerticalNetworkSettings


def run_role(channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun) -> NetworkPart:
    """Train as `channel.party`; returns its part of the model.

    `table` holds the rows that all parties have, in the same order at every party.
    """
    if settings.form == SEALED:
        return run_sealed(channel, table, settings, run)
    return (run_guest if channel.party == settings.guest else run_host)(channel, table, settings, run)
