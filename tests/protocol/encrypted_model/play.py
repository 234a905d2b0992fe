"""Whole trainings on an encrypted model in this process, and the same training step by step in the clear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.errors import PartyStoppedError
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

Tamper = Callable[[str, str, str, Any], Any]
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
        **({"protection": "none", "key_bits": 2048, "allow_two_parties": hosts == 2} | changes),
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


@contextmanager
def ends(kind: type[Exception], match: str) -> Iterator[None]:
    """The run within ends by an error of `kind`, whose words match, at one of its roles."""
    with pytest.raises(PartyStoppedError, match=match) as caught:
        yield
    assert isinstance(caught.value.__cause__, kind)


@dataclass
class Played:
    """What every role returned and kept. `models` are what the owner was given, `states` of each role by round."""

    results: Mapping[str, OwnedModel | None]
    models: list[OwnedModel] = field(default_factory=list)
    states: dict[str, list[ShareState]] = field(default_factory=dict)
    rounds: dict[str, list[int]] = field(default_factory=dict)
    sessions: Mapping[str, RoleSession] = field(default_factory=dict)
    sent: list[tuple[str, str, str, Any]] = field(default_factory=list)
    """From whom, to whom, in which step, which message."""

    def messages(self, sender: str, to: str, step: str) -> list[Any]:
        """What `sender` sent to `to` in steps that end with `step`, in order."""
        return [m for a, b, name, m in self.sent if (a, b) == (sender, to) and name.endswith(step)]


def play(
    settings: EncryptedModelSettings,
    tables: Mapping[str, Table],
    *,
    resume: Mapping[str, ShareState] | None = None,
    roles: Mapping[str, Role] | None = None,
    tamper: Tamper = lambda sender, to, step, message: message,
    states: dict[str, list[ShareState]] | None = None,
    **given: Any,
) -> Played:
    """Play every role; `roles` replace some of them, `tamper` changes messages before they leave, `states` is kept
    also where the run fails, `given` are fields of
    the runs of all."""
    keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(keys, run_id="test", protocol="encrypted_model", job_digest=bytes(32))
    played = Played({}, sessions=sessions, states={} if states is None else states)

    def play_role(name: str, channel: RecordedChannel) -> OwnedModel | None:
        rounds = played.rounds.setdefault(name, [])
        run = EncryptedModelRun(
            sessions[name].stopwatch,
            on_round=lambda record: rounds.append(record.round_number),
            on_model=played.models.append,
            save=played.states.setdefault(name, []).append,
            resume_from=None if resume is None else resume[name],
            **given,
        )
        send = channel.send

        def listen(to: str, step: str, message: Any, *others: Any, **named: Any) -> bytes:
            message = tamper(name, to, step, message)
            played.sent.append((name, to, step, message))
            return send(to, step, message, *others, **named)

        channel.send = listen  # type: ignore[method-assign]
        return (roles or {}).get(name, run_role)(channel, tables.get(name), settings, run)

    played.results = play_in_process(
        {name: partial(session.play, role=partial(play_role, name)) for name, session in sessions.items()}
    )
    return played
