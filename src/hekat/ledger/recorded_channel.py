"""A channel of messages instead of bytes, which records each one before it leaves and before it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from hekat.channel.channel import Channel, check_peer, printable_reason
from hekat.channel.sealing import SealedChannel
from hekat.channel.statements import Statements
from hekat.errors import ChannelError, InputError, PolicyError, WireError
from hekat.ledger.entry import FieldRecord
from hekat.ledger.ledger import Ledger
from hekat.wire import Disclosure, from_bytes, to_bytes
from hekat.wire.message import MessageSpec, spec_of

T = TypeVar("T")

UNREADABLE = "unreadable"
EXPEL_STEP = "expel"
NOT_HANDED_OVER = "recorded last was not handed over"
_NUMBER_BYTES = 8
_SEQUENCES = (list, tuple)


class RecordedChannel:
    """One party's end of the run as protocols use it: typed messages over `channel`, recorded in `ledger`.

    A message is recorded before it is sent, so that nothing leaves unrecorded; should the sending fail, a note says
    so. A received one is recorded before it is returned, an unreadable one too. What happens on the way is in the
    type: each field's disclosure comes from its declaration.
    """

    def __init__(self, channel: Channel, ledger: Ledger) -> None:
        if channel.party != ledger.party:
            raise PolicyError(
                "a ledger of another party",
                expected=f"the ledger of {channel.party!r}",
                got=f"the ledger of {ledger.party!r}",
            )
        self.channel = channel
        self.ledger = ledger
        self._encoded: tuple[Any, bytes, list[FieldRecord], bytes] | None = None

    @property
    def party(self) -> str:
        return self.channel.party

    @property
    def parties(self) -> tuple[str, ...]:
        return self.channel.parties

    @property
    def session_id(self) -> bytes:
        """As `SealedChannel.session_id`. Raises PolicyError where the channel does not seal."""
        return self._sealed("a session needs a sealed channel").session_id

    @property
    def job_digest(self) -> bytes:
        """As `SealedChannel.job_digest`. Raises PolicyError where the channel does not seal."""
        return self._sealed("a job's digest needs a sealed channel").job_digest

    def send(self, to: str, step: str, message: Any, timeout_s: float | None = None) -> bytes:
        """Record and send `message`, an object of a message type; returns the SHA-256 of its bytes, as recorded.

        `timeout_s` is the time to wait for room, as `Channel.send`.

        Raises:
            InputError: no message, or values that its type does not allow.
            PolicyError: a message with sealed fields over a channel that does not seal.
            StateError: the ledger cannot be written; nothing was sent.
            ChannelError: as `Channel.send`.
        """
        spec = spec_of(type(message))
        self._check_seal(spec)
        if self._encoded is not None and self._encoded[0] is message:
            _, payload, records, digest = self._encoded
        else:
            payload, records, digest = to_bytes(message), _records(message, spec), b""
        digest = self.ledger.record("sent", to, step, spec.name, records, payload, digest)
        try:
            self.channel.send(to, step, payload, timeout_s=timeout_s)
        except ChannelError as error:
            what = f"the {spec.name} to {to!r} {NOT_HANDED_OVER} ({type(error).__name__})"
            self.ledger.note(step, what, Disclosure("public"))
            raise
        return digest

    @contextmanager
    def encoding_once(self, message: Any) -> Iterator[None]:
        """Within, `send` encodes and hashes `message` once, however many get it; meanwhile nobody changes it."""
        payload = to_bytes(message)
        self._encoded = message, payload, _records(message, spec_of(type(message))), hashlib.sha256(payload).digest()
        try:
            yield
        finally:
            self._encoded = None

    @contextmanager
    def counting_as(self, step: str) -> Iterator[None]:
        """As `SealedChannel.counting_as`; a channel that does not seal counts nothing."""
        if isinstance(self.channel, SealedChannel):
            with self.channel.counting_as(step):
                yield
        else:
            yield

    def receive(self, sender: str, step: str, message_type: type[T], timeout_s: float | None = None) -> T:
        """The next message of `sender` for `step`, of type `message_type`, recorded. Raises as `receive_digested`."""
        return self.receive_digested(sender, step, message_type, timeout_s)[0]

    def receive_digested(
        self, sender: str, step: str, message_type: type[T], timeout_s: float | None = None
    ) -> tuple[T, bytes]:
        """As `receive`, and the SHA-256 of the message's bytes, as recorded.

        Raises:
            WireError: what came is no such message; it is recorded as unreadable.
            StateError: the ledger cannot be written; the message is dropped.
            ChannelError: as `Channel.receive`.
        """
        spec = spec_of(message_type)  # refused here where it is no message
        payload = self.channel.receive(sender, step, timeout_s=timeout_s)
        message: T
        read: Callable[[bytes, Any, bool], tuple[Any, list[FieldRecord]]] = _read_shared if spec.read_once else _read
        try:
            message, records = read(payload, message_type, isinstance(self.channel, SealedChannel))
        except WireError:
            record = FieldRecord("payload", "disclosed", f"bytes that are no {spec.name}", len(payload))
            self.ledger.record("received", sender, step, UNREADABLE, [record], payload)
            raise
        return message, self.ledger.record("received", sender, step, spec.name, records, payload)

    def settle_pairs(self, to: Iterable[str], of: Iterable[str], timeout_s: float | None = None) -> None:
        """As `SealedChannel.settle_pairs`; a channel that does not seal has no keys to give."""
        if isinstance(self.channel, SealedChannel):
            self.channel.settle_pairs(to, of, timeout_s=timeout_s)

    def note_saved(self, what: str) -> None:
        """As `Channel.note_saved`."""
        self.channel.note_saved(what)

    def expel(self, party: str, reason: str) -> None:
        """Note that this end gives up on `party` and why, then do, as `Channel.expel`.

        Raises:
            InputError, PartyStoppedError: as `Channel.expel`; where it was noted already, a second note says so.
            StateError: the ledger cannot be written; nothing was done.
        """
        check_peer(party, self.party, self.parties)
        told = Disclosure("disclosed", f"told to all parties: {printable_reason(reason)}")
        self.ledger.note(EXPEL_STEP, f"gave up on {party!r}", told)
        try:
            self.channel.expel(party, reason)
        except (ChannelError, InputError) as error:
            what = f"giving up on {party!r}, noted last, was refused ({type(error).__name__})"
            self.ledger.note(EXPEL_STEP, what, Disclosure("public"))
            raise

    def find_unsigned(self, purpose: str, statements: Statements) -> str | None:
        """As `SealedChannel.find_unsigned`. Raises PolicyError where the channel does not seal."""
        return self._sealed("a signature needs a sealed channel").find_unsigned(purpose, statements)

    def sign(self, purpose: str, *fields: bytes) -> bytes:
        """As `SealedChannel.sign`. Raises PolicyError where the channel does not seal."""
        return self._sealed("a signature needs a sealed channel").sign(purpose, *fields)

    def verify(self, party: str, signature: bytes, purpose: str, *fields: bytes) -> bool:
        """As `SealedChannel.verify`. Raises PolicyError where the channel does not seal."""
        return self._sealed("a signature needs a sealed channel").verify(party, signature, purpose, *fields)

    def __repr__(self) -> str:
        return f"RecordedChannel({self.party!r} of {', '.join(self.parties)})"

    def _check_seal(self, spec: MessageSpec) -> None:
        if spec.sealed:
            what = f"{spec.name} leaves only through a sealed channel"
            self._sealed(what, f"a SealedChannel, for its fields {', '.join(spec.sealed)}")

    def _sealed(self, what: str, expected: str = "a SealedChannel") -> SealedChannel:
        if not isinstance(self.channel, SealedChannel):
            raise PolicyError(
                what,
                expected=expected,
                got=type(self.channel).__name__,
                cure="wrap the channel in SealedChannel and open a session",
            )
        return self.channel


def content_bytes(value: Any) -> int:
    """How many bytes a field's value holds: text in UTF-8, numbers 8, containers by what is in them."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if isinstance(value, dict):
        return sum(map(content_bytes, value)) + sum(map(content_bytes, value.values()))
    if isinstance(value, _SEQUENCES):
        return sum(map(content_bytes, value))
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return 1 if isinstance(value, bool) else _NUMBER_BYTES


def _read(payload: bytes, message_type: type[Any], unsealed: bool) -> tuple[Any, list[FieldRecord]]:
    """`unsealed`: the payload came out of a seal (decision 0084 says what the seal has shown of it)."""
    message = from_bytes(payload, message_type, authenticated=unsealed)
    return message, _records(message, spec_of(message_type))


# What bytes hold depends on them alone: of 200 roles that are told a sum's set, one reads its 80 kB.
@lru_cache(maxsize=4)
def _read_shared(payload: bytes, message_type: Any, unsealed: bool) -> tuple[Any, list[FieldRecord]]:
    return _read(payload, message_type, unsealed)


def _records(message: Any, spec: MessageSpec) -> list[FieldRecord]:
    return [
        FieldRecord.of(name, disclosure, content_bytes(getattr(message, name)))
        for name, disclosure in spec.disclosures.items()
    ]
