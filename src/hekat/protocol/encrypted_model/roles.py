"""Plays a role of a training on an encrypted model, by its name."""

from __future__ import annotations

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.aggregator import run_aggregator
from hekat.protocol.encrypted_model.arbiter import run_arbiter
from hekat.protocol.encrypted_model.host import run_host
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.owner import run_owner
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings


def run_role(
    channel: RecordedChannel, table: Table | None, settings: EncryptedModelSettings, run: EncryptedModelRun
) -> OwnedModel | None:
    """Train as `channel.party`; returns the model at the owner, None elsewhere.

    `table` holds a host's own rows with labels; roles without rows to train on are given None.
    """
    if channel.party == settings.arbiter:
        run_arbiter(channel, settings, run)
        return None
    if channel.party == settings.aggregator:
        run_aggregator(channel, settings, run)
        return None
    if channel.party in settings.hosts:
        assert table is not None
        return run_host(channel, table, settings, run)
    return run_owner(channel, settings, run)
