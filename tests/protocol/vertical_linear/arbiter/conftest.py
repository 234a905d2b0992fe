"""Whole runs with an arbiter in this process, with the stored test key and roles that a test may replace."""

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
from hekat.protocol.vertical_linear.arbiter.arbiter import run_arbiter
from hekat.protocol.vertical_linear.arbiter.guest import run_guest
from hekat.protocol.vertical_linear.arbiter.host import run_host
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartState, PartyRun
from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LinearTraining
from hekat.scheme.paillier import KeyPair

GUEST, ARBITER = "bank", "judge"
HOSTS = ("shop", "telco", "lab")


@dataclass
class Rehearsal:
    """One run: what each party saw and saved, and its part of the model at the end. `stand_ins` play a role instead."""

    settings: VerticalLinearSettings
    tables: Mapping[str, Table]
    key_pair: KeyPair
    exactness_check: ExactnessCheck | None = None
    resume_from: Mapping[str, PartState] = field(default_factory=dict)
    start_from: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stand_ins: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    before_save: Callable[[str, PartState], None] = lambda party, state: None
    records: dict[str, list[EpochRecord]] = field(default_factory=dict)
    saved: dict[str, list[PartState]] = field(default_factory=dict)
    sessions: dict[str, RoleSession] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    sent: dict[str, list[tuple[str, str, Any]]] = field(default_factory=dict)
    """By party: to whom, in which step, which message."""

    def run(self) -> dict[str, ModelPart | None]:
        keys = {name: PartyKey.generate() for name in self.settings.everyone}
        self.sessions = make_sessions(keys, run_id="rehearsal", protocol="vertical-linear", job_digest=bytes(32))
        plays = {name: partial(one.play, role=partial(self._play, name)) for name, one in self.sessions.items()}
        return play_in_process(plays, timeout_s=30.0)

    def _play(self, name: str, channel: RecordedChannel) -> ModelPart | None:
        self._listen(name, channel)
        run = PartyRun(
            self.sessions[name].stopwatch,
            on_epoch=self.records.setdefault(name, []).append,
            save=partial(self._save, name),
            resume_from=self.resume_from.get(name),
            start_from=self.start_from.get(name),
            key_pair=self.key_pair if name == self.settings.arbiter else None,
            exactness_check=self.exactness_check,
        )
        if name in self.stand_ins:
            return self.stand_ins[name](channel, self.tables.get(name), self.settings, run)
        if name == self.settings.arbiter:
            run_arbiter(channel, self.settings, run)
            return None
        role = run_guest if name == self.settings.guest else run_host
        return role(channel, self.tables[name], self.settings, run)

    def _listen(self, name: str, channel: RecordedChannel) -> None:
        note, send = channel.ledger.note, channel.send
        notes, sent = self.notes.setdefault(name, []), self.sent.setdefault(name, [])

        def note_and_keep(step: str, what: str, disclosure: Any) -> None:
            notes.append(what)
            note(step, what, disclosure)

        def send_and_keep(to: str, step: str, message: Any) -> bytes:
            sent.append((to, step, message))
            return send(to, step, message)

        channel.ledger.note, channel.send = note_and_keep, send_and_keep  # type: ignore[method-assign]

    def _save(self, name: str, state: PartState) -> None:
        self.before_save(name, state)
        self.saved.setdefault(name, []).append(
            replace(state, arrays={key: np.array(values) for key, values in state.arrays.items()})
        )


class Notebook:
    """The notes of an honest but curious party: the rows, weights and own gradient of every step, which the party has
    anyway. It stands where an exactness check would."""

    def __init__(self) -> None:
        self.steps: list[tuple[np.ndarray, Mapping[str, Any], Mapping[str, Any]]] = []

    def begin(self, party, features, targets=None) -> None:
        self.features, self.targets = features, targets

    def deposit(self, step, rows, party, parameters, gradient) -> None:
        self.steps.append((rows, dict(parameters), dict(gradient)))

    def play_host(self, channel, table, settings, run) -> ModelPart:
        """Keep to the protocol and write down what the host sees."""
        return run_host(channel, table, settings, replace(run, exactness_check=self))

    def play_guest(self, channel, table, settings, run) -> ModelPart:
        """As `play_host`, for the guest."""
        return run_guest(channel, table, settings, replace(run, exactness_check=self))


@pytest.fixture(scope="session")
def new_notebook() -> Callable[[], Notebook]:
    return Notebook


def make_settings(
    *,
    host_count: int = 1,
    task: str = "two classes",
    protection: str = "paillier",
    accepted: str | None = LEAK_ACCEPTED,
    columns_accepted: str | None = COLUMN_LEAK_ACCEPTED,
    **training: Any,
) -> VerticalLinearSettings:
    values = {"epochs": 2, "batch_rows": 20, "learning_rate": 0.5} | training
    return VerticalLinearSettings(
        guest=GUEST,
        hosts=HOSTS[:host_count],
        arbiter=ARBITER,
        task="linear" if task == "number" else "logistic",
        classes={"two classes": ("no", "yes"), "three classes": ("low", "middle", "high"), "number": None}[task],
        key_bits=2048,
        protection=protection,  # type: ignore[arg-type]
        training=LinearTraining(**values),
        label_leak_accepted=accepted,
        column_leak_accepted=columns_accepted,
    )


@pytest.fixture(scope="session")
def key_pair(paillier_keys) -> KeyPair:
    return paillier_keys[2048][0]


@pytest.fixture(scope="session")
def rehearse(key_pair: KeyPair) -> Callable[..., Rehearsal]:
    """Makes a run of `settings` over `tables`, checked unless told otherwise; `.run()` plays it."""

    def make(
        settings: VerticalLinearSettings, tables: Mapping[str, Table], *, exactness_check: bool = True, **others: Any
    ):
        return Rehearsal(settings, tables, key_pair, ExactnessCheck(settings) if exactness_check else None, **others)

    return make


@pytest.fixture(scope="session")
def settings_of() -> Callable[..., VerticalLinearSettings]:
    return make_settings
