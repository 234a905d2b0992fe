"""Reads a ledger and verifies it: every line, their order, and the signature at the end."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.channel.party_key import SIGNATURE_BYTES, PartyPublicKey
from hekat.errors import LedgerError
from hekat.ledger.entry import FORMAT, NO_PREVIOUS, LedgerEntry, damaged, entry_from_line, read_json_line
from hekat.ledger.ledger import tail_holds, tail_line

_OPENING_FACTS = {"format", "party", "run", "protocol", "key"}


@dataclass(frozen=True)
class VerifiedLedger:
    """The entries of a ledger whose chain holds. `signed` only where its end is there and the signature holds too."""

    entries: tuple[LedgerEntry, ...]
    signed: bool

    @property
    def facts(self) -> dict[str, str]:
        """What the opening line states: format, party, run, protocol, key."""
        return self.entries[0].facts

    @property
    def reason(self) -> str:
        """Why the run ended, empty where the ledger was never closed."""
        last = self.entries[-1]
        return last.facts.get("reason", "") if last.direction == "closed" else ""


def verify_ledger(data: bytes, public_key: PartyPublicKey) -> VerifiedLedger:
    """The ledger in `data`, verified against the party's public key.

    Lines cut off cleanly at the end cannot be told from a run that was killed: both give `signed` False.

    Raises:
        LedgerError: a line that was edited, removed, inserted or moved, a signature that does not hold, another
            party's key; names the line.
    """
    lines = data.split(b"\n")
    if lines.pop() != b"":
        raise damaged(len(lines) + 1, "a newline at its end", "a line that is cut off")
    if not lines:
        raise damaged(1, "an opening line", "an empty file")
    entries: list[LedgerEntry] = []
    for line_number, line in enumerate(lines, 1):
        if entries and entries[-1].direction == "closed":
            _check_tail(line, line_number, entries, public_key)
            if line_number != len(lines):
                raise damaged(line_number + 1, "nothing after the signature", "more lines")
            return VerifiedLedger(tuple(entries), signed=True)
        entry = entry_from_line(line, line_number)
        _check_follows(entry, entries, line_number)
        if not entries:
            _check_opening(entry, public_key)
        entries.append(entry)
    return VerifiedLedger(tuple(entries), signed=False)


def _check_follows(entry: LedgerEntry, before: list[LedgerEntry], line_number: int) -> None:
    expected = before[-1].hash if before else NO_PREVIOUS
    if entry.index != len(before):
        raise damaged(
            line_number, f"entry {len(before)}", f"entry {entry.index}: lines were removed, added or moved here"
        )
    if entry.previous != expected:
        raise damaged(
            line_number,
            "an entry that follows the line before it",
            "one that follows another: a line was exchanged here",
        )
    if before and (entry.session != before[0].session or entry.direction == "opened"):
        raise damaged(line_number, "an entry of the same session", "one of another ledger")


def _check_opening(entry: LedgerEntry, public_key: PartyPublicKey) -> None:
    if entry.direction != "opened" or set(entry.facts) != _OPENING_FACTS:
        raise damaged(1, "an opening line", f"an entry {entry.direction!r}")
    if entry.facts["format"] != FORMAT:
        raise damaged(1, FORMAT, "another format of ledger")
    if entry.facts["key"] != public_key.text:
        raise LedgerError(
            f"the ledger of {entry.facts['party']!r} is not under the given key",
            expected=f"key {public_key.fingerprint}",
            got="another key in line 1",
            cure="give the public party key of the ledger's owner",
        )


def _check_tail(line: bytes, line_number: int, entries: list[LedgerEntry], public_key: PartyPublicKey) -> None:
    text = read_json_line(line, line_number).get("signature")
    try:
        signature = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        signature = b""
    party, session = entries[0].facts["party"], entries[0].session
    last_hash = entries[-1].hash
    # The line must be the one spelling of exactly this end; hex, for instance, could be written in capitals.
    if len(signature) != SIGNATURE_BYTES or line + b"\n" != tail_line(
        party, session, len(entries), last_hash, signature.hex()
    ):
        raise damaged(line_number, f"the signature line of {len(entries)} entries", "another line")
    if not tail_holds(public_key, party, session, len(entries), last_hash, signature):
        raise damaged(line_number, f"a signature of {party!r} over {len(entries)} entries", "one that does not hold")
