"""Whole trainings on an encrypted model in this process, and the same training step by step in the clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun, ShareState
from hekat.protocol.encrypted_model.roles import run_role
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession

HOSTS = ("north", "south", "west")
ARBITER, AGGREGATOR, OWNER = "notary", "hub", "buyer"
CLASSES = {"binary": ("no", "yes"), "multiclass": ("a", "b", "c"), "linear": None}

Role = Callable[[RecordedChannel, Table | None, EncryptedModelSettings, EncryptedModelRun], OwnedModel | None]


def make_settings(
    hosts: int = 2, kind: str = "binary", *, owner: str = OWNER, **changes: Any
) -> EncryptedModelSettings:
    """Settings of a small training; `training` takes changes of its own."""
    training = {"rounds": 3, "batch_rows": 16} | changes.pop("training", {})
    return EncryptedModelSettings(
        HOSTS[:hosts],
        ARBITER,
        AGGREGATOR,
        owner,
        task="linear" if kind == "linear" else "logistic",
        classes=CLASSES[kind],
        training=EncryptedTraining(**training),
        **({"protection": "none"} | changes),
    )


def make_tables(
    seed: int, hosts: int = 2, *, rows: int = 40, columns: int = 4, kind: str = "binary"
) -> dict[str, Table]:
    """A table of every host, each with a few rows more than the one before it, columns of very different scales."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=columns)
    tables = {}
    for place, name in enumerate(HOSTS[:hosts]):
        values = rng.normal(size=(rows + 7 * place, columns))
        score = values @ weights + 0.3 * rng.normal(size=len(values))
        labels: Any = (score > 0).astype(np.int64)
        if kind == "linear":
            labels = 30.0 * score + 500.0
        if kind == "multiclass":
            labels = np.digitize(score, [-0.7, 0.7]).astype(np.int64)
        features = values * np.resize([1.0, 200.0, 1e-3, 7.0], columns) + np.resize([0.0, 1000.0, 0.0, -3.0], columns)
        tables[name] = Table(features, labels, tuple(f"x{c}" for c in range(columns)), name)
    return tables


@dataclass
class Played:
    """What every role returned and kept. `models` are what the owner was given, `states` of each role by round."""

    results: Mapping[str, OwnedModel | None]
    models: list[OwnedModel] = field(default_factory=list)
    states: dict[str, list[ShareState]] = field(default_factory=dict)
    rounds: dict[str, list[int]] = field(default_factory=dict)
    sessions: Mapping[str, RoleSession] = field(default_factory=dict)


def play(
    settings: EncryptedModelSettings,
    tables: Mapping[str, Table],
    *,
    resume: Mapping[str, ShareState] | None = None,
    roles: Mapping[str, Role] | None = None,
    **given: Any,
) -> Played:
    """Play every role; `roles` replace some of them, `given` are fields of the runs of all."""
    keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(keys, run_id="test", protocol="encrypted_model", job_digest=bytes(32))
    played = Played({}, sessions=sessions)

    def play_role(name: str, channel: RecordedChannel) -> OwnedModel | None:
        states, rounds = played.states.setdefault(name, []), played.rounds.setdefault(name, [])
        run = EncryptedModelRun(
            sessions[name].stopwatch,
            on_round=lambda record: rounds.append(record.round_number),
            on_model=played.models.append,
            save=states.append,
            resume_from=None if resume is None else resume[name],
            **given,
        )
        return (roles or {}).get(name, run_role)(channel, tables.get(name), settings, run)

    played.results = play_in_process(
        {name: partial(session.play, role=partial(play_role, name)) for name, session in sessions.items()}
    )
    return played


def train_in_steps(settings: EncryptedModelSettings, tables: Mapping[str, Table]) -> OwnedModel:
    """The same training in float64, step by step and without any map: the oracle of the protocol."""
    training, count = settings.training, settings.target_count
    features = {host: np.asarray(tables[host].features) for host in settings.hosts}
    labels = {host: np.asarray(tables[host].labels) for host in settings.hosts}
    total = sum(len(values) for values in features.values())
    joined, joined_labels = np.concatenate(list(features.values())), np.concatenate(list(labels.values()))
    means, spreads = np.zeros(joined.shape[1]), np.ones(joined.shape[1])
    label_mean, label_spread = 0.0, 1.0
    if training.standardise:
        means, spreads = joined.mean(axis=0), joined.std(axis=0)
        if settings.task == "linear":
            label_mean, label_spread = float(joined_labels.mean()), float(joined_labels.std())
    w, u = np.zeros((joined.shape[1] + 1, count)), np.zeros((joined.shape[1] + 1, count))
    for _ in range(training.rounds):
        ends = []
        for host in settings.hosts:
            rows = np.column_stack([(features[host] - means) / spreads, np.ones(len(features[host]))])
            y = _targets(labels[host], settings, label_mean, label_spread)
            ends.append((len(rows) / total, *_local_steps(w, u, rows, y, settings)))
        w, u = (sum(end[0] * end[part] for end in ends) for part in (1, 2))
    weights = w[:-1] / spreads[:, np.newaxis] * label_spread
    intercept = w[-1] * label_spread + label_mean - means @ weights
    return OwnedModel(
        settings.task,
        settings.classes,
        tables[settings.hosts[0]].feature_names,
        training.rounds,
        total,
        weights,
        intercept,
        means,
        spreads,
    )


def _targets(
    labels: npt.NDArray[Any], settings: EncryptedModelSettings, mean: float, spread: float
) -> npt.NDArray[np.float64]:
    if settings.task == "linear":
        return np.asarray((labels - mean) / spread)[:, np.newaxis]
    if settings.target_count == 1:
        return np.where(labels == 1, 1.0, -1.0)[:, np.newaxis]
    return np.where(labels[:, np.newaxis] == np.arange(settings.target_count), 1.0, -1.0)


def _local_steps(w: Any, u: Any, rows: Any, y: Any, settings: EncryptedModelSettings) -> tuple[Any, Any]:
    from hekat.protocol.vertical_linear.batches import draw_batches

    training = settings.training
    of_score, of_target = (0.25, 0.5) if settings.task == "logistic" else (1.0, 1.0)
    for _ in range(training.local_epochs):
        for batch in draw_batches(len(rows), training.batch_rows, training.seed):
            d = of_score * (rows[batch] @ w) - of_target * y[batch]
            gradient = rows[batch].T @ d / len(batch)
            gradient[:-1] += training.l2 * w[:-1]
            u = (training.momentum * u if training.uses_velocity else 0.0) + training.learning_rate * gradient
            w = w - u
    return w, u
