"""One vertical regression on this machine: every role with its sealed channel and its ledger; where its time went."""

from __future__ import annotations

import hashlib
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
from hekat.protocol.shares.share_array import add_shares, to_floats
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.objective import train_centralised
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings
from hekat.protocol.vertical_linear.roles import run_role
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.scheme.paillier import KeyPair
from vertical.data import stored_keys

FloatArray = npt.NDArray[np.float64]

PROTOCOL = "vertical_linear"
TIMEOUT_S = 600.0


@dataclass
class TrainedModel:
    """What one run left: each party's part, seconds as a whole and by role and step, bytes, the guest's losses.

    `processor_s` is of all cores together: what other programs take of them shows in `seconds` alone.
    """

    parts: dict[str, ModelPart] = field(default_factory=dict)
    seconds: float = 0.0
    processor_s: float = 0.0
    steps_s: dict[str, dict[str, float]] = field(default_factory=dict)
    sent_bytes: dict[str, int] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)

    def step_s(self, step: str) -> float:
        """Seconds of one step at all roles together: they compute one after the other."""
        return sum(steps.get(step, 0.0) for steps in self.steps_s.values())

    @property
    def steps(self) -> dict[str, float]:
        """Seconds by step, all roles together."""
        return {name: self.step_s(name) for name in sorted({name for one in self.steps_s.values() for name in one})}


def train(settings: VerticalLinearSettings, tables: Mapping[str, Table]) -> TrainedModel:
    """All roles of one training, with keys that are there before; seconds are of the whole run, sessions included."""
    trained = TrainedModel()
    keys = _keys_of_roles(settings)
    sessions = _make_sessions(settings)

    def play(channel: Channel) -> ModelPart | None:
        name = channel.party

        def on_epoch(record: EpochRecord) -> None:
            if record.loss is not None:
                trained.losses.append(record.loss)

        def role(recorded: RecordedChannel) -> ModelPart | None:
            run = PartyRun(sessions[name].stopwatch, on_epoch=on_epoch, key_pair=keys.get(name))
            return run_role(recorded, tables.get(name), settings, run)

        return sessions[name].play(channel, role)

    start, processor_start = time.perf_counter(), time.process_time()
    results = play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=TIMEOUT_S)
    trained.seconds = time.perf_counter() - start
    trained.processor_s = time.process_time() - processor_start
    trained.parts = {name: part for name, part in results.items() if part is not None}
    trained.steps_s = {name: dict(session.stopwatch.seconds) for name, session in sessions.items()}
    trained.sent_bytes = {name: session.sent_bytes for name, session in sessions.items()}
    return trained


def score(settings: VerticalLinearSettings, parts: Mapping[str, ModelPart], tables: Mapping[str, Table]) -> FloatArray:
    """The guest's scores (rows, K) of a joint prediction."""
    keys = _keys_of_roles(settings)
    sessions = _make_sessions(settings)

    def play(channel: Channel) -> FloatArray | None:
        name = channel.party

        def role(recorded: RecordedChannel) -> FloatArray | None:
            run = PartyRun(Stopwatch(), key_pair=keys.get(name))
            return predict_scores(recorded, parts[name], tables[name], PredictionSettings.of(parts[name]), run)

        return sessions[name].play(channel, role)

    results = play_in_process(dict.fromkeys(settings.parties, play), timeout_s=TIMEOUT_S)
    scores = results[settings.guest]
    assert scores is not None
    return scores


def centralised_weights(tables: Mapping[str, Table], settings: VerticalLinearSettings) -> FloatArray:
    """Weights of the guest's columns, of the host's, and the intercept, after training in one place in float64."""
    limit = settings.limit_spreads
    features = np.hstack(
        [prepare_columns(table, standardise=True, limit_spreads=limit).features for table in tables.values()]
    )
    (labels,) = (table.labels for table in tables.values() if table.labels is not None)
    targets = np.where(labels == 1, 1.0, -1.0)[:, np.newaxis]
    *_, last = train_centralised(features, targets, "logistic", settings.training)
    return np.append(last.parameters["weights"][:, 0], last.parameters["intercept"])


def joined_weights(parts: Mapping[str, ModelPart]) -> FloatArray:
    """The same from the parts of a model: one party's beside the other's, or the sum of their shares."""
    guest = parts[next(iter(parts.values())).guest]
    host = parts[guest.hosts[0]]
    if guest.form == "arbiter":
        pieces = [part.arrays["weights"][:, 0] for part in (guest, host)]
        return np.concatenate([*pieces, guest.arrays["intercept"]])
    joined = [
        to_floats(add_shares(guest.arrays[name], host.arrays[name]), guest.value_bits)
        for name in ("weight_shares", "intercept_shares")
    ]
    return np.append(joined[0][:, 0], joined[1])


def _keys_of_roles(settings: VerticalLinearSettings) -> dict[str, KeyPair]:
    """A key of its own for each role that makes one."""
    if settings.protection != "paillier":
        return {}
    makers = settings.parties if settings.arbiter is None else (settings.arbiter,)
    return dict(zip(makers, stored_keys(settings.key_bits), strict=False))


def _make_sessions(settings: VerticalLinearSettings) -> dict[str, RoleSession]:
    return make_sessions(
        {name: PartyKey.generate() for name in settings.everyone},
        run_id="benchmark",
        protocol=PROTOCOL,
        job_digest=hashlib.sha256(repr(settings).encode()).digest(),
    )
