"""One training of all parties in this process, the run itself or what it is compared with: told to log and terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hekat.channel import PartyKey
from hekat.errors import PartyLostError, PartyStoppedError
from hekat.job.horizontal.drawn_members import check_members_of
from hekat.job.horizontal.job_file import PROTOCOL
from hekat.launch.horizontal.in_process import MetricsOnce, SharedObserver, play_all
from hekat.launch.rows.sessions import open_sessions
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.run.horizontal.evaluation import evaluation_of
from hekat.run.horizontal.found_categories import SettledInputs, opening_table
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.role import RoleContext
from hekat.run.horizontal.rounds import describe_round, tell_fold, write_round
from hekat.run.progress import Progress
from hekat.run.timeout_hint import name_timeout_key
from hekat.scheme.paillier import KeyPair
from hekat.state import EventLog
from hekat.summary.horizontal.finished_run import FinishedRun


@dataclass
class Phase:
    """A training under `settings`, which may differ from the job's; `name` is its name in events and on the terminal.

    `keys` sign for every role. `adapt` gives a role's context what only this phase has.
    """

    inputs: HorizontalInputs
    settings: HorizontalSettings
    name: str
    run_id: str
    keys: Mapping[str, PartyKey]
    events: EventLog
    progress: Progress
    states: Mapping[str, UploadState] = field(default_factory=dict)
    ledger_folder: Path | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    observer: SharedObserver = field(default_factory=SharedObserver)
    adapt: Callable[[RoleContext], RoleContext] = lambda context: context
    releases: tuple[str, ...] = ()

    def play(
        self, on_dropout: Callable[[PartyLostError], None] = lambda error: None
    ) -> tuple[FinishedRun, TrainingState]:
        """Train to the end. Raises PartyStoppedError, where a time-out with the line of the job that sets it."""
        self.progress.begin(self.name, self.settings.training.round_count)
        self.observer.on_round = self._tell_round
        self.observer.on_fold = partial(tell_fold, self.events, self.progress, self.settings)
        contexts = self._contexts()
        leader = contexts[self.settings.leader].session
        try:
            run, state = play_all(
                contexts,
                self.observer,
                on_dropout=on_dropout,
                key_seconds=leader.stopwatch.seconds["keys"],
                releases=self.releases,
            )
        except PartyStoppedError as error:
            raise error from name_timeout_key(error.__cause__, self.inputs.job.timeout_s)
        if state.validation.final is not None:
            self.events.write("validation", phase=self.name, rounds=state.rounds_done, metrics=state.validation.final)
        return run, state

    def _contexts(self) -> dict[str, RoleContext]:
        inputs, settings = self.inputs, self.settings
        sessions, key_pair = open_sessions(
            inputs,
            settings,
            self.keys,
            self.run_id,
            PROTOCOL,
            self.ledger_folder,
            self.progress,
            key_pair=self.key_pair,
        )
        metrics = MetricsOnce(evaluation_of(inputs))
        return {
            name: self.adapt(
                RoleContext(
                    job=inputs.job,
                    settings=settings,
                    role=name,
                    session=sessions[name],
                    table=opening_table(inputs, name),
                    evaluate=metrics,
                    make_model=inputs.maker_of(name),
                    upload_state=self.states.get(name),
                    key_pair=key_pair if name == settings.leader else None,
                    observer=self.observer,
                    accept_members=partial(check_members_of, inputs.site, inputs.job, name),
                    other_sums_accepted=inputs.accepts_other_sums(name),
                    budget=inputs.budget_of(name),
                    model_caveats=inputs.model_caveats,
                    settle=SettledInputs(inputs).settle if name in inputs.open_tables else None,
                )
            )
            for name in settings.everyone
        }

    def _tell_round(self, record: RoundRecord, metrics: dict[str, float]) -> None:
        write_round(self.events, self.name, record, metrics)
        self.progress.advance(self.name, describe_round(record))
