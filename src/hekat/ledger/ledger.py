"""A party's own record of everything that passed, written line by line as it passes and signed when it ends.

The file has mode 0600: it holds no content, but digests of messages, from which somebody could confirm a guess of
one with few possible values.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, get_args

from hekat.channel.channel import check_name
from hekat.channel.party_key import PartyKey, PartyPublicKey
from hekat.errors import InputError, LedgerError, StateError
from hekat.ledger.entry import FORMAT, MAX_LINE_BYTES, NO_PREVIOUS, Direction, FieldRecord, canonical_json, write_line
from hekat.wire import Disclosure
from hekat.wire.disclosure import DisclosureClass

SESSION_ID_BYTES = 32
STOPPED = "stopped"
"""Begins the reason of a ledger whose role ended by an exception."""
_TAIL_PURPOSE = "hekat/ledger-tail/1"


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


class Ledger:
    """Writes one party's ledger of one session to a new file, or to memory where `path` is None (`data` has it).

    Each line is in the file when its call returns. `close` signs what was written; a `with` block closes, with the
    reason if it ends by an exception. A ledger that was never closed is told from one that was by `audit`.
    """

    def __init__(
        self,
        path: Path | None,
        party: str,
        key: PartyKey,
        session_id: bytes,
        *,
        run_id: str = "-",
        protocol: str = "-",
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Raises StateError where `path` exists or cannot be written, InputError for malformed names or id."""
        for name, what in ((party, "party"), (run_id, "run"), (protocol, "protocol")):
            check_name(name, what)
        if not isinstance(session_id, bytes) or len(session_id) != SESSION_ID_BYTES:
            raise InputError(
                "not a session id",
                expected=f"the {SESSION_ID_BYTES} bytes of open_session()",
                got=type(session_id).__name__,
            )
        self.path = None if path is None else Path(path)
        self.party = party
        self._key = key
        self._session = session_id.hex()
        self._clock = clock
        self._count = 0
        self._last_hash = NO_PREVIOUS
        self._closed = False
        self._memory: list[bytes] = []
        self._descriptor: int | None = None if self.path is None else _create(self.path)
        self._size_bytes = 0
        facts = {"format": FORMAT, "party": party, "run": run_id, "protocol": protocol, "key": key.public.text}
        try:
            self._append("opened", facts=facts)
        except StateError:
            self._abandon()
            raise

    @property
    def entry_count(self) -> int:
        """Lines so far, the signature not counted."""
        return self._count

    @property
    def closed(self) -> bool:
        """Whether the ledger is signed and takes no more."""
        return self._closed

    @property
    def data(self) -> bytes:
        """What was written so far, of a ledger in memory. Raises InputError for one in a file."""
        if self.path is not None:
            raise InputError("the ledger is in a file", expected="a ledger in memory", got=f"{self.path}")
        return b"".join(self._memory)

    def record(
        self,
        direction: Literal["sent", "received"],
        peer: str,
        step: str,
        kind: str,
        fields: Sequence[FieldRecord],
        payload: bytes,
        digest: bytes = b"",
    ) -> bytes:
        """Write that the message with wire bytes `payload` passed; of these only length and SHA-256 are kept.

        `digest`: the SHA-256, where the caller has it already. Returns the SHA-256.
        Raises StateError where the disk does not take it (nothing half-written stays), LedgerError once closed.
        """
        digest = digest or hashlib.sha256(payload).digest()
        self._append(
            direction,
            peer=peer,
            step=step,
            kind=kind,
            payload_bytes=len(payload),
            payload_sha256=digest.hex(),
            fields=tuple(fields),
        )
        return digest

    def note(self, step: str, what: str, disclosure: Disclosure | DisclosureClass) -> None:
        """Write a fact that is no message: `what`, in `step`, and its class of disclosure. Raises as `record`."""
        check_name(step, "step")
        if not isinstance(disclosure, Disclosure):
            if disclosure not in get_args(DisclosureClass):
                raise InputError(
                    "not a disclosure", expected=f"one of {', '.join(get_args(DisclosureClass))}", got=repr(disclosure)
                )
            disclosure = Disclosure(disclosure)
        self._append("note", step=step, fields=(FieldRecord.of(what, disclosure, 0),))

    def close(self, reason: str = "finished") -> None:
        """Sign what was written and end the ledger; `reason` says why the run ended. A second call does nothing.

        Raises StateError where the disk does not take it.
        """
        if self._closed:
            return
        self._append("closed", facts={"reason": reason})
        signature = sign_tail(self._key, self.party, self._session, self._count, self._last_hash)
        self._write(tail_line(self.party, self._session, self._count, self._last_hash, signature.hex()))
        self._closed = True
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close("finished" if kind is None else f"{STOPPED}: {kind.__name__}")

    def __repr__(self) -> str:
        return f"Ledger({self.party!r}, {self._count} entries{', closed' if self._closed else ''})"

    def _append(
        self,
        direction: Direction,
        *,
        peer: str = "",
        step: str = "",
        kind: str = "",
        payload_bytes: int = 0,
        payload_sha256: str = "",
        fields: tuple[FieldRecord, ...] = (),
        facts: dict[str, str] | None = None,
    ) -> None:
        if self._closed:
            raise LedgerError("the ledger is closed and takes no more", expected="all messages before close()")
        line = write_line(
            index=self._count,
            # What `isoformat` writes of a time in UTC, which it takes longer for where it has to find the zone.
            time=f"{self._clock().astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}+00:00",
            direction=direction,
            session=self._session,
            previous=self._last_hash,
            peer=peer,
            step=step,
            kind=kind,
            payload_bytes=payload_bytes,
            payload_sha256=payload_sha256,
            fields=fields,
            facts=facts or {},
        )
        if not line.is_printable or len(line.data) > MAX_LINE_BYTES:
            raise InputError(
                f"a ledger entry ({direction}) that could not be read back",
                expected=f"printable texts, at most {MAX_LINE_BYTES} bytes in all",
                got=f"{len(line.data)} bytes{'' if line.is_printable else ', control characters among them'}",
                cure="shorten or clean the note, reason or description",
            )
        self._write(line.data)
        self._count += 1
        self._last_hash = line.hash

    def _write(self, line: bytes) -> None:
        if self._descriptor is None:
            self._memory.append(line)
            return
        written = 0
        try:
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            # A line is there whole or not at all: what was said before it still holds.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size_bytes)
            raise _cannot_write(self.path, error) from error
        self._size_bytes += len(line)

    def _abandon(self) -> None:
        if self._descriptor is not None and self.path is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self.path.unlink(missing_ok=True)


