"""The role of a party: it has rows and labels, and holds the key pair all parties share.

    1. tell the aggregator the table's schema; wait until everybody is there
    2. the leader makes the Paillier key pair, gives it to the parties (sealed) and the public half to the aggregator
    3. agree on the standardiser, from encrypted sums
    4. each round: local update, scale, clip, quantise, pack, encrypt -> aggregator; open the sum; the same server step
    5. compare model digests; go on or stop together

Source: BatchCrypt (ATC 2020), Algorithm 1, with weights kept at the parties.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hekat.data import Table, schema_digest
from hekat.engine.select import get_engine
from hekat.engine.tenancy import PLAIN_TABLES
from hekat.errors import KeyRefusedError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.aggregation import Aggregation
from hekat.protocol.horizontal.messages import (
    PublicKeyMessage,
    ReadyMessage,
    SharedSecretsMessage,
    StartMessage,
)
from hekat.protocol.horizontal.paillier_aggregation import Packing, PaillierAggregation
from hekat.protocol.horizontal.plain_aggregation import PlainAggregation
from hekat.protocol.horizontal.received import check_party_count
from hekat.protocol.horizontal.settings import KEY_TIMEOUT_S, HorizontalSettings, check_row_count
from hekat.protocol.horizontal.training import LocalRun, TrainingState, train
from hekat.protocol.horizontal.witness import Witness
from hekat.scheme.paillier import KeyPair, PrivateKey, generate_keys
from hekat.wire import from_bytes, to_bytes


@dataclass(frozen=True)
class PartyRun:
    """What the machine gives a party's role; none of it changes what is sent. `key_pair` is for the leader only."""

    local: LocalRun
    key_pair: KeyPair | None = field(default=None, repr=False)
    witness: Witness | None = None
    on_packing: Callable[[Packing], None] = lambda packing: None


def run_party(channel: RecordedChannel, table: Table, settings: HorizontalSettings, run: PartyRun) -> TrainingState:
    """Train with the others; returns the state that all parties share at the end."""
    check_row_count(channel.party, len(table), settings)
    _announce(channel, table, settings)
    stopwatch = run.local.stopwatch
    aggregation: Aggregation
    digest_key = b""
    if settings.protection == "paillier":
        if get_engine().single_tenant:
            channel.ledger.note("setup", f"randomiser tables: {PLAIN_TABLES}", "public")
        private_key, digest_key = _share_keys(channel, settings, run)
        aggregation = PaillierAggregation(channel, settings, private_key, stopwatch, run.witness, run.on_packing)
    else:
        channel.ledger.note("setup", "protection is NONE: the aggregator sees every update", "disclosed")
        aggregation = PlainAggregation(channel, settings, stopwatch)
    return train(aggregation, table, settings, replace(run.local, digest_key=digest_key), party=channel.party)


def _announce(channel: RecordedChannel, table: Table, settings: HorizontalSettings) -> None:
    columns = list(table.feature_names)
    digest = schema_digest(table)
    channel.send(settings.aggregator, "ready", ReadyMessage(schema=digest, columns=columns))
    start = channel.receive(settings.aggregator, "start", StartMessage)
    check_party_count(start.party_count, settings.aggregator, "start", settings)


def _share_keys(channel: RecordedChannel, settings: HorizontalSettings, run: PartyRun) -> tuple[PrivateKey, bytes]:
    if channel.party != settings.leader:
        shared = channel.receive(settings.leader, "shared-secrets", SharedSecretsMessage, timeout_s=KEY_TIMEOUT_S)
        private_key = from_bytes(shared.private_key, PrivateKey)
        _check_key(private_key, settings)
        return private_key, shared.digest_key
    with run.local.stopwatch.measure("keys"):
        pair = run.key_pair or generate_keys(settings.key_bits)
    _check_key(pair.private, settings)
    channel.ledger.note("keys", f"made a Paillier key of {settings.key_bits} bits, shared with all parties", "public")
    digest_key = secrets.token_bytes(32)
    for party in settings.parties[1:]:
        message = SharedSecretsMessage(private_key=to_bytes(pair.private), digest_key=digest_key)
        channel.send(party, "shared-secrets", message)
    channel.send(settings.aggregator, "public-key", PublicKeyMessage(public_key=to_bytes(pair.public)))
    return pair.private, digest_key


def _check_key(key: PrivateKey, settings: HorizontalSettings) -> None:
    if key.public.bits != settings.key_bits:
        raise KeyRefusedError(
            "the leader's key is not the job's",
            expected=f"{settings.key_bits} bits",
            got=f"{key.public.bits} bits",
            cure="make a key of the job's size, or let the leader make it",
        )
