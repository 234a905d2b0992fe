"""A ledger of notes that outlasts processes: each time it is written it is closed and signed again, with more notes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from hekat.channel.party_key import PartyKey
from hekat.errors import InputError
from hekat.ledger.chain import VerifiedLedger
from hekat.ledger.entry import FORMAT, NO_PREVIOUS, Direction, FieldRecord, LedgerEntry
from hekat.ledger.ledger import SESSION_ID_BYTES, sign_tail, tail_line, utc_now

_REASON = "written"


def new_ledger(
    party: str, key: PartyKey, run_id: str, protocol: str, clock: Callable[[], datetime] = utc_now
) -> VerifiedLedger:
    """A ledger of `party` with its opening line alone, to be written by `extend_ledger`."""
    facts = {"format": FORMAT, "party": party, "run": run_id, "protocol": protocol, "key": key.public.text}
    opening = LedgerEntry(0, _time(clock), "opened", os.urandom(SESSION_ID_BYTES).hex(), NO_PREVIOUS, facts=facts)
    return VerifiedLedger((opening,), signed=False)


def extend_ledger(
    ledger: VerifiedLedger,
    key: PartyKey,
    step: str,
    notes: Sequence[tuple[FieldRecord, ...]],
    clock: Callable[[], datetime] = utc_now,
) -> bytes:
    """The ledger's bytes with a line more for each of `notes`, closed and signed.

    Whoever cuts lines off the end of these bytes has to forge a signature; an older copy in their place is not told
    from the newest. Raises InputError for a note that does not print.
    """
    entries = [entry for entry in ledger.entries if entry.direction != "closed"]
    for fields in notes:
        entries.append(_following(entries, "note", clock, step=step, fields=fields))
    entries.append(_following(entries, "closed", clock, facts={"reason": _REASON}))
    party, session, count, last = entries[0].facts["party"], entries[0].session, len(entries), entries[-1].hash
    signature = sign_tail(key, party, session, count, last)
    return b"".join(entry.to_line() for entry in entries) + tail_line(party, session, count, last, signature.hex())


def _following(
    before: Sequence[LedgerEntry],
    direction: Direction,
    clock: Callable[[], datetime],
    *,
    step: str = "",
    fields: tuple[FieldRecord, ...] = (),
    facts: dict[str, str] | None = None,
) -> LedgerEntry:
    last = before[-1]
    entry = LedgerEntry(
        len(before), _time(clock), direction, last.session, last.hash, step=step, fields=fields, facts=facts or {}
    )
    if not entry.is_printable:
        raise InputError(
            "a note that could not be read back", expected="printable texts", got="control characters", cure="clean it"
        )
    return entry


def _time(clock: Callable[[], datetime]) -> str:
    return clock().astimezone(UTC).isoformat(timespec="microseconds")
