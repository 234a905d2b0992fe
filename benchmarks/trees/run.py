"""One training of trees across columns on this machine: every role with its sealed channel and its ledger, timed."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

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


@dataclass
class TrainedTrees:
    """What one run left: each party's part, seconds of each iteration and by step, bytes that parties sent, losses."""

    parts: dict[str, TreesPart] = field(default_factory=dict)
    seconds: float = 0.0
    iteration_s: list[float] = field(default_factory=list)
    steps_s: dict[str, dict[str, float]] = field(default_factory=dict)
    sent_bytes: dict[str, int] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)

    @property
    def tree_s(self) -> float:
        """Median seconds of an iteration, of all but the first, which also sets up."""
        return statistics.median(self.iteration_s[1:] or self.iteration_s)

    @property
    def steps(self) -> dict[str, float]:
        """Seconds by step, all roles together: they compute one after the other."""
        names = sorted({name for one in self.steps_s.values() for name in one})
        return {name: sum(steps.get(name, 0.0) for steps in self.steps_s.values()) for name in names}


def train(settings: VerticalTreesSettings, tables: Mapping[str, Table]) -> TrainedTrees:
    """All roles of one training; the seconds of an iteration end when the guest has saved it."""
    trained = TrainedTrees()
    sessions = _make_sessions(settings)
    ends: list[float] = []

    def play(channel: Channel) -> TreesPart:
        name = channel.party

        def on_tree(record: TreeRecord) -> None:
            if record.loss is not None:
                ends.append(time.perf_counter())
                trained.losses.append(record.loss)

        def role(recorded: RecordedChannel) -> TreesPart:
            return run_role(recorded, tables[name], settings, TreesRun(sessions[name].stopwatch, on_tree=on_tree))

        return sessions[name].play(channel, role)

    start = time.perf_counter()
    trained.parts = dict(play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=TIMEOUT_S))
    trained.seconds = time.perf_counter() - start
    trained.iteration_s = list(np.diff([start, *ends]))
    trained.steps_s = {name: dict(session.stopwatch.seconds) for name, session in sessions.items()}
    trained.sent_bytes = {name: session.sent_bytes for name, session in sessions.items()}
    return trained


def score(
    settings: VerticalTreesSettings, parts: Mapping[str, TreesPart], tables: Mapping[str, Table]
) -> tuple[FloatArray, float]:
    """The guest's scores (rows, K) of a joint prediction, and how many seconds it took."""
    sessions = _make_sessions(settings)

    def play(channel: Channel) -> FloatArray | None:
        name = channel.party

        def role(recorded: RecordedChannel) -> FloatArray | None:
            run = TreesRun(Stopwatch())
            return predict_scores(recorded, parts[name], tables[name], TreePredictionSettings.of(parts[name]), run)

        return sessions[name].play(channel, role)

    start = time.perf_counter()
    results = play_in_process(dict.fromkeys(settings.parties, play), timeout_s=TIMEOUT_S)
    scores = results[settings.guest]
    assert scores is not None
    return scores, time.perf_counter() - start


def _make_sessions(settings: VerticalTreesSettings) -> dict[str, RoleSession]:
    return make_sessions(
        {name: PartyKey.generate() for name in settings.everyone},
        run_id="benchmark",
        protocol=PROTOCOL,
        job_digest=hashlib.sha256(repr(settings).encode()).digest(),
    )
