"""All roles of one vertical run on this machine: rows are matched, trained on and, where asked, predicted for.

Both protocols share one sealed session, and so one ledger a party: what it learned of rows stands beside what it
learned of labels.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.channel import Channel, PartyKey
from hekat.data import Table
from hekat.errors import InputError, PartyStoppedError, StateError
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.psi.common_rows import INTERSECTION, common_rows_of
from hekat.protocol.role_session import RoleSession
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartState, PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.roles import run_role
from hekat.protocol.vertical_linear.timing_labels import KEYS
from hekat.run.vertical_linear.checkpoint_files import PartyCheckpoint
from hekat.run.vertical_linear.load_inputs import MIN_ROWS, VerticalInputs
from hekat.run.vertical_linear.row_identity import RowIdentity
from hekat.run.vertical_linear.warm_start import WarmStart
from hekat.scheme.paillier import KeyPair, generate_keys
from hekat.summary.vertical_linear.traffic import RoleTraffic, role_traffic_of

FloatArray = npt.NDArray[np.float64]
TRAINING, PREDICTION = "training", "prediction"


@dataclass(frozen=True)
class Listener:
    """Told of progress while a run goes on; of keys in the caller's thread, of all else in a party's."""

    on_key: Callable[[int, int], None] | None = None
    on_matching: Callable[[str, int, int], None] = lambda work, done, total: None
    on_common: Callable[[str, int], None] = lambda party, count: None
    on_epoch: Callable[[str, EpochRecord], None] = lambda party, record: None
    save: Callable[[str, PartyCheckpoint], None] = lambda party, kept: None
    save_part: Callable[[ModelPart], None] = lambda part: None
    count_predictions: Callable[[ModelPart, int], None] = lambda part, row_count: None


@dataclass(frozen=True)
class PartyOutcome:
    """What guest or host is left with. `rows` and `test_rows` are those of its own tables that all parties have, in the
    order common to all; `scores` (test rows, K) are the receivers' alone."""

    part: ModelPart
    rows: Table = field(repr=False)
    test_rows: Table | None = field(repr=False)
    scores: FloatArray | None = field(repr=False)


