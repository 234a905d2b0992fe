"""Calls of the engine's task thread, made in the thread that plays the party."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Event
from typing import Any, TypeVar

from hekat.errors import HekatError, ProtocolError
from hekat.own_loop import Party

T = TypeVar("T")

_LOOK_FOR_ABORT_S = 0.5


class AppEndedError(HekatError):
    """The party's role is over: the app can hand in nothing more."""


@dataclass
class Call:
    """Something asked of the party, and once it is `done` what came of it."""

    make: Callable[[Party], Any]
    done: Event = field(default_factory=Event)
    result: Any = None
    error: BaseException | None = None

    def answer(self, party: Party) -> None:
        try:
            self.result = self.make(party)
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.done.set()


class Handover:
    """Made when the job process starts: a call waits until the role is there, or has ended."""

    def __init__(self, is_aborted: Callable[[], bool] = lambda: False) -> None:
        self._calls: SimpleQueue[Call | BaseException | None] = SimpleQueue()
        self._is_aborted = is_aborted
        self._over = Event()
        self._error: BaseException | None = None

    def ask(self, make: Callable[[Party], T]) -> T:
        """What `make` returns of the party. Raises what it raises, and AppEndedError where the role has ended."""
        result: T = self.wait(self.begin(make))
        return result

    def begin(self, make: Callable[[Party], Any]) -> Call:
        """Have the party make something, after what it was asked before; `wait` has what comes of it."""
        call = Call(make)
        self._calls.put(call)
        return call

    def wait(self, call: Call) -> Any:
        """As `ask`, of something begun."""
        while not call.done.wait(_LOOK_FOR_ABORT_S):
            if self._over.is_set() and not call.done.is_set():
                raise self._ended()
            if self._is_aborted():
                raise AppEndedError("the engine ended the job", expected="the end of a round", got="an abort")
        if call.error is not None:
            raise call.error
        return call.result

    def finish(self) -> None:
        """Have the party leave, once it has answered what it was asked."""
        self._calls.put(None)

    def abandon(self, error: BaseException) -> None:
        """Have the party's role end by `error`: the others go on without it."""
        self._calls.put(error)

    def wait_for_end(self, timeout_s: float | None = None) -> bool:
        """Whether the role ended in time. Raises what ended it."""
        if not self._over.wait(timeout_s):
            return False
        if self._error is not None:
            raise self._ended()
        return True

    def serve(self, party: Party) -> None:
        """The party's code: answer calls until no more come. Raises what a call raised."""
        while (call := self._calls.get()) is not None:
            if isinstance(call, BaseException):
                raise call
            call.answer(party)

    def end(self, error: BaseException | None) -> None:
        """The role is over, by `error` or well: whoever waits is told."""
        self._error = error
        self._over.set()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def _ended(self) -> BaseException:
        if self._error is not None:
            return self._error
        return ProtocolError(
            "the run is over",
            expected="no task after the last round that the job allows",
            got="another one",
            cure="allow more rounds in the job, and have it approved",
        )
