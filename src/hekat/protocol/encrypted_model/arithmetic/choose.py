"""The arithmetic of a role by the job's protection, noted in its ledger."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.bfv import (
    BfvAggregator,
    BfvArbiter,
    BfvHost,
    lay_out_round,
    told_hiding_bits,
)
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.fixed_point import IntegerMap, truncation_bits
from hekat.protocol.encrypted_model.arithmetic.paillier import PaillierAggregator, PaillierArbiter, PaillierHost
from hekat.protocol.encrypted_model.arithmetic.plain import PlainAggregator, PlainArbiter, PlainHost
from hekat.protocol.encrypted_model.arithmetic.sides import AggregatorSide, ArbiterSide, HostSide
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.set_up.host_seeds import HostSeeds
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.vertical.key_size import check_key_size
from hekat.scheme.bfv import PublicKey as BfvPublicKey
from hekat.scheme.bfv import generate_keys as generate_bfv_keys
from hekat.scheme.paillier import PublicKey, generate_keys
from hekat.wire import from_bytes, to_bytes

NO_PROTECTION: Final = "protection is NONE: models and updates leave unencrypted"

Shape = tuple[int, int]
"""The shape (size, K) of shares."""


class ArbiterKey(NamedTuple):
    """The arbiter's key: its public half on the wire, and what computes with it once the sizes are known."""

    public_key: bytes
    for_shape: Callable[[Shape], ArbiterSide]


def make_arbiter(channel: RecordedChannel, settings: EncryptedModelSettings, run: EncryptedModelRun) -> ArbiterKey:
    """Make the arbiter's key pair, or nothing under protection `none`."""
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        return ArbiterKey(b"", PlainArbiter)
    if settings.protection == "paillier":
        pair = run.key_pair or generate_keys(settings.key_bits)
        check_key_size(pair.public, settings.key_bits, channel.party)
        channel.ledger.note("setup", f"made a Paillier key of {settings.key_bits} bits and keeps it", "public")
        return ArbiterKey(to_bytes(pair.public), partial(PaillierArbiter, pair))
    bfv_pair, hosts = generate_bfv_keys(), len(settings.hosts)
    channel.ledger.note("setup", f"made and keeps the private half of {_describe(bfv_pair.public)}", "public")
    return ArbiterKey(to_bytes(bfv_pair.public), lambda shape: BfvArbiter(bfv_pair, lay_out_round(shape, hosts)))


def make_aggregator(
    channel: RecordedChannel, settings: EncryptedModelSettings, public_key: bytes, shape: Shape
) -> AggregatorSide:
    """What the aggregator computes with."""
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        return PlainAggregator(shape)
    odds = truncation_bits(shape[0] * shape[1], settings.training.rounds)
    channel.ledger.note("setup", f"a truncation leads the run astray with odds below 2^-{odds}", "public")
    if settings.protection == "paillier":
        return PaillierAggregator(_read_paillier_key(channel, settings, public_key), shape)
    hosts = len(settings.hosts)
    layout = lay_out_round(shape, hosts)
    hidden = told_hiding_bits(layout, hosts)
    channel.ledger.note(
        "setup", f"noise of a round shows in a number of the owner's with odds below 2^-{hidden}", "public"
    )
    return BfvAggregator(_read_key(channel, settings, public_key), layout)


def make_host(
    channel: RecordedChannel, settings: EncryptedModelSettings, public_key: bytes, own: IntegerMap, seeds: HostSeeds
) -> HostSide:
    """What a host computes with."""
    shape = (own.matrix.shape[0], settings.target_count)
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        return PlainHost(shape, own)
    if settings.protection == "paillier":
        return PaillierHost(_read_paillier_key(channel, settings, public_key), own, seeds)
    return BfvHost(_read_key(channel, settings, public_key), lay_out_round(shape, len(settings.hosts)), own, seeds)


def _read_paillier_key(channel: RecordedChannel, settings: EncryptedModelSettings, public_key: bytes) -> PublicKey:
    with blame(settings.arbiter):
        key = from_bytes(public_key, PublicKey)
        check_key_size(key, settings.key_bits, settings.arbiter)
    channel.ledger.note("setup", f"computes under the arbiter's Paillier key {key.fingerprint[:8]}", "public")
    return key


def _read_key(channel: RecordedChannel, settings: EncryptedModelSettings, public_key: bytes) -> BfvPublicKey:
    with blame(settings.arbiter):
        key = from_bytes(public_key, BfvPublicKey)
    channel.ledger.note("setup", f"computes under the arbiter's {_describe(key)}", "public")
    return key


def _describe(key: BfvPublicKey) -> str:
    parameters = key.parameters
    return (
        f"BFV key {key.fingerprint[:8]}, set {parameters.name}: degree {parameters.degree}, modulus of "
        f"{parameters.modulus.bit_length()} bits"
    )
