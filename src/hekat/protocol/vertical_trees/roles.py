"""Plays the role of a party in a training of trees across columns, by its name."""

from __future__ import annotations

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_trees.guest_side.role import run_guest
from hekat.protocol.vertical_trees.host_side.role import run_host
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings


def run_role(channel: RecordedChannel, table: Table, settings: VerticalTreesSettings, run: TreesRun) -> TreesPart:
    """Train as `channel.party`; returns its part of the model.

    `table` holds the rows that all parties have, in the same order at every party.
    """
    return (run_guest if channel.party == settings.guest else run_host)(channel, table, settings, run)
