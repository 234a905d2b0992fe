"""Channels for tests of protocols: the order of messages and what parties sign are real; nothing is sealed.

Opening a session, sealing and recording take up to half of a protocol's time in tests, and have tests of their own.
What protocols do over sealed channels is shown by the tests marked `sealed`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from hekat.channel import InProcessHub, SealedChannel, sealing
from hekat.channel.pair_key import KEY_BYTES, PairKey, PairKeys
from hekat.channel.sealed_message import SealedHeader, parse_frame
from hekat.ledger import Ledger, recorded_channel
from hekat.ledger.entry import FieldRecord
from hekat.wire.message import MessageSpec

record = Ledger.record
drawing = Lock()
session_ids: WeakKeyDictionary[InProcessHub, bytes] = WeakKeyDictionary()
describe_fields = recorded_channel._records


class PlainFrame(bytes):
    """A payload with its header beside it, which stands where a sealed frame would."""

    header: SealedHeader
    payload: bytes

    def verify(self, signer: object) -> bool:
        return True

    def open(self, pair_key: object) -> bytes:
        return self.payload


def wrap_plainly(payload: bytes, header: SealedHeader, signer: object, pair_key: object) -> PlainFrame:
    frame = PlainFrame(payload)
    frame.header, frame.payload = header, payload
    return frame


def take_frame(data: bytes) -> Any:
    """What was sent; bytes that somebody put on the way are read as always."""
    return data if isinstance(data, PlainFrame) else parse_frame(data)


def agree_at_once(
    channel: Any, timeout_s: float | None, before_confirmed: Callable[[], None], pairs_later: bool
) -> Any:
    """The session that all ends of a hub have, with a fresh id; its keys seal nothing."""
    with drawing:
        session_id = session_ids.setdefault(channel._channel._hub, os.urandom(sealing.DIGEST_BYTES))
    pair_keys = {name: PairKey(bytes(KEY_BYTES)) for name in channel.parties if name != channel.party}
    session = PairKeys(session_id, channel.party, channel._key, {}, None, {})
    session.sending = session.receiving = pair_keys
    channel._say_before(session, before_confirmed)
    return session


class LateRecords(Sequence[FieldRecord]):
    """The fields of a message as a ledger describes them, made when the ledger asks for them."""

    def __init__(self, message: Any, spec: MessageSpec) -> None:
        self._told = message, spec

    @cached_property
    def _made(self) -> Sequence[FieldRecord]:
        return describe_fields(*self._told)

    def __getitem__(self, index: Any) -> Any:
        return self._made[index]

    def __len__(self) -> int:
        return len(self._made)


def record_in_files(
    ledger: Ledger,
    direction: Any,
    peer: str,
    step: str,
    kind: str,
    fields: Sequence[FieldRecord],
    payload: bytes,
    digest: bytes = b"",
) -> bytes:
    """As `Ledger.record`; a ledger in memory keeps notes alone, and no messages."""
    if ledger.path is not None:
        return record(ledger, direction, peer, step, kind, fields, payload, digest)
    return digest or hashlib.sha256(payload).digest()


def unseal(patch: pytest.MonkeyPatch) -> None:
    """From now on messages go as they are, and a session is open without hellos."""
    patch.setattr(SealedChannel, "_agree_on_session", agree_at_once)
    patch.setattr(sealing, "seal_payload", wrap_plainly)
    patch.setattr(sealing, "parse_frame", take_frame)
    patch.setattr(PairKey, "advance", lambda self: None)
    patch.setattr(recorded_channel, "_records", LateRecords)
    patch.setattr(Ledger, "record", record_in_files)