@dataclass
class VerticalFederation:
    """One run's roles and what they leave behind."""

    inputs: VerticalInputs
    party_keys: Mapping[str, PartyKey]
    run_id: str
    ledger_folder: Path | None
    listener: Listener = field(default_factory=Listener)
    resumed: Mapping[str, PartyCheckpoint] = field(default_factory=dict)
    start: WarmStart | None = None
    exactness_check: ExactnessCheck | None = None
    stopwatches: dict[str, Stopwatch] = field(default_factory=dict)
    traffic: dict[str, RoleTraffic] = field(default_factory=dict)
    phases: Stopwatch = field(default_factory=Stopwatch)
    """How long the guest was in each phase, waiting included."""
    matching_s: list[float] = field(default_factory=list)
    """Of each intersection as the guest saw it: of the training rows, then of the test rows."""
    key_pairs: dict[str, KeyPair] = field(default_factory=dict, repr=False)
    seconds: float = 0.0
    _saved: dict[str, int] = field(default_factory=dict)
    _saving: threading.Lock = field(default_factory=threading.Lock)

    @property
    def started_from(self) -> str | None:
        """The run whose weights training began with, also where it began in the run that is resumed."""
        if self.start is not None:
            return self.start.run_id
        earlier = self.resumed.get(self.inputs.job.settings.guest)
        return None if earlier is None else earlier.started_from

    def run(self) -> dict[str, PartyOutcome]:
        """What guest and hosts are left with, by name; raises PartyStoppedError naming the party and step where a role
        failed, with the epoch that every party saved."""
        job = self.inputs.job
        sessions = make_sessions(
            {name: self.party_keys[name] for name in job.settings.everyone},
            run_id=self.run_id,
            protocol=PROTOCOL,
            job_digest=job.digest,
            ledger_folder=self.ledger_folder,
            public_keys=job.party_keys,
        )
        self.stopwatches = {name: session.stopwatch for name, session in sessions.items()}
        start = time.perf_counter()
        self._make_keys()
        roles = {name: self._role(name, sessions[name]) for name in job.settings.everyone}
        try:
            results = play_in_process(roles, timeout_s=job.timeout_s)
        except PartyStoppedError as error:
            raise self._with_what_was_saved(error) from error.__cause__
        finally:
            self.seconds = time.perf_counter() - start
        return {name: found for name, found in results.items() if found is not None}

    def _make_keys(self) -> None:
        """Keys that no site keeps. Here and not in the roles' threads: one can take a minute, and Ctrl-C reaches only
        this one."""
        settings = self.inputs.job.settings
        self.key_pairs = dict(self.inputs.key_pairs)
        for name in key_makers(self.inputs.job):
            if name not in self.key_pairs:
                with self.stopwatches[name].measure(KEYS):
                    self.key_pairs[name] = generate_keys(settings.key_bits, progress=self.listener.on_key)

    def _with_what_was_saved(self, error: PartyStoppedError) -> PartyStoppedError:
        """The same for the whole machine: a run goes on from the last epoch that every party saved."""
        epochs = [
            self._saved.get(name, self.resumed[name].state.epochs_done if name in self.resumed else 0)
            for name in self.inputs.job.settings.parties
        ]
        saved = f"checkpoints of epoch {min(epochs)}" if min(epochs) else ""
        what = error.what.removesuffix(f"; saved: {error.saved}")
        return PartyStoppedError(what, party=error.party, step=error.step, saved=saved, cure=error.cure)

    def _role(self, name: str, session: RoleSession) -> Callable[[Channel], PartyOutcome | None]:
        def play(channel: Channel) -> PartyOutcome | None:
            try:
                return session.play(channel, lambda recorded: self._play(name, recorded))
            finally:
                self.traffic[name] = role_traffic_of(session)

        return play

    def _play(self, name: str, channel: RecordedChannel) -> PartyOutcome | None:
        job, inputs = self.inputs.job, self.inputs
        if name == job.settings.arbiter:
            run_role(channel, None, job.settings, self._party_run(name, None))
            return None
        phases = self.phases if name == job.settings.guest else Stopwatch()
        rows = self._match(name, channel, inputs.tables[name])
        _check_enough(rows)
        identity = self._identify(name, rows)
        self._note_start(channel)
        with phases.measure(TRAINING):
            part = run_role(channel, rows, job.settings, self._party_run(name, identity))
        assert part is not None  # guest and hosts have one
        self.listener.save_part(part)
        if not inputs.test_tables:
            return PartyOutcome(part, rows, None, None)
        test_rows = self._match(name, channel, inputs.test_tables[name])
        with phases.measure(PREDICTION):
            count = partial(self.listener.count_predictions, part)
            run = PartyRun(self.stopwatches[name], key_pair=self.key_pairs.get(name), count_predictions=count)
            scores = predict_scores(channel, part, test_rows, job.prediction, run)
        return PartyOutcome(part, rows, test_rows, scores)

    def _match(self, name: str, channel: RecordedChannel, table: Table) -> Table:
        """The rows of `table` that all parties have, in the order common to all."""
        start = time.perf_counter()
        rows = table if self.inputs.job.intersection is None else self._intersect(name, channel, table)
        seconds = time.perf_counter() - start
        if name == self.inputs.job.settings.guest:
            self.matching_s.append(seconds)
            self.phases.seconds[INTERSECTION] += seconds
        self.listener.on_common(name, len(rows))
        return rows

    def _intersect(self, name: str, channel: RecordedChannel, table: Table) -> Table:
        intersection, tell = self.inputs.job.intersection, self.listener.on_matching
        assert intersection is not None

        def report(work: str, done: int, total: int) -> None:
            tell(f"{name}: {work}", done, total)

        return table.take(common_rows_of(channel, table, intersection, self.stopwatches[name], report))

    def _identify(self, name: str, rows: Table) -> RowIdentity:
        """Of the rows that are trained on. Raises StateError where a resumed run trained on others."""
        earlier = self.resumed.get(name)
        if earlier is None:
            return RowIdentity.of(rows)
        if not earlier.rows.fits(rows):
            raise StateError(
                f"the run that is resumed trained on other rows of {name}",
                expected="the same common rows with the same values, in the same order",
                got=f"{len(rows)} rows that differ",
                cure="put the data of every party back as it was, or begin a new run",
            )
        return earlier.rows

    def _note_start(self, channel: RecordedChannel) -> None:
        if self.started_from is not None:
            verb = "starts" if self.start is not None else "goes on with a training that started"
            channel.ledger.note("setup", f"{verb} from its part of run {self.started_from}", "public")

    def _party_run(self, name: str, identity: RowIdentity | None) -> PartyRun:
        earlier = self.resumed.get(name)

        def save(state: PartState) -> None:
            if identity is None:
                return
            releases = () if earlier is None else earlier.releases
            limit = self.inputs.job.settings.limit_spreads
            self.listener.save(name, PartyCheckpoint(state, identity, releases, self.started_from, limit))
            with self._saving:
                self._saved[name] = state.epochs_done

        return PartyRun(
            stopwatch=self.stopwatches[name],
            on_epoch=lambda record: self.listener.on_epoch(name, record),
            save=save,
            resume_from=None if earlier is None else copy_state(earlier.state),
            start_from=None if self.start is None else self.start.arrays.get(name),
            key_pair=self.key_pairs.get(name),
            exactness_check=self.exactness_check,
        )


def _check_enough(rows: Table) -> None:
    if len(rows) < MIN_ROWS:
        raise InputError(
            "too few rows are common to all parties",
            expected=f"at least {MIN_ROWS}",
            got=str(len(rows)),
            cure="check that all parties write ids alike, and that they have people in common",
        )


def copy_state(state: PartState) -> PartState:
    """A state of one's own: a party changes its arrays by itself."""
    arrays: dict[str, npt.NDArray[Any]] = {name: values.copy() for name, values in state.arrays.items()}
    return PartState(arrays, state.epochs_done, state.finished, state.losses)
