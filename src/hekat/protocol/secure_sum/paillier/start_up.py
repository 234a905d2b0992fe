"""The start-up of protection `paillier`: the leader makes the key pair and shares it out.

1. the leader gives each other party the private key, sealed, with a key for model digests
2. the leader gives the aggregator the public key, which adds ciphertexts and opens none
"""

from __future__ import annotations

from hekat.engine.select import get_engine
from hekat.engine.tenancy import PLAIN_TABLES
from hekat.errors import KeyRefusedError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.paillier.aggregator import PaillierSummation
from hekat.protocol.secure_sum.paillier.messages import PublicKeyMessage, SharedSecretsMessage
from hekat.protocol.secure_sum.paillier.party import PaillierAggregation
from hekat.protocol.secure_sum.partners import settle_partners
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.run_keys import check_run_key, draw_run_key
from hekat.protocol.secure_sum.settings import KEY_TIMEOUT_S, SumSettings
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun, PartySumRun
from hekat.scheme.paillier import PrivateKey, PublicKey, generate_keys
from hekat.wire import from_bytes, to_bytes


def join_paillier(
    channel: RecordedChannel, settings: SumSettings, run: PartySumRun
) -> tuple[PaillierAggregation, bytes]:
    """A party's side, and the key of model digests."""
    if get_engine().single_tenant:
        channel.ledger.note("setup", f"randomiser tables: {PLAIN_TABLES}", "public")
    private_key, digest_key = _share_keys(channel, settings, run)
    settle_partners(channel, settings, timeout_s=run.aggregator_timeout_s)
    aggregation = PaillierAggregation(
        channel, settings, private_key, run.stopwatch, run.exactness_check, run.on_packing
    )
    return aggregation, digest_key


def start_paillier(
    channel: RecordedChannel, settings: SumSettings, roster: Roster, run: AggregatorSumRun
) -> PaillierSummation:
    """The aggregator's side, with the leader's public key."""
    message = channel.receive(settings.leader, "public-key", PublicKeyMessage, timeout_s=KEY_TIMEOUT_S)
    settle_partners(channel, settings, timeout_s=run.step_timeout_s)
    return PaillierSummation(channel, settings, run.stopwatch, from_bytes(message.public_key, PublicKey))


def _share_keys(channel: RecordedChannel, settings: SumSettings, run: PartySumRun) -> tuple[PrivateKey, bytes]:
    if channel.party != settings.leader:
        shared = channel.receive(settings.leader, "shared-secrets", SharedSecretsMessage, timeout_s=KEY_TIMEOUT_S)
        private_key = from_bytes(shared.private_key, PrivateKey)
        _check_key(private_key, settings)
        return private_key, check_run_key(shared.digest_key, "digest key", settings)
    with run.stopwatch.measure("keys"):
        pair = run.key_pair or generate_keys(settings.key_bits)
    _check_key(pair.private, settings)
    channel.ledger.note("keys", f"made a Paillier key of {settings.key_bits} bits, shared with all parties", "public")
    digest_key = draw_run_key()
    for party in settings.parties[1:]:
        message = SharedSecretsMessage(private_key=to_bytes(pair.private), digest_key=digest_key)
        channel.send(party, "shared-secrets", message)
    channel.send(settings.aggregator, "public-key", PublicKeyMessage(public_key=to_bytes(pair.public)))
    return pair.private, digest_key


def _check_key(key: PrivateKey, settings: SumSettings) -> None:
    if key.public.bits != settings.key_bits:
        raise KeyRefusedError(
            "the leader's key is not the job's",
            expected=f"{settings.key_bits} bits",
            got=f"{key.public.bits} bits",
            cure="make a key of the job's size, or let the leader make it",
        )
