"""One party's secret for the sums of a group, and what the parties hold of a group whose first sum is open.

Each further sum of the group is masked with the same secret under a public polynomial of its own, which follows from
session, upload number, set, step and agreement, and with fresh errors. The sum of the secrets, which all parties have
from the first sum, opens it, and opens nothing that these parties have not all masked for the same step and agreement.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import NoReturn

from hekat.channel.canonical import encode_fields
from hekat.errors import KeyRefusedError, ProtocolError
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.scheme.lattice import LatticeParameters, SecretKey, SecretSum, public_key


def shares_secrets(settings: SumSettings) -> bool:
    """Whether one secret masks all sums of a group: with a committee, unless sums are checked."""
    return settings.protection == "lattice" and settings.opening == "committee" and not settings.check_sum


def key_of_upload(session_id: bytes, leg: Leg, parameters: LatticeParameters) -> bytes:
    """The key of the public polynomials of one sum: the agreement is in them, and in the masks."""
    assert leg.agreement is not None  # a party has one
    return public_key(session_id, leg.number, parameters, encode_fields(leg.step.encode(), leg.agreement))


class GroupSecret:
    """A secret that masks each step once; a second contribution for one step would tell the difference of both."""

    __slots__ = ("_lock", "_maker", "_secret", "_steps")

    def __init__(self, secret: SecretKey) -> None:
        """`secret` is this object's from now on: nothing else masks with it."""
        self._secret: SecretKey | None = secret
        self._steps: set[str] = set()
        self._maker = os.getpid()
        self._lock = threading.Lock()

    def take(self, step: str) -> SecretKey:
        """The secret, for the one contribution of this step; wipe it.

        Raises ProtocolError where the step was masked already, KeyRefusedError once the secret is wiped and in a forked
        process.
        """
        with self._lock:  # nor wiped meanwhile: zeros mask nothing
            secret = self._secret
            if secret is None or os.getpid() != self._maker:
                raise KeyRefusedError(
                    "a group's secret masks nothing any more",
                    expected="the secret of a group that is not at its end, in the process that made it",
                    got="one that was wiped, or made before this process forked",
                    cure="begin another upload with a fresh secret",
                )
            if step in self._steps:
                raise ProtocolError(
                    f"{step} is summed twice under one secret",
                    expected="each step of a group once",
                    got="the same step again",
                    cure="run the same release and job at the aggregator, and resume from the last checkpoint",
                )
            self._steps.add(step)
            return secret.once_more()

    def wipe(self) -> None:
        """Write zeros over it: the group has no further sum."""
        with self._lock:
            secret, self._secret = self._secret, None
            if secret is not None:
                secret.wipe()

    def __repr__(self) -> str:
        return f"GroupSecret({len(self._steps)} steps)"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("secrets of a group are not copied or pickled", cure="make another one")


@dataclass(frozen=True)
class OpenedSum:
    """A sum of a group that is open at this party: the upload, its set, and the sum of its parties' secrets."""

    leg: Leg
    parameters: LatticeParameters
    included: IncludedSet
    secret_sum: SecretSum = field(repr=False)

    def leg_of(self, step: str, agreement: bytes) -> Leg:
        """A further sum of the group, under the same number."""
        return Leg(step, self.leg.number, self.leg.participants, agreement)


class OpenedGroup:
    """The open sums of the group at hand by the name of their set: a secret serves the sums of one set."""

    def __init__(self) -> None:
        self._group = ""
        self._opened: dict[str, OpenedSum] = {}

    @property
    def parameters(self) -> tuple[LatticeParameters, ...]:
        """The sets under which further sums need no other secret."""
        return tuple(opened.parameters for opened in self._opened.values())

    def enter(self, group: str) -> bool:
        """Whether the group at hand is another than before; then nothing is held of that one any more."""
        is_other, self._group = group != self._group, group
        if is_other:
            self._opened.clear()
        return is_other

    def find(self, parameters: LatticeParameters) -> OpenedSum | None:
        return self._opened.get(parameters.name)

    def hold(self, opened: OpenedSum) -> None:
        """Of the group that was entered last."""
        self._opened[opened.parameters.name] = opened

    def close(self) -> None:
        self.enter("")
