"""The check that the guest told all roles the same start: each party compares the arbiter's digest with its own.

A host limits the guest by the counts that the host was told, and the arbiter opens numbers by the counts that the
arbiter was told. Different counts would let the guest have more opened than hosts allow.
"""

from __future__ import annotations

import hashlib

from hekat.errors import ProtocolError
from hekat.protocol.vertical_linear.arbiter.messages import PublicKeyMessage, StartMessage
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.wire import to_bytes

_DOMAIN = b"hekat/vertical-linear/start/1:"


def digest_start(start: StartMessage) -> bytes:
    """SHA-256 of all fields of `start`, in their one form on the wire."""
    return hashlib.sha256(_DOMAIN + to_bytes(start)).digest()


def check_same_start(
    heard: PublicKeyMessage, start: StartMessage, party: str, settings: VerticalLinearSettings
) -> None:
    """Raise ProtocolError where the arbiter heard the guest begin with another message than `start`."""
    if heard.start_digest != digest_start(start):
        raise ProtocolError(
            f"{settings.arbiter} was told another beginning than {party} knows",
            expected="the rows, columns of each party, bits and epochs that the guest tells, the same to all",
            got="others",
            cure=f"find out what runs at {settings.guest} and {settings.arbiter}: this release tells all the same",
        )
