"""The arithmetic of a role by the job's protection, noted in its ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.bfv import BfvAggregator, BfvArbiter, BfvHost, lay_out_round
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.fixed_point import IntegerMap, truncation_bits
from hekat.protocol.encrypted_model.arithmetic.plain import PlainAggregator, PlainArbiter, PlainHost
from hekat.protocol.encrypted_model.arithmetic.sides import AggregatorSide, ArbiterSide, HostSide
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.set_up.host_seeds import HostSeeds
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.setting_checks import refuse_setting
from hekat.scheme.bfv import PublicKey as BfvPublicKey
from hekat.scheme.bfv import generate_keys as generate_bfv_keys
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
        refuse_setting("protection.kind", "'lattice' or 'none'", repr(settings.protection))
    pair, hosts = generate_bfv_keys(), len(settings.hosts)
    channel.ledger.note("setup", f"made and keeps the private half of {_describe(pair.public)}", "public")
    return ArbiterKey(to_bytes(pair.public), lambda shape: BfvArbiter(pair, lay_out_round(shape, hosts)))


def make_aggregator(
    channel: RecordedChannel, settings: EncryptedModelSettings, public_key: bytes, shape: Shape
) -> AggregatorSide:
    """What the aggregator computes with."""
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        return PlainAggregator(shape)
    key = _read_key(channel, settings.arbiter, public_key)
    odds = truncation_bits(shape[0] * shape[1], settings.training.rounds)
    channel.ledger.note("setup", f"a truncation leads the run astray with odds below 2^-{odds}", "public")
    return BfvAggregator(key, lay_out_round(shape, len(settings.hosts)))


def make_host(
    channel: RecordedChannel, settings: EncryptedModelSettings, public_key: bytes, own: IntegerMap, seeds: HostSeeds
) -> HostSide:
    """What a host computes with."""
    shape = (own.matrix.shape[0], settings.target_count)
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        return PlainHost(shape, own)
    return BfvHost(
        _read_key(channel, settings.arbiter, public_key), lay_out_round(shape, len(settings.hosts)), own, seeds
    )


def _read_key(channel: RecordedChannel, arbiter: str, public_key: bytes) -> BfvPublicKey:
    with blame(arbiter):
        key = from_bytes(public_key, BfvPublicKey)
    channel.ledger.note("setup", f"computes under the arbiter's {_describe(key)}", "public")
    return key


def _describe(key: BfvPublicKey) -> str:
    parameters = key.parameters
    return (
        f"BFV key {key.fingerprint[:8]}, set {parameters.name}: degree {parameters.degree}, modulus of "
        f"{parameters.modulus.bit_length()} bits"
    )
