"""The bytes that mailboxes exchange: a parcel of messages from one role to another, and the receipt for it.

    4 bytes   length of the header, little-endian
    header    MessagePack: format, run, sender, receiver, instance, items [sequence, kind, step, length]
    payloads  one after the other, as many and as long as the items say

Nothing here is secret or trusted: payloads are sealed, and what ends a run is signed within them. Whoever carries a
parcel can read roles, steps and sizes, and can alter all of it; it gains no more than by dropping it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgpack

from hekat.channel.channel import MAX_NAME_BYTES
from hekat.errors import WireError

FORMAT = 1
RECEIPT_FORMAT = 1
INSTANCE_BYTES = 16
MAX_ITEMS = 1024
MAX_HEADER_BYTES = 1 << 20
MAX_RECEIPT_BYTES = 1 << 12
# What a role shows of its job, or says of an end: names and one signature.
MAX_WORD_BYTES = 1 << 20

DATA = "data"
JOIN = "join"
LEFT = "left"
EXPELLED = "expelled"
FINISHED = "finished"
KINDS = frozenset({DATA, JOIN, LEFT, EXPELLED, FINISHED})

_LENGTH = struct.Struct("<I")


ONE_RELEASE = "install one release of Hekat at every site"


class OtherFormatError(WireError):
    """A parcel as another release writes it."""


@dataclass(frozen=True)
class Item:
    """One message of a pair of roles; `sequence` counts all of the pair from 0."""

    sequence: int
    kind: str
    step: str
    payload: bytes = field(repr=False)


@dataclass(frozen=True)
class Parcel:
    """Messages of `sender` for `receiver`, in their order; none at all asks only whether the receiver is there.

    `instance`: 16 random bytes of the sender's process, so that a second process of one role is told from the first.
    """

    run_id: str
    sender: str
    receiver: str
    instance: bytes
    items: Sequence[Item] = ()

    def encode(self) -> bytes:
        items = [[item.sequence, item.kind, item.step, len(item.payload)] for item in self.items]
        header = msgpack.packb([FORMAT, self.run_id, self.sender, self.receiver, self.instance, items])
        return b"".join([_LENGTH.pack(len(header)), header, *(item.payload for item in self.items)])


@dataclass(frozen=True)
class Receipt:
    """What the receiver of a parcel has by now: all messages of the pair below `next_sequence`.

    `busy`: there was no room for the rest, which is to come again. `refusal`: why nothing of this sender is taken.
    Receipts are of one format in all releases, so that a role of another one can be told so.
    """

    instance: bytes
    next_sequence: int = 0
    busy: bool = False
    refusal: str = ""

    def encode(self) -> bytes:
        packed: bytes = msgpack.packb([RECEIPT_FORMAT, self.instance, self.next_sequence, self.busy, self.refusal])
        return packed


def decode_parcel(data: bytes) -> Parcel:
    """The parcel in `data`; memory grows with `data`, not with what it says.

    Raises OtherFormatError for a parcel of another release's format, WireError for anything else.
    """
    view = memoryview(data)
    if len(view) < _LENGTH.size:
        raise _malformed("parcel")
    (header_bytes,) = _LENGTH.unpack_from(view)
    payloads = view[_LENGTH.size + header_bytes :]
    if header_bytes > MAX_HEADER_BYTES or len(view) < _LENGTH.size + header_bytes:
        raise _malformed("parcel")
    fields = _unpack(bytes(view[_LENGTH.size : _LENGTH.size + header_bytes]), "parcel")
    if not fields or not _is_count(fields[0]):
        raise _malformed("parcel")
    if fields[0] != FORMAT:
        raise OtherFormatError(
            "a parcel of another release", expected=f"format {FORMAT}", got=f"format {fields[0]}", cure=ONE_RELEASE
        )
    if len(fields) != 6:
        raise _malformed("parcel")
    _, run_id, sender, receiver, instance, listed = fields
    if not _is_instance(instance) or not isinstance(listed, list) or len(listed) > MAX_ITEMS:
        raise _malformed("parcel")
    if not all(_is_name(name) for name in (run_id, sender, receiver)):
        raise _malformed("parcel")
    return Parcel(run_id, sender, receiver, instance, _read_items(listed, payloads))


def _read_items(listed: list[Any], payloads: memoryview) -> list[Item]:
    items: list[Item] = []
    offset = 0
    for entry in listed:
        if not isinstance(entry, list) or len(entry) != 4:
            raise _malformed("parcel")
        sequence, kind, step, length = entry
        if not (_is_count(sequence) and _is_count(length) and isinstance(kind, str) and kind in KINDS):
            raise _malformed("parcel")
        if not _is_name(step) or offset + length > len(payloads):
            raise _malformed("parcel")
        items.append(Item(sequence, kind, step, bytes(payloads[offset : offset + length])))
        offset += length
    if offset != len(payloads):
        raise _malformed("parcel")
    return items


def decode_receipt(data: bytes) -> Receipt:
    """The receipt in `data`. Raises WireError for anything else."""
    if not isinstance(data, bytes) or len(data) > MAX_RECEIPT_BYTES:
        raise _malformed("receipt")
    fields = _unpack(data, "receipt")
    if len(fields) != 5:
        raise _malformed("receipt")
    form, instance, next_sequence, busy, refusal = fields
    if form != RECEIPT_FORMAT or not _is_instance(instance) or not _is_count(next_sequence):
        raise _malformed("receipt")
    if not isinstance(busy, bool) or not isinstance(refusal, str):
        raise _malformed("receipt")
    return Receipt(instance, next_sequence, busy, refusal)


def _unpack(data: bytes, what: str) -> list[Any]:
    try:
        fields = msgpack.unpackb(data, raw=False)
    except (ValueError, msgpack.UnpackException):
        raise _malformed(what) from None
    if not isinstance(fields, list):
        raise _malformed(what)
    return fields


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and 0 < len(value.encode()) <= MAX_NAME_BYTES


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _is_instance(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == INSTANCE_BYTES


def _malformed(what: str) -> WireError:
    return WireError(f"malformed {what} of a mailbox", expected=f"a whole {what} of this format", got="other bytes")
