"""All roles of a run of trees across rows in this process, as its tests play them."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from tests.protocol.horizontal.rehearsal import party_key_of

from hekat.channel import Channel
from hekat.data import Table
from hekat.errors import PartyLostError
from hekat.ledger import RecordedChannel
from hekat.model.trees import TreeTraining
from hekat.privacy.accounting import Release
from hekat.protocol.horizontal_trees.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal_trees.party import PartyRun, run_party
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.sums_ahead import plan_sums
from hekat.protocol.horizontal_trees.training import IterationRecord, LocalRun
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.secure_sum.masked.key_authority import AuthorityRun, run_authority
from hekat.protocol.secure_sum.masked.upload_state import UploadState, open_upload_state
from hekat.protocol.secure_sum.timeouts import aggregator_timeout_of
from hekat.scheme.paillier import KeyPair
from hekat.state.privacy_budget import Spent

PARTIES = ("a", "b", "c")
AGGREGATOR = "hub"
# A node whose rows are all alike gains nothing but what rounding leaves: no split of it is the one.
FINE = TreeTraining(
    max_iter=2, max_depth=3, min_samples_leaf=3, max_bins=8, gradient_bits=20, rounding="nearest", min_gain=0.01
)


def make_tables(
    seed: int, *, rows: tuple[int, ...] = (90, 40, 70), class_count: int = 2, missing: bool = False
) -> dict[str, Table]:
    """Tables of 5 columns of different kinds whose labels depend on them; parties differ in their rows."""
    rng = np.random.default_rng(seed)
    tables = {}
    for number, (name, count) in enumerate(zip("abcdefg", rows, strict=False)):
        features = np.column_stack(
            [
                rng.normal(number, 1, count),
                rng.integers(0, 4, count),
                np.exp(3 * rng.normal(size=count)),
                rng.integers(0, 2, count),
                1e9 + rng.normal(size=count),
            ]
        ).astype(float)
        score = features[:, 0] + features[:, 1] * features[:, 3] + 0.3 * rng.normal(size=count)
        if missing:
            features[rng.random(features.shape) < 0.1] = np.nan
            features[:, 3] = np.nan_to_num(features[:, 3])
        if class_count:
            labels = np.digitize(score, np.linspace(0.5, 3.5, class_count - 1)).astype(np.int64)
        else:
            labels = 100 + 3 * score
        tables[name] = Table(features, labels, ("u", "v", "w", "x", "t"), name, indicators=("x",))
    return tables


def make_settings(
    *, training: TreeTraining = FINE, class_count: int = 2, protection: str = "none", parties=PARTIES, **others
) -> HorizontalTreesSettings:
    return HorizontalTreesSettings(
        parties=parties,
        aggregator=AGGREGATOR,
        classes=tuple(f"class {n}" for n in range(class_count)) or None,
        weight_max=128,
        protection=protection,  # type: ignore[arg-type]
        key_bits=2048,
        training=training,
        **others,
    )


@dataclass
class Rehearsal:
    """One run's parties and what they leave behind."""

    settings: HorizontalTreesSettings
    tables: Mapping[str, Table]
    key_pair: KeyPair | None = None
    resume_from: TreesState | None = None
    stand_ins: Mapping[str, Callable[[RecordedChannel], TreesState | None]] = field(default_factory=dict)
    before: Callable[[str, str, str], None] = lambda party, step, part: None
    """Called with the party, ahead of each part of an upload; what it raises makes the party drop out."""
    charge: Callable[[int, Release], Spent | None] = lambda number, release: None
    folder: Path | None = None
    timeout_s: float = 30.0
    ledger_folder: Path | None = None
    records: list[IterationRecord] = field(default_factory=list)
    saved: list[TreesState] = field(default_factory=list)
    lost: list[PartyLostError] = field(default_factory=list)
    sessions: dict[str, RoleSession] = field(default_factory=dict)
    _saving: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> dict[str, TreesState]:
        """Each party's state at the end. Raises as `play_in_process`."""
        settings = self.settings
        keys = {name: party_key_of(name) for name in settings.everyone}
        self.sessions = make_sessions(
            keys,
            run_id="rehearsal",
            protocol="horizontal_trees",
            job_digest=bytes(32),
            ledger_folder=self.ledger_folder,
        )
        with ExitStack() as stack:
            place = self.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            states = {}
            if settings.protection == "lattice":
                for name in settings.everyone:
                    if name != settings.aggregator:
                        states[name] = open_upload_state(place / name, bytes(32), durable=False, with_run=True)
                        stack.enter_context(states[name].uploads)
            roles = {name: self._role(name, states.get(name)) for name in settings.everyone}
            results = play_in_process(
                roles,
                timeout_s=self.timeout_s,
                may_drop_out=settings.parties if settings.bears_dropouts else (),
                on_dropout=self.lost.append,
            )
        return {party: results[party] for party in settings.parties if party in results}

    def _role(self, name: str, state: UploadState | None) -> Callable[[Channel], TreesState | None]:
        return lambda channel: self.sessions[name].play(channel, lambda recorded: self._play(name, recorded, state))

    def _play(self, name: str, channel: RecordedChannel, state: UploadState | None) -> TreesState | None:
        if name in self.stand_ins:
            return self.stand_ins[name](channel)
        settings, resumed = self.settings, self.resume_from
        done = resumed.iterations_done if resumed else 0
        stopwatch = self.sessions[name].stopwatch
        timeout_s = aggregator_timeout_of(self.timeout_s, len(settings.parties))
        if name == settings.aggregator:
            finished, measured = (resumed.finished, resumed.measured) if resumed else (False, False)
            run_aggregator(channel, settings, AggregatorRun(stopwatch, done, self.timeout_s, finished, measured))
            return None
        if name == settings.authority:
            run_authority(channel, settings.sums, AuthorityRun(stopwatch, plan_sums(settings, done), state, timeout_s))
            return None
        local = LocalRun(
            stopwatch,
            on_iteration=self._note,
            save=self._save,
            resume_from=resumed.copy() if resumed else None,
            charge=self.charge,
        )
        run = PartyRun(
            local,
            key_pair=self.key_pair if name == settings.leader else None,
            upload_state=state,
            aggregator_timeout_s=timeout_s,
            before=lambda step, part: self.before(name, step, part),
        )
        return run_party(channel, self.tables[name], settings, run)

    def _note(self, record: IterationRecord, state: TreesState) -> None:
        with self._saving:
            if record.iteration > len(self.records):
                self.records.append(record)

    def _save(self, state: TreesState) -> None:
        with self._saving:
            if state.iterations_done > len(self.saved):
                self.saved.append(state.copy())


def pool(tables: Mapping[str, Table]) -> Table:
    """All rows in one table, party after party."""
    every = list(tables.values())
    return replace(
        every[0],
        features=np.concatenate([table.features for table in every]),
        labels=np.concatenate([table.labels for table in every]),
        name="pooled",
    )
