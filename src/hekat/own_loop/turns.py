"""Turns: the parties of one process run their code in their order, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, Lock

from hekat.channel.computing_turn import ComputingTurn
from hekat.errors import PartyStoppedError


class Turns:
    """Between two calls a party's code runs by itself, after the code of the parties named before it.

    So a random generator that the whole process shares (torch's, NumPy's) gives every run the same numbers.
    """

    def __init__(
        self,
        parties: Sequence[str],
        turn: ComputingTurn | Lock | None = None,
        on_turn: Callable[[str], None] = lambda party: None,
    ) -> None:
        """`turn`: the lock of the role that computes, where roles share one; a waiting party gives it back.

        `on_turn` is told whose code runs now.
        """
        self._turn, self._on_turn = turn, on_turn
        self._changed = Condition()
        self._played = dict.fromkeys(parties, 0)
        self._stopped = False

    def begin(self, party: str) -> None:
        """Wait until it is this party's turn. Raises PartyStoppedError where the run has ended meanwhile."""
        if self._turn is not None:
            self._turn.release()
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._is_next(party))
        finally:
            if self._turn is not None:
                self._turn.acquire()
        if self._stopped:
            raise PartyStoppedError("the run has ended", party=party, step="between two calls")
        self._on_turn(party)

    def end(self, party: str) -> None:
        """This party's code calls for something: the next one's turn."""
        with self._changed:
            self._played[party] += 1
            self._changed.notify_all()

    def leave(self, party: str) -> None:
        """No party waits for this one any more."""
        with self._changed:
            self._played.pop(party, None)
            self._changed.notify_all()

    def stop(self) -> None:
        """The run has ended: nobody's turn comes any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _is_next(self, party: str) -> bool:
        played = self._played[party]
        for name, count in self._played.items():
            if name == party:
                return True
            if count <= played:
                return False
        return True
