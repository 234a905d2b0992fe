"""Where a party's loop and its couriers meet: an update goes in, a mean comes out, one round after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Condition
from typing import Any

import numpy.typing as npt

from hekat.errors import HekatError, ProtocolError

Arrays = Mapping[str, npt.NDArray[Any]]


class TrainingFailedError(HekatError):
    """The engine's code at this site raised, or gave nothing that can be summed: the party leaves the run."""


class Desk:
    """The loop waits here for updates; whoever carries them is told which one is wanted. All calls are thread-safe."""

    def __init__(self, rounds: int, nudge: Callable[[], None]) -> None:
        self.rounds = rounds
        self._nudge = nudge
        self._changed = Condition()
        self._wants_start = False
        self._start: Arrays | None = None
        self._update: tuple[Arrays, int, str] | None = None
        self._failure: TrainingFailedError | None = None
        self.wanted = 0
        """The round whose update the loop waits for; 0 while it waits for none."""
        self.opened = 0
        """The last round whose mean is opened."""
        self.model: Arrays | None = None
        """The mean of that round; before the first one the state to start from."""

    @property
    def is_paused(self) -> bool:
        """Whether the loop waits here."""
        return self.wanted > 0 or self._wants_start

    @property
    def has_start(self) -> bool:
        return self._start is not None

    # --- the loop's calls --------------------------------------------------------------------------------------

    def wait_for_start(self) -> Arrays:
        """The state that all parties start from. Raises TrainingFailedError."""
        with self._changed:
            self._wants_start = self._start is None and self._failure is None
        self._wait(lambda: self._start is not None)
        assert self._start is not None
        self.model = self._start
        return self._start

    def wait_for_update(self, round_number: int) -> tuple[Arrays, int, str]:
        """This party's state after training in the round, its weight, and a digest of what the engine's server said
        for it. Raises TrainingFailedError."""
        with self._changed:
            self.wanted = 0 if self._failure is not None else round_number
        self._wait(lambda: self._update is not None)
        assert self._update is not None
        update, self._update = self._update, None
        return update

    def open(self, round_number: int, mean: Arrays) -> None:
        """The round's mean stands."""
        self.opened, self.model = round_number, mean

    # --- the couriers' calls -----------------------------------------------------------------------------------

    def give_start(self, state: Arrays) -> None:
        """The state to start from; only the first one counts."""
        with self._changed:
            if self._start is None:
                self._start, self._wants_start = state, False
            self._changed.notify_all()

    def give_update(self, round_number: int, update: Arrays, weight: int, terms: str) -> None:
        """This party's update. Raises ProtocolError for any other than the wanted one: none is taken twice."""
        with self._changed:
            if not self.wanted or round_number != self.wanted:
                raise ProtocolError(
                    "the party's loop takes no such update",
                    expected=f"an update of round {self.wanted}" if self.wanted else "no update now",
                    got=f"one of round {round_number}",
                    cure="none is needed: a message that the engine brought twice is trained and summed once",
                )
            self._update, self.wanted = (update, weight, terms), 0
            self._changed.notify_all()

    def fail(self, kind: str) -> None:
        """End the loop: the engine's code failed, or the process ends."""
        with self._changed:
            self._failure = self._failure or TrainingFailedError(
                "the training at this site failed",
                expected="arrays and a weight from the engine's code",
                got=kind,
                cure="look at the engine's log at this site",
            )
            # At once: to whoever asks before the loop wakes, it would still want what it does not get.
            self.wanted, self._wants_start = 0, False
            self._changed.notify_all()

    def _wait(self, is_there: Callable[[], bool]) -> None:
        self._nudge()
        with self._changed:
            self._changed.wait_for(lambda: is_there() or self._failure is not None)
            if self._failure is not None:
                raise self._failure
