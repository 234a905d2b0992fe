"""Whole runs on shares in this process, with two stored test keys and roles that a test may replace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.shares.share_array import add_shares, to_floats
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.columns import prepare_targets
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.fixed_point import decode_features, encode_features
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, train_centralised
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartState, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights import training as training_module
from hekat.protocol.vertical_linear.shared_weights.guest import run_guest
from hekat.protocol.vertical_linear.shared_weights.host import run_host
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining
from hekat.scheme.paillier import KeyPair

GUEST, HOST = "bank", "shop"
PARTIES = (GUEST, HOST)


@dataclass
class SharedRun:
    """One run: what each party saw and saved, and its part of the model at the end. `stand_ins` play a role instead."""

    settings: VerticalLinearSettings
    tables: Mapping[str, Table]
    key_pairs: Mapping[str, KeyPair]
    exactness_check: ExactnessCheck | None = None
    resume_from: Mapping[str, PartState] = field(default_factory=dict)
    start_from: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stand_ins: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    wrap: Callable[[RecordedChannel], Any] = lambda channel: channel
    records: dict[str, list[EpochRecord]] = field(default_factory=dict)
    saved: dict[str, list[PartState]] = field(default_factory=dict)
    sessions: dict[str, RoleSession] = field(default_factory=dict)
    channels: dict[str, RecordedChannel] = field(default_factory=dict)

    def run(self) -> dict[str, ModelPart]:
        self.sessions = new_sessions(self.settings.parties)
        plays = {name: partial(one.play, role=partial(self._play, name)) for name, one in self.sessions.items()}
        return play_in_process(plays, timeout_s=60.0)

    def _play(self, name: str, channel: RecordedChannel) -> ModelPart:
        self.channels[name] = channel
        run = PartyRun(
            self.sessions[name].stopwatch,
            on_epoch=self.records.setdefault(name, []).append,
            save=partial(self._save, name),
            resume_from=self.resume_from.get(name),
            start_from=self.start_from.get(name),
            key_pair=self.key_pairs[name],
            exactness_check=self.exactness_check,
        )
        role = self.stand_ins.get(name, run_guest if name == self.settings.guest else run_host)
        return role(self.wrap(channel), self.tables[name], self.settings, run)

    def _save(self, name: str, state: PartState) -> None:
        arrays = {key: np.array(values) for key, values in state.arrays.items()}
        self.saved.setdefault(name, []).append(replace(state, arrays=arrays))


def make_settings(
    *,
    task: str = "two classes",
    protection: str = "paillier",
    fixed_point: FixedPoint | None = None,
    hosts: tuple[str, ...] = (HOST,),
    share_holders: tuple[str, ...] | None = None,
    **training: Any,
) -> VerticalLinearSettings:
    values = {"epochs": 2, "batch_rows": 20, "learning_rate": 0.5} | training
    return VerticalLinearSettings(
        guest=GUEST,
        hosts=hosts,
        share_holders=share_holders,
        task="linear" if task == "number" else "logistic",
        classes={"two classes": ("no", "yes"), "three classes": ("low", "middle", "high"), "number": None}[task],
        key_bits=2048,
        protection=protection,  # type: ignore[arg-type]
        training=LinearTraining(**values),
        fixed_point=fixed_point or FixedPoint(),
    )


def open_weights(parts: Mapping[str, ModelPart]) -> np.ndarray:
    """The intercept and weights (1 + columns, K) of a model, opened from both parts."""
    one, other = (part.arrays for part in parts.values() if "weight_shares" in part.arrays)
    intercept = add_shares(one["intercept_shares"], other["intercept_shares"])
    weights = add_shares(one["weight_shares"], other["weight_shares"])
    bits = next(iter(parts.values())).value_bits
    return np.concatenate([to_floats(intercept, bits)[np.newaxis], to_floats(weights, bits)])


def train_centrally(settings: VerticalLinearSettings, tables: Mapping[str, Table]) -> tuple[np.ndarray, list[float]]:
    """Centralised training on the columns as rounded: (intercept and weights at the end, losses by epoch)."""
    columns = []
    for table in tables.values():
        prepared = prepare_columns(table, standardise=settings.training.standardise, may_be_empty=True).features
        rounded = decode_features(encode_features(prepared, settings.fixed_point, table.name), settings.fixed_point)
        columns.append(rounded if isinstance(rounded, np.ndarray) else rounded.toarray())
    targets = prepare_targets(tables[settings.guest], settings).values
    *steps, last = train_centralised(np.hstack(columns), targets, settings.task, settings.training)
    losses = [
        float(np.mean([step.loss for step in steps if step.epoch == epoch]))
        for epoch in range(1, settings.training.epochs + 1)
    ]
    return np.concatenate([last.parameters[INTERCEPT][np.newaxis], last.parameters[WEIGHTS]]), losses


def play_both(guest: Callable[[RecordedChannel], Any], host: Callable[[RecordedChannel], Any]) -> dict[str, Any]:
    """The results of two functions that talk to each other over sealed channels."""
    plays = dict(zip(PARTIES, (guest, host), strict=True))
    roles = {name: partial(one.play, role=plays[name]) for name, one in new_sessions().items()}
    return play_in_process(roles, timeout_s=60.0)


def new_sessions(parties: tuple[str, ...] = PARTIES) -> dict[str, RoleSession]:
    """A session of all parties, each with a fresh key."""
    keys = {name: PartyKey.generate() for name in parties}
    return make_sessions(keys, run_id="run", protocol="vertical-linear", job_digest=bytes(32))


@pytest.fixture(scope="session")
def converse() -> Callable[..., dict[str, Any]]:
    return play_both


@pytest.fixture(scope="session")
def key_pairs(paillier_keys) -> dict[str, KeyPair]:
    return {GUEST: paillier_keys[2048][0], HOST: paillier_keys[2048][1]}


@pytest.fixture(scope="session")
def run_of(key_pairs) -> Callable[..., SharedRun]:
    """Makes a run of `settings` over `tables`, checked unless told otherwise; `.run()` plays it."""

    def make(
        settings: VerticalLinearSettings, tables: Mapping[str, Table], *, exactness_check: bool = True, **others: Any
    ):
        keys = others.pop("keys", key_pairs)
        return SharedRun(settings, tables, keys, ExactnessCheck(settings) if exactness_check else None, **others)

    return make


@pytest.fixture(scope="session")
def settings_of() -> Callable[..., VerticalLinearSettings]:
    return make_settings


@pytest.fixture(params=["gram", "residuals"])
def gradient_method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each method of computing gradients, whatever it costs."""
    monkeypatch.setattr(training_module, "prefers_gram", lambda *_: request.param == "gram")
    return request.param


@pytest.fixture(scope="session")
def opened() -> Callable[..., np.ndarray]:
    return open_weights


@pytest.fixture(scope="session")
def centralised() -> Callable[..., tuple[np.ndarray, list[float]]]:
    return train_centrally
