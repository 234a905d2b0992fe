"""The arithmetic of a role by the job's protection, noted in its ledger."""

from __future__ import annotations

from typing import Protocol

from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.fixed_point import IntegerMap
from hekat.protocol.encrypted_model.arithmetic.plain import PlainAggregator, PlainArbiter, PlainHost
from hekat.protocol.encrypted_model.arithmetic.sides import AggregatorSide, ArbiterSide, HostSide
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.set_up.host_seeds import HostSeeds
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.setting_checks import refuse_setting

NO_PROTECTION = "protection is NONE: models and updates leave unencrypted"


class ArbiterKey(Protocol):
    """The arbiter's key pair, before the arbiter knows how many columns there are."""

    @property
    def public_key(self) -> bytes:
        """The public half on the wire."""
        ...

    def for_shape(self, shape: tuple[int, int]) -> ArbiterSide:
        """What computes with shares (size, K, 2)."""
        ...


class _NoKey:
    public_key = b""

    def for_shape(self, shape: tuple[int, int]) -> ArbiterSide:
        return PlainArbiter(shape)


def make_arbiter(channel: RecordedChannel, settings: EncryptedModelSettings, run: EncryptedModelRun) -> ArbiterKey:
    """Make the arbiter's key pair. Raises InputError for a protection that is not there yet."""
    if settings.protection != "none":
        refuse_setting("protection.kind", "'none' in this release", repr(settings.protection))
    channel.ledger.note("setup", NO_PROTECTION, "disclosed")
    return _NoKey()


def make_aggregator(
    channel: RecordedChannel, settings: EncryptedModelSettings, public_key: bytes, shape: tuple[int, int]
) -> AggregatorSide:
    """What the aggregator computes with, for shares (size, K, 2)."""
    channel.ledger.note("setup", NO_PROTECTION, "disclosed")
    return PlainAggregator(shape)


def make_host(
    channel: RecordedChannel,
    settings: EncryptedModelSettings,
    public_key: bytes,
    own: IntegerMap,
    seeds: HostSeeds,
) -> HostSide:
    """What a host computes with."""
    channel.ledger.note("setup", NO_PROTECTION, "disclosed")
    return PlainHost((own.matrix.shape[0], settings.target_count), own)
