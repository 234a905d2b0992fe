"""How a party leaves a run before its end, and what the run's caller, the other parties and itself are told of it.

The caller gets the whole reason. The other parties get the kind of the failure only: its text may speak of that
party's own data.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from hekat import errors
from hekat.channel.channel import printable_reason
from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import ChannelError, HekatError, PartyLostError, PartyStoppedError


class FailureElsewhereError(HekatError):
    """What a party raised in another process: its kind, or what became of the process; its words stayed there."""

    def __init__(self, kind: str, *, ends_run: bool = False) -> None:
        super().__init__(printable_reason(kind))
        self.ends_run = ends_run

    @property
    def kind(self) -> type[HekatError]:
        """The class of that name; ChannelError where the process ended without a word."""
        found = getattr(errors, self.what, None)
        return found if isinstance(found, type) and issubclass(found, HekatError) else ChannelError


@dataclass(frozen=True)
class Stop:
    """A party that ends the run for all: in which step, what it had saved, and what it raised."""

    party: str
    step: str
    saved: str
    error: BaseException
    notice: DropoutNotice | None = None
    """The party's own word, where it could still give it."""
    lost: tuple[str, ...] = ()
    """The parties that the run had lost before: why a party stopped may lie with them."""

    def to_caller(self) -> PartyStoppedError:
        """What the run ends with; its cause is `error`, unless that one names another party already."""
        if isinstance(self.error, PartyStoppedError):
            return self.error
        return self._error(f": {_reason(self.error)}", self.error)

    def to_others(self, told: str = "") -> PartyStoppedError:
        """The error for another party; `told` is what it heard besides of why the run could not go on."""
        kind = kind_of(self.error)
        after = f" after the loss of {', '.join(map(repr, self.lost))}" if self.lost else ""
        error = self._error(f"{after} ({kind}){told}", None)
        error.notice, error.told_reason = self.notice, kind
        return error

    def _error(self, why: str, cause: BaseException | None) -> PartyStoppedError:
        what = f"party {self.party!r} stopped in step {self.step!r}{why}"
        error = PartyStoppedError(what, party=self.party, step=self.step, saved=self.saved)
        error.__cause__ = cause
        return error


@dataclass(frozen=True)
class Dropout:
    """A party that the run goes on without: it raised `error`, or `expelled_by` gave up on it for `reason`."""

    party: str
    step: str
    saved: str
    error: BaseException | None = None
    expelled_by: str = ""
    reason: str = ""
    after_stop: bool = False
    """Another party had ended the run before."""
    notice: DropoutNotice | None = None
    """The signed word of the party that gave up on it, or the party's own word where it could still give it."""

    def to_caller(self) -> PartyLostError:
        """The error for the run's caller; its cause is `error`."""
        reason = self._expelled if self.error is None else _reason(self.error)
        error = self._error(reason, f": {reason}")
        error.__cause__ = self.error
        error.after_stop = self.after_stop
        return error

    def to_others(self, consequence: str) -> PartyLostError:
        """The error for another party; `consequence` says what that means for its own call."""
        reason = self._expelled if self.error is None else kind_of(self.error)
        error = self._error(reason, f" ({reason}) {consequence}")
        error.notice, error.expelled_by = self.notice, self.expelled_by
        error.told_reason = self.reason if self.error is None else reason
        return error

    def to_itself(self) -> PartyStoppedError:
        """The error for the party itself, at its next call or in the call where it waits."""
        if self.error is not None:
            what = f"party {self.party!r} has left the run in step {self.step!r} ({kind_of(self.error)})"
            return PartyStoppedError(what, party=self.party, step=self.step, saved=self.saved)
        error = PartyStoppedError(
            f"{self.expelled_by!r} gave up on party {self.party!r} in step {self.step!r}: {self.reason}",
            party=self.expelled_by,
            step=self.step,
            saved=self.saved,
            cure="resume from the checkpoint in a new session",
        )
        error.notice, error.expelled_by, error.told_reason = self.notice, self.expelled_by, self.reason
        return error

    def as_stop(self, error: PartyStoppedError) -> Stop:
        """The end of the run by this dropout; `error` says so of a party that was expelled."""
        return Stop(self.party, self.step, self.saved, self.error or error)

    @property
    def _expelled(self) -> str:
        return f"{self.expelled_by!r} gave up on it: {self.reason}"

    def _error(self, reason: str, why: str) -> PartyLostError:
        what = f"party {self.party!r} was lost in step {self.step!r}{why}"
        return PartyLostError(what, party=self.party, step=self.step, reason=reason)


def forget_locals(error: BaseException) -> None:
    """Free what the functions that `error` passed through held; its places in the code stay."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        traceback.clear_frames(link.__traceback__)
        chain.append(link)
        link = link.__cause__ or link.__context__


def kind_of(error: BaseException) -> str:
    """The kind of an error, which says nothing of a party's data."""
    return error.what if isinstance(error, FailureElsewhereError) else type(error).__name__


def _reason(error: BaseException) -> str:
    """The text of one of our own errors; of another one its kind only, since its text may hold anything."""
    return str(error) if isinstance(error, HekatError) else type(error).__name__
