"""Masks of hosts that cancel in their sum, so that the guest opens what all hosts give together, and no host's own.

Each two hosts share a seed of the session; the first of both adds its stream, the other takes it off. Every step has a
stream of its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence

import numpy as np

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.fixed_point import Residues, add, reduce, subtract
from hekat.protocol.vertical_network.messages import MaskSeedMessage
from hekat.protocol.vertical_network.steps import SEED_STEP

SEED_BYTES = 32
_DOMAIN = b"hekat/vertical-network/host-mask/1:"


class HostMasks:
    """One host's masks; without other hosts there are none."""

    def __init__(self, added: Mapping[str, bytes], taken: Mapping[str, bytes]) -> None:
        self._added, self._taken = dict(added), dict(taken)
        self._used: set[str] = set()

    def cover(self, step: str, numbers: Residues) -> Residues:
        """The numbers mod 2^60 with this host's mask of the step.

        Raises ProtocolError for a step that was played before: under one mask two outputs show their difference.
        """
        if step in self._used:
            raise ProtocolError(
                f"step {step} is played a second time, under the masks of the first",
                expected="each batch once in an epoch, and each epoch once in a session",
                got="the same epoch and batch again",
                cure="number epochs onwards; a loop plays every batch of an epoch once",
            )
        self._used.add(step)
        for seed in self._added.values():
            numbers = add(numbers, _stream(seed, step, numbers.shape))
        for seed in self._taken.values():
            numbers = subtract(numbers, _stream(seed, step, numbers.shape))
        return numbers


def agree_on_masks(channel: RecordedChannel, hosts: Sequence[str]) -> HostMasks:
    """Draw a seed for each later host and send it, and hear one of each earlier host. Raises ProtocolError."""
    own = hosts.index(channel.party)
    added, taken = {}, {}
    for host in hosts[own + 1 :]:
        added[host] = os.urandom(SEED_BYTES)
        channel.send(host, SEED_STEP, MaskSeedMessage(added[host]))
    for host in hosts[:own]:
        taken[host] = channel.receive(host, SEED_STEP, MaskSeedMessage).seed
        if len(taken[host]) != SEED_BYTES:
            raise ProtocolError(
                f"{host} sent a seed of masks that is none", expected=f"{SEED_BYTES} bytes", got=f"{len(taken[host])}"
            )
    return HostMasks(added, taken)


def _stream(seed: bytes, step: str, shape: tuple[int, ...]) -> Residues:
    size = int(np.prod(shape, dtype=np.int64))
    stream = hashlib.shake_256(_DOMAIN + seed + step.encode()).digest(8 * size)
    return reduce(np.frombuffer(stream, "<u8").astype(np.uint64).reshape(shape))