def sign_tail(key: PartyKey, party: str, session: str, entry_count: int, last_hash: str) -> bytes:
    """The signature at the end of a ledger, as `tail_holds` checks it."""
    return key.sign(_TAIL_PURPOSE, *_tail_fields(party, session, entry_count, last_hash))


def tail_line(party: str, session: str, entry_count: int, last_hash: str, signature: str) -> bytes:
    """The ledger's last line: the signature over party, session, entry count and the last entry's hash."""
    content = {
        "party": party,
        "session": session,
        "entry_count": entry_count,
        "last_hash": last_hash,
        "signature": signature,
    }
    return canonical_json(content) + b"\n"


def tail_holds(
    key: PartyPublicKey, party: str, session: str, entry_count: int, last_hash: str, signature: bytes
) -> bool:
    """Whether `key` signed this end of a ledger."""
    return key.verify(signature, _TAIL_PURPOSE, *_tail_fields(party, session, entry_count, last_hash))


def _tail_fields(party: str, session: str, entry_count: int, last_hash: str) -> list[bytes]:
    return [party.encode(), session.encode(), str(entry_count).encode(), last_hash.encode()]


def _create(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    except FileExistsError:
        raise StateError(
            "a ledger is there already, and ledgers are never overwritten",
            expected="a new file",
            got=f"{path}",
            cure="choose another path: one ledger holds one session",
        ) from None
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path | None, error: OSError) -> StateError:
    return StateError(
        f"the ledger {path} cannot be written; nothing is sent or accepted that it does not hold",
        got=error.strerror or type(error).__name__,
        cure="free disk space or choose another folder, then run again",
    )
