"""Whole trainings and predictions of split networks in this process, with messages that a test may change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hekat.channel import PartyKey
from hekat.data import Table, make_ids
from hekat.errors import PartyStoppedError
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.shares.share_array import add_shares, to_floats
from hekat.protocol.vertical.label_privacy import LabelFlips, label_flips
from hekat.protocol.vertical_network.model_part import SHARE, NetworkPart
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun, NetworkState
from hekat.protocol.vertical_network.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.roles import run_role
from hekat.protocol.vertical_network.settings import (
    LABELS_ACCEPTED,
    ROTATION_ACCEPTED,
    SLOPES_ACCEPTED,
    VerticalNetworkSettings,
)

GUEST, HOSTS = "bank", ("shop", "telco", "lab")
CLASSES = {"binary": ("no", "yes"), "multiclass": ("a", "b", "c"), "regression": None}


def make_tables(
    seed: int, rows: int, columns: tuple[int, ...], *, task: str = "binary", labelled: bool = True
) -> dict[str, Table]:
    """Tables of the guest and of one host for each further column count."""
    rng = np.random.default_rng(seed)
    joined = rng.normal(size=(rows, sum(columns)))
    score = joined @ np.linspace(1.0, 2.0, sum(columns)) + np.abs(joined[:, -1]) + 0.3 * rng.normal(size=rows)
    labels: Any = (score > np.median(score)).astype(np.int64)
    if task == "regression":
        labels = 3.0 * score + 100.0
    if task == "multiclass":
        labels = np.digitize(score, np.quantile(score, [0.3, 0.6])).astype(np.int64)
    tables = {}
    for index, part in enumerate(np.split(joined, np.cumsum(columns)[:-1], axis=1)):
        name = [GUEST, *HOSTS][index]
        names = tuple(f"{name}-{column}" for column in range(part.shape[1]))
        tables[name] = Table(part, labels if index == 0 and labelled else None, names, name)
    return tables


def with_ids(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables with ids of the guest's rows, which label privacy needs."""
    guest = tables[GUEST]
    ids = make_ids([f"customer {row}" for row in range(len(guest))], GUEST)
    return {**tables, GUEST: Table(guest.features, guest.labels, guest.feature_names, guest.name, ids=ids)}


def flips_of(first: int, path: Path | None = None) -> LabelFlips:
    """The guest's flips, in a file if it is told, from a key that begins with byte `first`: alike in every run."""
    key = SimpleNamespace(token_bytes=lambda size: bytes((first + number) % 256 for number in range(size)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_flips, "secrets", key)
        return LabelFlips.in_memory(GUEST) if path is None else LabelFlips.open_or_create(path, GUEST)


def make_settings(hosts: int = 1, task: str = "binary", **changes: Any) -> VerticalNetworkSettings:
    """Settings of a small training with every waiver."""
    network = {"units": 4, "guest_width": 3, "host_width": 5} | changes.pop("network", {})
    training = {"epochs": 2, "batch_rows": 64, "shared_rate": 0.1, "learning_rate": 0.02} | changes.pop("training", {})
    usual = {
        "protection": "none",
        "rotation_accepted": ROTATION_ACCEPTED,
        "labels_accepted": LABELS_ACCEPTED,
        "slopes_accepted": SLOPES_ACCEPTED,
    }
    return VerticalNetworkSettings(
        GUEST,
        HOSTS[:hosts],
        task,  # type: ignore[arg-type]
        CLASSES[task],
        network=NetworkShape(**network),
        training=NetworkTraining(**training),
        **(usual | changes),
    )


def shared_weights(parts: Mapping[str, Any], host: str = HOSTS[0]) -> np.ndarray[Any, Any]:
    """W_h of parts or states, which no party has."""
    name = SHARE + host
    return to_floats(add_shares(parts[GUEST].arrays[name], parts[host].arrays[name]), 64)


@contextmanager
def ends(kind: type[Exception], match: str) -> Iterator[None]:
    """The run within ends by an error of `kind`, whose words match, at one of its parties."""
    with pytest.raises(PartyStoppedError, match=match) as caught:
        yield
    assert isinstance(caught.value.__cause__, kind)


@dataclass
class Rehearsal:
    """One run: what each party saw, sent and saved."""

    settings: VerticalNetworkSettings
    tables: Mapping[str, Table]
    seed: int | None = 5
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Further fields of a party's NetworkRun."""
    tamper: Callable[[str, str, str, Any], Any] = lambda sender, to, step, message: message
    records: dict[str, list[NetworkRecord]] = field(default_factory=dict)
    saved: dict[str, list[NetworkState]] = field(default_factory=dict)
    sessions: dict[str, RoleSession] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    sent: dict[str, list[tuple[str, str, Any]]] = field(default_factory=dict)
    """By party: to whom, in which step, which message."""

    def run(self) -> dict[str, NetworkPart]:
        """The parts of all parties."""
        return self._play_all(self._train)

    def predict(
        self,
        parts: Mapping[str, NetworkPart],
        tables: Mapping[str, Table],
        receivers: tuple[str, ...] = (),
        *,
        made: NetworkPredictionSettings | None = None,
    ) -> dict[str, Any]:
        """The scores at each party, whose settings are of its own part unless they were `made` without it."""

        def play(name: str, channel: RecordedChannel) -> Any:
            settings = made or NetworkPredictionSettings.of(parts[name], receivers)
            return predict_scores(channel, parts[name], tables[name], settings, self.make_run(name))

        return self._play_all(play)

    def make_run(self, name: str) -> NetworkRun:
        """What a party's role is given."""
        seed = None if self.seed is None else self.seed + 1000 * self.settings.everyone.index(name)
        usual = {
            "on_epoch": self.records.setdefault(name, []).append,
            "save": self.saved.setdefault(name, []).append,
            "warn": self.warnings.append,
            "seed": seed,
        }
        return NetworkRun(self.sessions[name].stopwatch, **(usual | dict(self.runs.get(name, {}))))

    def _play_all(self, play: Callable[[str, RecordedChannel], Any]) -> dict[str, Any]:
        keys = {name: PartyKey.generate() for name in self.settings.everyone}
        self.sessions = make_sessions(keys, run_id="rehearsal", protocol="vertical_network", job_digest=bytes(32))
        plays = {
            name: partial(one.play, role=partial(self._listened, name, play)) for name, one in self.sessions.items()
        }
        return play_in_process(plays, timeout_s=60.0)

    def _listened(self, name: str, play: Callable[[str, RecordedChannel], Any], channel: RecordedChannel) -> Any:
        self._listen(name, channel)
        return play(name, channel)

    def _train(self, name: str, channel: RecordedChannel) -> NetworkPart:
        return run_role(channel, self.tables[name], self.settings, self.make_run(name))

    def _listen(self, name: str, channel: RecordedChannel) -> None:
        send, note = channel.send, channel.ledger.note
        sent, notes = self.sent.setdefault(name, []), self.notes.setdefault(name, [])

        def listen(to: str, step: str, message: Any, *others: Any, **named: Any) -> bytes:
            message = self.tamper(name, to, step, message)
            sent.append((to, step, message))
            return send(to, step, message, *others, **named)

        def hear(step: str, what: str, *others: Any) -> Any:
            notes.append(what)
            return note(step, what, *others)

        channel.send = listen  # type: ignore[method-assign]
        channel.ledger.note = hear  # type: ignore[method-assign]
