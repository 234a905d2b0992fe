"""That the guest told everybody the same beginning: the arbiter says what it heard, and each party holds it against its
own. A host limits the guest by the counts that it was told, and the arbiter opens by those that it was told."""

from __future__ import annotations

import hashlib

from hekat.errors import ProtocolError
from hekat.protocol.vertical_linear.arbiter.messages import PublicKeyMessage, StartMessage
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.wire import to_bytes

_DOMAIN = b"hekat/vertical-linear/start/1:"


def digest_start(start: StartMessage) -> bytes:
    """SHA-256 of all fields of `start`, by their one form on the wire."""
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
