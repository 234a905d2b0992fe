"""Every role of a horizontal run in this process, each with its own context, and the run as their results tell it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from hekat.errors import PartyLostError
from hekat.launch.rows.play_roles import play_rows_roles
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.run.horizontal.role import HorizontalRole, RoleContext, RoleObserver
from hekat.run.horizontal.rounds import say_checkpoint
from hekat.state.privacy_budget import Spent
from hekat.summary.horizontal.finished_run import Dropout, FinishedRun


@dataclass
class SharedObserver(RoleObserver):
    """Takes each round, and each state to save, from the first party that tells it: all parties tell the same, but for
    their budgets; of these the one with the least left is told."""

    on_round: Callable[[RoundRecord, dict[str, float]], None] = lambda record, metrics: None
    on_fold: Callable[[int, dict[str, float]], None] = lambda done, metrics: None
    on_save: Callable[[TrainingState], None] = lambda state: None
    on_save_own: Callable[[str, OwnState], None] = lambda role, own: None
    saved: str = ""
    """What is safe by now, in words."""
    _rounds: int = 0
    _folds: int = -1
    _sums_saved: int = 0
    _spent: dict[str, Spent] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_charge(self, role: str, spent: Spent) -> None:
        with self._lock:
            self._spent[role] = spent

    def note_round(self, record: RoundRecord, state: TrainingState, metrics: dict[str, float]) -> None:
        with self._lock:
            if record.round > self._rounds:
                self._rounds = record.round
                self.on_round(self._with_budgets(record), metrics)

    def _with_budgets(self, record: RoundRecord) -> RoundRecord:
        """Every party of the round has charged it: its part is in the sum that opened."""
        privacy = record.privacy
        if privacy is None or not self._spent:
            return record
        spent = min(self._spent.values(), key=lambda one: one.left)
        return replace(record, privacy=replace(privacy, spent=spent))

    def note_fold(self, done: int, metrics: dict[str, float]) -> None:
        with self._lock:
            if done > self._folds:
                self._folds = done
                self.on_fold(done, metrics)

    def save(self, state: TrainingState) -> str:
        with self._lock:
            if state.sums_done > self._sums_saved:
                self.on_save(state)
                self._sums_saved = state.sums_done
                self.saved = say_checkpoint(state)
            return self.saved

    def save_own(self, role: str, own: OwnState) -> None:
        self.on_save_own(role, own)


class MetricsOnce:
    """Metrics of a state, worked out once for each round: all parties hold the same state after it."""

    def __init__(self, evaluate: Callable[[TrainingState], dict[str, float]]) -> None:
        self._evaluate = evaluate
        self._found: dict[int, dict[str, float]] = {}
        self._lock = threading.Lock()

    def __call__(self, state: TrainingState) -> dict[str, float]:
        with self._lock:
            if state.rounds_done not in self._found:
                self._found[state.rounds_done] = self._evaluate(state)
            return self._found[state.rounds_done]


def play_all(
    contexts: Mapping[str, RoleContext],
    observer: SharedObserver,
    *,
    on_dropout: Callable[[PartyLostError], None] = lambda error: None,
    key_seconds: float = 0.0,
    releases: tuple[str, ...] = (),
) -> tuple[FinishedRun, TrainingState]:
    """Play every role of `contexts` to the end; the run, and the state that training ended with.

    The contexts have `observer` too. `key_seconds` is what the leader's key took before, which belongs to the run.
    Raises as `play_rows_roles`.
    """
    first = next(iter(contexts.values()))
    settings, job = first.settings, first.job
    roles = {name: HorizontalRole(context) for name, context in contexts.items()}
    played = play_rows_roles(roles, job, settings, lambda: observer.saved, on_dropout)
    check = first.exactness_check
    run = FinishedRun(
        settings,
        {name: role.result for name, role in roles.items()},
        key_seconds + played.seconds,
        dropouts_of(played.dropouts),
        None if check is None else tuple(check.checks),
        None if first.resume_from is None else first.resume_from.rounds_done,
        releases,
    )
    return run, played.state


def dropouts_of(errors: Iterable[PartyLostError]) -> tuple[Dropout, ...]:
    """The dropouts that a hub told of."""
    return tuple(Dropout(error.party, error.step, error.reason) for error in errors)
