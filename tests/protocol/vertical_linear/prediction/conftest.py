"""Joint predictions in this process: the parts of a made-up model, sealed channels, ledgers in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from hekat.channel import PartyKey, run_parties
from hekat.data import Table
from hekat.ledger import AuditReport, RecordedChannel, audit_bytes
from hekat.protocol.in_process import make_sessions
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings

CLASSES = {1: ("no", "yes"), 3: ("low", "middle", "high")}


class HeardChannel(RecordedChannel):
    """Keeps every message that its party sends as (to, step, message), after `forge` has changed it."""

    def __init__(self, channel: RecordedChannel, forge: Callable[[Any], Any]) -> None:
        super().__init__(channel.channel, channel.ledger)
        self.sent: list[tuple[str, str, Any]] = []
        self.forge = forge

    def send(self, to: str, step: str, message: Any) -> bytes:
        message = self.forge(message)
        self.sent.append((to, step, message))
        return super().send(to, step, message)


@dataclass
class JointPrediction:
    """One model's parts and their rows; `play` predicts with them."""

    parts: dict[str, ModelPart]
    tables: dict[str, Table]
    scores: np.ndarray
    """What all columns in one place give, in float64."""
    forge: Callable[[Any], Any] = lambda message: message
    """What a dishonest party makes of the messages of all."""
    heard: dict[str, HeardChannel] = field(default_factory=dict)
    audits: dict[str, AuditReport] = field(default_factory=dict)
    score_bits: int = SCORE_BITS
    count_predictions: Callable[[str, int], None] = lambda party, row_count: None

    @property
    def guest(self) -> str:
        return next(iter(self.parts))

    def play(self, *receivers: str, **others: tuple[str, ...]) -> dict[str, np.ndarray | None]:
        """Each party's scores; `others` are the receivers that one party alone believes in."""
        names = tuple(self.parts)
        keys = {name: PartyKey.generate() for name in names}
        sessions = make_sessions(keys, run_id="test", protocol="vertical-linear", job_digest=bytes(32))

        def predict(name: str, recorded: RecordedChannel) -> np.ndarray | None:
            self.heard[name] = HeardChannel(recorded, self.forge)
            settings = PredictionSettings(names[0], names[1:], others.get(name, receivers), self.score_bits)
            run = PartyRun(Stopwatch(), count_predictions=partial(self.count_predictions, name))
            return predict_scores(self.heard[name], self.parts[name], self.tables[name], settings, run)

        played = {
            name: lambda channel, name=name: sessions[name].play(channel, lambda recorded: predict(name, recorded))
            for name in names
        }
        results = run_parties(played, timeout_s=20)
        for name in names:
            self.audits[name] = audit_bytes(self.heard[name].ledger.data, keys[name].public)
        return results

    def spoil(self, party: str, **changes: Any) -> None:
        """Change fields of one party's part."""
        self.parts[party] = replace(self.parts[party], **changes)


def make_prediction(
    seed: int, *, hosts: tuple[str, ...] = ("insurer",), K: int = 1, task: str = "logistic", rows: int = 23
) -> JointPrediction:
    """A model of random weights over columns of unlike scales, 2 to 4 columns a party, and rows to predict."""
    rng = np.random.default_rng(seed)
    names = ("bank", *hosts)
    target = (150.0, 77.5) if task == "linear" else (0.0, 1.0)
    parts: dict[str, ModelPart] = {}
    tables: dict[str, Table] = {}
    total = np.zeros((rows, K))
    for name in names:
        count = int(rng.integers(2, 5))
        columns = tuple(f"{name}-{number}" for number in range(count))
        means, spreads = rng.normal(size=count) * 100, np.exp(rng.normal(size=count) * 3)
        arrays = {"weights": rng.normal(size=(count, K))}
        features = means + spreads * rng.normal(size=(rows, count))
        total += (features - means) / spreads @ arrays["weights"]
        if name == names[0]:
            arrays["intercept"] = rng.normal(size=K)
            total += arrays["intercept"]
        parts[name] = ModelPart(
            party=name,
            guest=names[0],
            hosts=names[1:],
            form="arbiter",
            task=task,
            classes=CLASSES[K] if task == "logistic" else None,
            columns=columns,
            model_id="model-1",
            means=means,
            spreads=spreads,
            feature_bits=16,
            value_bits=32,
            key_bits=2048,
            arrays=arrays,
            target_mean=target[0] if name == names[0] else 0.0,
            target_spread=target[1] if name == names[0] else 1.0,
        )
        tables[name] = Table(features, None, columns, name)
    return JointPrediction(parts, tables, target[0] + target[1] * total)


@pytest.fixture(scope="session")
def make_joint() -> Callable[..., JointPrediction]:
    return make_prediction


def sent_by(joint: JointPrediction, party: str, message_type: type) -> list[Any]:
    return [message for _, _, message in joint.heard[party].sent if isinstance(message, message_type)]


@pytest.fixture(scope="session")
def messages_of() -> Callable[..., list[Any]]:
    """The messages of a type that a party sent in the last play."""
    return sent_by
