"""Seeds that every two hosts share, and what grows from them: masks that cancel in sums over all hosts."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.messages import CommonSeedMessage, SeedMessage
from hekat.protocol.encrypted_model.steps import COMMON_SEED_STEP, SEED_STEP

M = TypeVar("M")

SEED_BYTES: Final = 32
_DOMAIN: Final = b"hekat/encrypted-model/mask/1:"


@dataclass(frozen=True)
class HostSeeds:
    """One host's seeds, fresh in every session; secret.

    `positive` are shared with hosts after it, which subtract what it adds, `negative` with hosts before it. `common`
    is every host's; `is_first` the host that adds what all take off.
    """

    positive: tuple[bytes, ...] = field(repr=False)
    negative: tuple[bytes, ...] = field(repr=False)
    common: bytes = field(repr=False)
    is_first: bool

    def cancelling(self, use: str, grow: Callable[[bytes], M]) -> tuple[list[M], list[M]]:
        """What this host adds and what it subtracts: `grow` makes a mask of a seed that is used this once.

        Over all hosts the sums of both are the same. `use` names the step; no two steps of a session have one `use`.
        """
        added, subtracted = ([grow(_derive(seed, use)) for seed in seeds] for seeds in (self.positive, self.negative))
        return added, subtracted

    def shared(self, use: str, grow: Callable[[bytes], M]) -> M:
        """A mask that all hosts know and nobody else."""
        return grow(_derive(self.common, use))


def agree_on_seeds(channel: RecordedChannel, hosts: Sequence[str]) -> HostSeeds:
    """Exchange seeds with every other host, over channels that their pair alone can read.

    So whoever adds updates sees, even together with some hosts, no more than the sum over the other hosts. Raises
    ProtocolError for a seed of another length, and where two hosts send the same one.
    """
    place = hosts.index(channel.party)
    before, after = hosts[:place], hosts[place + 1 :]
    common = secrets.token_bytes(SEED_BYTES)
    positive = tuple(secrets.token_bytes(SEED_BYTES) for _ in after)
    for peer, seed in zip(after, positive, strict=True):
        channel.send(peer, SEED_STEP, SeedMessage(seed))
        if not before:
            channel.send(peer, COMMON_SEED_STEP, CommonSeedMessage(common))
    negative = tuple(_checked(peer, channel.receive(peer, SEED_STEP, SeedMessage).seed) for peer in before)
    for place, seed in enumerate(negative):
        if seed in negative[:place]:
            raise ProtocolError(
                f"{before[negative.index(seed)]!r} and {before[place]!r} sent one seed of a mask",
                expected="a seed of its own from each host",
                got="the same from both",
                cure="find out which of them departs from the protocol",
            )
    if before:
        common = _checked(before[0], channel.receive(before[0], COMMON_SEED_STEP, CommonSeedMessage).seed)
    return HostSeeds(positive, negative, common, is_first=not before)


def _checked(peer: str, seed: bytes) -> bytes:
    if len(seed) != SEED_BYTES:
        raise ProtocolError(
            f"{peer!r} sent no seed of a mask",
            expected=f"{SEED_BYTES} bytes",
            got=f"{len(seed)}",
            cure="all hosts must run the same release",
        )
    return seed


def _derive(seed: bytes, use: str) -> bytes:
    return hashlib.sha256(_DOMAIN + seed + use.encode()).digest()
