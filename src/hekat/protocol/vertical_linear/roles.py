"""Plays the role of a party in a vertical regression, by its name, in either form."""

from __future__ import annotations

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.arbiter.arbiter import run_arbiter
from hekat.protocol.vertical_linear.arbiter.guest import run_guest as run_arbiter_guest
from hekat.protocol.vertical_linear.arbiter.host import run_host as run_arbiter_host
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.guest import run_guest as run_shared_guest
from hekat.protocol.vertical_linear.shared_weights.host import run_host as run_shared_host


def run_role(
    channel: RecordedChannel, table: Table | None, settings: VerticalLinearSettings, run: PartyRun
) -> ModelPart | None:
    """Train as `channel.party`; returns its part of the model, None for the arbiter.

    `table` holds the rows that all parties have, in the same order at every party (None for the arbiter).
    """
    if channel.party == settings.arbiter:
        run_arbiter(channel, settings, run)
        return None
    assert table is not None
    is_guest = channel.party == settings.guest
    if settings.form == "arbiter":
        return (run_arbiter_guest if is_guest else run_arbiter_host)(channel, table, settings, run)
    return (run_shared_guest if is_guest else run_shared_host)(channel, table, settings, run)
