"""What one role knows of the others' ends: who returned, who is lost, and what ended the run.

Each role concludes this for itself, from signed words. A role that may not be lost (the aggregator) can give up on one
that may: its word makes all others agree. What any other role says of a third one counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgpack

from hekat import errors
from hekat.channel.channel import printable_reason
from hekat.channel.departure import Dropout, FailureElsewhereError, Stop
from hekat.channel.dropout_notice import FINISHED_REASON, DropoutNotice
from hekat.errors import HekatError, PartyLostError, PartyStoppedError, WireError

_UNSIGNED_STEP = "unknown (no signed word of it)"


@dataclass
class Departures:
    """The ends of the others, as `role` of a run has heard of them."""

    role: str
    may_be_lost: frozenset[str]
    dropouts: dict[str, Dropout] = field(default_factory=dict)
    finished: dict[str, DropoutNotice | None] = field(default_factory=dict)
    stop: Stop | None = None

    def is_gone(self, party: str) -> bool:
        return party in self.finished or party in self.dropouts

    def note_left(self, party: str, word: bytes) -> None:
        """`party` raised: it is lost where it may be, else the run ends, as `InProcessHub.fail` decides.

        Raises WireError for a word that is none.
        """
        notice = read_notice(word)
        if notice is None or notice.by != party or notice.party != party:
            # Nothing that nobody signed is told as somebody's reason.
            error, notice = FailureElsewhereError("it left, without a signed word of its own"), None
            step, saved = _UNSIGNED_STEP, ""
        else:
            error = FailureElsewhereError(notice.reason, ends_run=_ends_run(notice.reason))
            step, saved = notice.step, notice.saved
        if self.is_gone(party):
            return
        if party in self.may_be_lost and not error.ends_run:
            after_stop = self.stop is not None
            self.dropouts[party] = Dropout(party, step, saved, error, after_stop=after_stop, notice=notice)
        else:
            lost = () if notice is None else notice.lost
            self.stop = self.stop or Stop(party, step, saved, error, notice, lost)
            self.finished[party] = None

    def note_expelled(self, by: str, word: bytes) -> None:
        """`by` gave up on a party. Without effect where `by` may be lost itself. Raises WireError as `note_left`."""
        notice = read_notice(word)
        if notice is None:
            raise _no_word()
        if by in self.may_be_lost or notice.by != by or notice.party not in self.may_be_lost:
            return
        if notice.party not in self.dropouts:
            self.expel(by, notice.party, notice.reason, notice)

    def expel(self, by: str, party: str, reason: str, notice: DropoutNotice | None, step: str = "") -> None:
        """`party` is lost by the word of `by`."""
        step = step or (notice.step if notice is not None else "") or _UNSIGNED_STEP
        self.dropouts[party] = Dropout(party, step, "", expelled_by=by, reason=reason, notice=notice)

    def note_finished(self, party: str, word: bytes) -> None:
        """`party` returned. Raises WireError as `note_left`."""
        notice = read_notice(word)
        holds = notice is not None and (notice.by, notice.party, notice.reason) == (party, party, FINISHED_REASON)
        self.finished.setdefault(party, notice if holds else None)

    def own_error(self, told: str) -> PartyStoppedError | None:
        """What this role's own calls raise: another role gave up on it, or the run has ended. `told` is what else the
        role heard of why."""
        if self.role in self.dropouts:
            return self.dropouts[self.role].to_itself()
        return None if self.stop is None else self.stop.to_others(told)

    def error_of(self, peer: str, consequence: str, waiting: str) -> PartyStoppedError | PartyLostError | None:
        """What a call raises that needs more of `peer`, or gives it more; None while that one plays."""
        if peer in self.dropouts:
            return self.dropouts[peer].to_others(f"and {consequence}{waiting}")
        if peer not in self.finished:
            return None
        notice = self.finished[peer]
        said = "" if notice is not None else " (without a signed word of its own)"
        error = PartyStoppedError(f"party {peer!r} has finished{said}: it {consequence}{waiting}", party=peer)
        if notice is not None:
            error.notice, error.told_reason, error.step = notice, notice.reason, notice.step
        return error


def write_notice(notice: DropoutNotice | None) -> bytes:
    """The bytes of a signed word; none where a role could give none any more."""
    if notice is None:
        return b""
    fields = [notice.by, notice.party, notice.reason, notice.signature, notice.step, notice.saved]
    packed: bytes = msgpack.packb([*fields, list(notice.lost)])
    return packed


def read_notice(word: bytes) -> DropoutNotice | None:
    """The signed word in `word`, its signature unchecked; None in no bytes. Raises WireError for other bytes."""
    if not word:
        return None
    try:
        fields = msgpack.unpackb(word, raw=False)
    except (ValueError, msgpack.UnpackException):
        raise _no_word() from None
    kinds = [str, str, str, bytes, str, str, list]
    if not isinstance(fields, list) or [type(entry) for entry in fields] != kinds:
        raise _no_word()
    by, party, reason, signature, step, saved, lost = fields
    if not all(isinstance(name, str) and name.isprintable() for name in lost):
        raise _no_word()
    # Whoever signs chooses the words: they are shown at a terminal, and kept.
    if not reason or any(text != printable_reason(text or "?") for text in (reason, step or "?", saved or "?")):
        raise _no_word()
    return DropoutNotice(by, party, reason, signature, step, saved, tuple(lost))


def _ends_run(kind: str) -> bool:
    found = getattr(errors, kind, None)
    return isinstance(found, type) and issubclass(found, HekatError) and found.ends_run


def _no_word() -> WireError:
    return WireError("malformed word of a departure", expected="who, whom, why, where, and a signature", got="others")
