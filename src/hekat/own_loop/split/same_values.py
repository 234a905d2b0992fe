"""Whether guest and host have the same value, such as the ids of their rows: neither learns more than the answer.

A digest of the value goes to a point of a curve, under a name of this call alone, and each side multiplies both points
by a scalar of its own: the products of both scalars are alike where the values are. Points under another's scalar are
uniform, so nobody can try guesses on what it was sent; a party that lies tests one guess a call.

Source: Huberman, Franklin, Hogg 1999, "Enhancing privacy and trust in electronic communities", with one item.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.own_loop.split.messages import ComparedMessage, MaskedMessage
from hekat.protocol.psi.curve import POINT_BYTES, check_points, map_to_curve, multiply

_DOMAIN: Final = b"hekat/split-loop/same/1:"


def compare_as_guest(channel: RecordedChannel, hosts: tuple[str, ...], step: str, digest: bytes, label: str) -> None:
    """Raise ProtocolError, naming the host, where one has another value than the guest."""
    for host in hosts:
        scalar = X25519PrivateKey.generate()
        channel.send(host, step, MaskedMessage(_times(scalar, _point(channel, step, host, digest), host)))
        found = channel.receive(host, step, ComparedMessage)
        if not hmac.compare_digest(_times(scalar, found.masked, host), _checked(found.answered, host)):
            raise ProtocolError(
                f"{label!r} is not the same at {channel.party} and {host}",
                expected="the same content in the same order at both",
                got="other content",
                cure=f"bring {label!r} to the same content and order at every party: common rows come from a set "
                "intersection",
            )


def answer_guest(channel: RecordedChannel, guest: str, step: str, digest: bytes) -> None:
    """A host's side."""
    theirs = channel.receive(guest, step, MaskedMessage).masked
    scalar = X25519PrivateKey.generate()
    own = _times(scalar, _point(channel, step, channel.party, digest), guest)
    channel.send(guest, step, ComparedMessage(own, _times(scalar, theirs, guest)))


def _point(channel: RecordedChannel, step: str, host: str, digest: bytes) -> bytes:
    name = _DOMAIN + channel.session_id + f"{step}/{host}".encode()
    return map_to_curve(hashlib.sha256(name).digest(), np.frombuffer(digest, np.uint8)[np.newaxis]).tobytes()


def _checked(point: bytes, peer: str) -> bytes:
    """The point as it came. Raises ProtocolError for bytes that are none."""
    if len(point) != POINT_BYTES:
        raise _no_point(peer, f"{len(point)} bytes")
    try:
        check_points(np.frombuffer(point, np.uint8)[np.newaxis])
    except InputError as error:
        raise _no_point(peer, error.what) from None
    return point


def _times(scalar: X25519PrivateKey, point: bytes, peer: str) -> bytes:
    rows = np.frombuffer(_checked(point, peer), np.uint8)[np.newaxis]
    try:
        return multiply(scalar, rows).tobytes()
    except InputError as error:
        raise _no_point(peer, error.what) from None


def _no_point(peer: str, got: str) -> ProtocolError:
    return ProtocolError(
        f"{peer} sent a masked value that cannot be",
        expected=f"a point of {POINT_BYTES} bytes on Curve25519",
        got=got,
        cure="all parties must run the same release",
    )
