"""One training of trees across columns on this machine: every role with its sealed channel and its ledger, timed."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hekat.channel import Channel, PartyKey
from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun
from hekat.protocol.vertical_trees.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.protocol.vertical_trees.roles import run_role
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings

FloatArray = npt.NDArray[np.float64]

PROTOCOL = "vertical_trees"
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class _Moment:
    """The clocks when the guest had saved an iteration, or before the first; steps are each role's."""

    wall_s: float
    cpu_s: float
    steps_s: Mapping[str, Mapping[str, float]]


@dataclass
class TrainedTrees:
    """What one run left: each party's part, the clocks after each iteration, bytes that each party sent."""

    parts: Mapping[str, TreesPart] = field(default_factory=dict)
    moments: list[_Moment] = field(default_factory=list)
    sent_bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def trees(self) -> int:
        """How many iterations there were."""
        return len(self.moments) - 1

    @property
    def tree_s(self) -> float:
        """Median seconds of an iteration, of all but the first, which also sets up."""
        return statistics.median(later.wall_s - one.wall_s for one, later in pairwise(self._counted))

    @property
    def cpu_s(self) -> float:
        """Median processor seconds of an iteration, of all roles on all cores together."""
        return statistics.median(later.cpu_s - one.cpu_s for one, later in pairwise(self._counted))

    @property
    def steps_s(self) -> dict[str, float]:
        """Mean seconds of an iteration by step, all roles together: they compute one after the other."""
        return add_steps(self._steps_of_roles().values())

    @property
    def working_s(self) -> dict[str, float]:
        """Mean seconds of an iteration in which each role works, and waits for no other."""
        return {role: sum(steps.values()) for role, steps in self._steps_of_roles().items()}

    def _steps_of_roles(self) -> dict[str, dict[str, float]]:
        first, last = self._counted[0].steps_s, self._counted[-1].steps_s
        return {role: mean_steps(first[role], last[role], len(self._counted) - 1) for role in last}

    @property
    def _counted(self) -> list[_Moment]:
        return self.moments[1:] if self.trees > 1 else self.moments


@dataclass(frozen=True)
class Scored:
    """The guest's scores (rows, K) of a joint prediction, what it took, and bytes that all parties sent."""

    scores: FloatArray
    seconds: float
    cpu_s: float
    sent_bytes: int


def train(
    settings: VerticalTreesSettings,
    tables: Mapping[str, Table],
    heard: Callable[[int, float], None] = lambda number, seconds: None,
) -> TrainedTrees:
    """All roles of one training; an iteration ends when the guest has saved it, and `heard` its number and seconds."""
    trained = TrainedTrees()
    sessions = _make_sessions(settings)

    def note() -> None:
        steps = read_stopwatches(sessions)
        trained.moments.append(_Moment(time.perf_counter(), time.process_time(), steps))

    def play(channel: Channel) -> TreesPart:
        name = channel.party

        def on_tree(record: TreeRecord) -> None:
            if record.loss is not None:
                note()
                heard(trained.trees, trained.moments[-1].wall_s - trained.moments[-2].wall_s)

        def role(recorded: RecordedChannel) -> TreesPart:
            return run_role(recorded, tables[name], settings, TreesRun(sessions[name].stopwatch, on_tree=on_tree))

        return sessions[name].play(channel, role)

    note()
    trained.parts = play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=TIMEOUT_S)
    trained.sent_bytes = {name: session.sent_bytes for name, session in sessions.items()}
    return trained


def score(settings: VerticalTreesSettings, parts: Mapping[str, TreesPart], tables: Mapping[str, Table]) -> Scored:
    """A joint prediction of all rows by all parties, which the guest alone reads."""
    sessions = _make_sessions(settings)

    def play(channel: Channel) -> FloatArray | None:
        name = channel.party

        def role(recorded: RecordedChannel) -> FloatArray | None:
            run = TreesRun(Stopwatch())
            return predict_scores(recorded, parts[name], tables[name], TreePredictionSettings.of(parts[name]), run)

        return sessions[name].play(channel, role)

    start, cpu_start = time.perf_counter(), time.process_time()
    results = play_in_process(dict.fromkeys(settings.parties, play), timeout_s=TIMEOUT_S)
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    scores = results[settings.guest]
    assert scores is not None
    return Scored(scores, seconds, cpu_s, sum(session.sent_bytes for session in sessions.values()))


def read_stopwatches(sessions: Mapping[str, RoleSession]) -> dict[str, dict[str, float]]:
    """Each role's seconds by step so far."""
    return {name: dict(session.stopwatch.seconds) for name, session in sessions.items()}


def mean_steps(first: Mapping[str, float], last: Mapping[str, float], count: int) -> dict[str, float]:
    """Seconds by step between two readings of a role's stopwatch, over `count`."""
    return {name: (seconds - first.get(name, 0.0)) / count for name, seconds in last.items()}


def add_steps(of_roles: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The seconds of several roles by step, sorted: roles compute one after the other."""
    found: dict[str, float] = {}
    for steps in of_roles:
        for name, seconds in steps.items():
            found[name] = found.get(name, 0.0) + seconds
    return dict(sorted(found.items()))


def _make_sessions(settings: VerticalTreesSettings) -> dict[str, RoleSession]:
    return make_sessions(
        {name: PartyKey.generate() for name in settings.everyone},
        run_id="benchmark",
        protocol=PROTOCOL,
        job_digest=hashlib.sha256(repr(settings).encode()).digest(),
    )
