"""Whole trainings of trees across columns in this process, with roles that a test may replace, and the plain trees."""

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
from hekat.model.trees import PlainRun, TreeTraining, bin_table, make_objective, train_plain
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.vertical_trees.host_side.sum_memory import SUM_MEMORY_MIB
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun, TreeState
from hekat.protocol.vertical_trees.roles import run_role
from hekat.protocol.vertical_trees.settings import BIN_LEAK_ACCEPTED, VerticalTreesSettings
from hekat.protocol.vertical_trees.tree_arrays import read_trees

GUEST, HOSTS = "bank", ("shop", "telco", "lab", "clinic", "press")


def make_tables(
    seed: int, rows: int, columns: tuple[int, ...], *, task: str = "binary", missing: float = 0.0
) -> dict[str, Table]:
    """Tables of the guest and of one host for each further column count; some cells may be empty."""
    rng = np.random.default_rng(seed)
    joined = rng.normal(size=(rows, sum(columns)))
    score = joined @ rng.normal(size=sum(columns)) + np.sin(3 * joined[:, 0]) + 0.3 * rng.normal(size=rows)
    labels: Any = (score > 0).astype(np.int64)
    if task == "regression":
        labels = score
    if task == "multiclass":
        labels = np.digitize(score, [-1.0, 1.0]).astype(np.int64)
    joined[rng.random(joined.shape) < missing] = np.nan
    tables = {}
    names_of = [GUEST, *HOSTS]
    for index, part in enumerate(np.split(joined, np.cumsum(columns)[:-1], axis=1)):
        name = names_of[index]
        names = tuple(f"{name}-{column}" for column in range(part.shape[1]))
        tables[name] = Table(part, labels if index == 0 else None, names, name)
    return tables


def make_settings(hosts: int = 1, task: str = "binary", **changes: Any) -> VerticalTreesSettings:
    """Settings of a small training that waive the rule on bins."""
    classes = {"binary": ("0", "1"), "multiclass": ("0", "1", "2"), "regression": None}[task]
    training = {"max_iter": 3, "max_depth": 3, "min_samples_leaf": 5, "max_bins": 8} | changes.pop("training", {})
    usual = {"protection": "none", "bin_leak_accepted": BIN_LEAK_ACCEPTED}
    return VerticalTreesSettings(
        GUEST, HOSTS[:hosts], task, classes, training=TreeTraining(**training), **(usual | changes)
    )


def train_in_the_clear(
    tables: Mapping[str, Table], settings: VerticalTreesSettings, only: tuple[str, ...] = ()
) -> PlainRun:
    """The trees of all columns in one table; hosts' small bins are joined. `only`: of the columns of these parties."""
    parties = only or settings.parties
    values = np.concatenate([np.asarray(tables[name].features) for name in parties], axis=1)
    names = [name for party in parties for name in tables[party].feature_names]
    categories = [name for party in parties for name in tables[party].categories]
    binned = bin_table(values, settings.training.max_bins, [names.index(name) for name in categories])
    joined = np.array([party != settings.guest for party in parties for _ in tables[party].feature_names])
    objective = make_objective(0 if settings.classes is None else len(settings.classes))
    labels = tables[settings.guest].labels
    assert labels is not None
    return train_plain(binned, labels, objective, settings.training, joined=joined)


def assert_same_trees(parts: dict[str, Any], plain: Any) -> None:
    """Every node of the guest's trees is the plain one's: column, children, gain, rows and value."""
    trees = read_trees(parts[GUEST].arrays)
    assert len(trees) == len(plain.ensemble.trees)
    for ours, theirs in zip(trees, plain.ensemble.trees, strict=True):
        for one, tree in zip(ours, theirs, strict=True):
            for name in ("column", "left", "right", "value", "gain", "count"):
                np.testing.assert_array_equal(getattr(one.tree, name), getattr(tree, name), err_msg=name)


@contextmanager
def ends(kind: type[Exception], match: str) -> Iterator[None]:
    """The run within ends by an error of `kind`, whose words match, at one of its parties."""
    with pytest.raises(PartyStoppedError, match=match) as caught:
        yield
    assert isinstance(caught.value.__cause__, kind)


@dataclass
class Rehearsal:
    """One run: what each party saw and saved, and its part of the model at the end. `stand_ins` play a role instead."""

    settings: VerticalTreesSettings
    tables: Mapping[str, Table]
    resume_from: Mapping[str, TreeState] = field(default_factory=dict)
    start_from: Mapping[str, TreesPart] = field(default_factory=dict)
    stand_ins: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tamper: Callable[[str, str, str, Any], Any] = lambda sender, to, step, message: message
    max_sum_memory_mib: int = SUM_MEMORY_MIB
    before_save: Callable[[str, TreeState], None] = lambda party, state: None
    records: dict[str, list[TreeRecord]] = field(default_factory=dict)
    saved: dict[str, list[TreeState]] = field(default_factory=dict)
    sessions: dict[str, RoleSession] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    sent: dict[str, list[tuple[str, str, Any]]] = field(default_factory=dict)
    """By party: to whom, in which step, which message."""

    def run(self) -> dict[str, TreesPart]:
        keys = {name: PartyKey.generate() for name in self.settings.everyone}
        self.sessions = make_sessions(keys, run_id="rehearsal", protocol="vertical_trees", job_digest=bytes(32))
        plays = {name: partial(one.play, role=partial(self._play, name)) for name, one in self.sessions.items()}
        return play_in_process(plays, timeout_s=30.0)

    def _play(self, name: str, channel: RecordedChannel) -> TreesPart:
        self._listen(name, channel)
        run = TreesRun(
            self.sessions[name].stopwatch,
            on_tree=self.records.setdefault(name, []).append,
            save=partial(self._save, name),
            resume_from=self.resume_from.get(name),
            start_from=self.start_from.get(name),
            max_sum_memory_mib=self.max_sum_memory_mib,
        )
        return self.stand_ins.get(name, run_role)(channel, self.tables[name], self.settings, run)

    def _save(self, name: str, state: TreeState) -> None:
        self.before_save(name, state)
        self.saved.setdefault(name, []).append(state)

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
