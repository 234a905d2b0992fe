"""A party's own code in its turns: who may call the party, when its clock runs, and what a broken call leaves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hekat.errors import ProtocolError
from hekat.own_loop.turns import Turns
from hekat.protocol.stopwatch import Stopwatch


class OwnCode:
    """The code of one party; `runner` is the function that runs it, as errors name it."""

    def __init__(self, party: str, turns: Turns, stopwatch: Stopwatch, runner: str) -> None:
        self._party, self._turns, self._stopwatch, self._runner = party, turns, stopwatch, runner
        self.calls = 0
        """Calls that something has left in."""
        self._clock: Any = None
        self._thread: int | None = None
        """The one thread that may call: the thread of the party's code while it runs."""
        self._broken: BaseException | None = None
        """What ended a call after something of it had left: the others are in the middle of it."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """The code runs, beginning with its turn. Raises what broke one of its calls."""
        self._begin_turn()
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._thread = None
            self._end_clock()
        if self._broken is not None:
            raise self._broken

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Meanwhile the code and its clock stand still; once a message has left, its turn is over."""
        self._check_may_call()
        self._end_clock()
        calls = self.calls
        try:
            yield
        except BaseException as error:
            if self.calls > calls:
                self._broken = error
            # Whatever the caller's code does with the error, most often nothing, need not wait for other parties.
            self._begin_clock()
            raise
        self._begin_turn()

    def leave(self) -> None:
        """A message of the running call leaves: the next party's turn."""
        self.calls += 1
        self._turns.end(self._party)

    def _check_may_call(self) -> None:
        if self._thread != threading.get_ident():
            raise ProtocolError(
                f"party {self._party} cannot be called from here",
                expected="a call in the thread of this party's own code, while that runs",
                got="one from another thread, from another party's code or after the code has returned",
                cure=f"pass what other threads worked out to the function that {self._runner} runs, and call there",
            )
        if self._broken is not None:
            raise ProtocolError(
                f"party {self._party} can call for nothing more",
                expected="no call after one that failed on its way",
                got=f"another, after {type(self._broken).__name__} in call {self.calls}",
                cure="let the first error end the party's code: what it says is what went wrong",
            ) from self._broken

    def _begin_turn(self) -> None:
        self._turns.begin(self._party)
        self._begin_clock()

    def _begin_clock(self) -> None:
        self._clock = self._stopwatch.measure("train")
        self._clock.__enter__()

    def _end_clock(self) -> None:
        clock, self._clock = self._clock, None
        if clock is not None:
            clock.__exit__(None, None, None)
