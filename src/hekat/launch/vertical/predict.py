"""Joint prediction with the parts of a trained model: new rows are matched, and scores go to the receivers alone.

What it leaves behind lies in the run's folder, under predictions/ID/: every role's ledger, the keys that these are
audited by, and nothing of what was predicted.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.channel import Channel
from hekat.data import Table
from hekat.data.columns.encode import notes_of_cells
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import InputError
from hekat.job.job_head import TIMEOUT_S_PER_PARTY
from hekat.job.policy.column_checks import checks_of_columns
from hekat.job.policy.enforce import AskingJob, enforce
from hekat.job.policy.exact_sums import on_budgets, record_waiver, with_note_on_scores
from hekat.job.policy.job_limits import check_protocol, say_names
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.policy.shared_checks import check_has_tables, on_key_sizes
from hekat.job.site_file import Site, find_source
from hekat.job.vertical.columns_job import ALIGNED
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.matching import MatchedTable, Matching
from hekat.run.load_keys import load_party_keys
from hekat.run.predictions import Predictions, source_columns_of, without_strangers
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.vertical.part_files import Part, SavedPart
from hekat.run.vertical.party_tables import check_same_rows, in_columns_of, load_party_table
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.state import create_run_directory
from hekat.summary.vertical.metrics import labels_of

PREDICTIONS_FOLDER = "predictions"
PREDICTION = "joint prediction"
FloatArray = npt.NDArray[np.float64]
P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class JointPredictions:
    """`by_receiver` holds one answer for each of the receiver's rows that all parties have, in its own order; nobody
    else has any. `folder` has the ledgers. `sizes` are the rows of each party's table, `common` how many all have."""

    folder: Path
    by_receiver: dict[str, Predictions] = field(repr=False)
    sizes: dict[str, int]
    common: int


class PredictionWay(ABC, Generic[P]):
    """How the parts of one protocol's models predict together."""

    protocol: str

    def __init__(self, saved: Mapping[str, SavedPart[P]]) -> None:
        self.saved = saved

    @property
    def first(self) -> SavedPart[P]:
        """The guest's part; the role's own where one role alone plays here."""
        return next(iter(self.saved.values()))

    @property
    @abstractmethod
    def settings(self) -> Any:
        """What all parties agreed on: a text of it goes into the digest of the prediction."""

    @property
    def key_sizes(self) -> dict[str, int]:
        """The bits of keys that it makes, by the setting that says them."""
        return {}

    def checks(self, site: Site) -> list[PolicyCheck]:
        """What the site says of it besides."""
        del site
        return []

    def prepare(self) -> None:
        """Load keys, once the site allowed the prediction and its rows are read."""

    @abstractmethod
    def predict(
        self, channel: RecordedChannel, name: str, table: Table, matching: Matching, count: Callable[[int], None]
    ) -> tuple[FloatArray | None, MatchedTable]:
        """Match the rows of `table`, count them, and predict: the scores at a receiver, None elsewhere."""

    @abstractmethod
    def answers_of(self, part: P, scores: FloatArray) -> tuple[npt.NDArray[Any], FloatArray | None]:
        """Class numbers and probabilities, or numbers and None."""

    @abstractmethod
    def metrics_of(self, part: P, scores: FloatArray, labels: npt.NDArray[Any]) -> dict[str, float]:
        """How good the scores are, where the receiver has the labels."""


def predict_with(
    way: PredictionWay[P], run_folder: Path, site: Site, data_name: str, timeout_s: float | None = None
) -> JointPredictions:
    """Predict for the rows that every party of the model calls `data_name`, all parties on this machine.

    Rows are matched as the training rows were, and counted at each party (`PredictionCount`). Columns that the model
    does not know are ignored. Raises InputError or JobError for data that is not there or does not fit, PolicyError
    where a site allows no such prediction, PartyStoppedError where a party failed.
    """
    saved, first = way.saved, way.first
    intersection, parties = first.matching, (first.part.guest, *first.part.hosts)
    digest = hashlib.sha256(repr(about(way, data_name)).encode()).digest()
    enforce(site, AskingJob(PREDICTION, digest, parties), policy_checks(way, site, data_name))
    check_has_tables(site, parties)
    tables, ignored = load_new_rows(site, data_name, saved)
    way.prepare()
    if intersection is None:
        check_same_rows(tables, "the data")
    counts = {party: PredictionCount.of(site, run_folder, one.part) for party, one in saved.items()}
    for party, count in counts.items():
        # How many of the rows are common shows later.
        count.check(len(tables[party]) if intersection is None else 1)
    with declare_tenancy(site.machine.single_tenant):
        return _play(way, tables, counts, run_folder, site, digest, ignored, timeout_s)


def about(way: PredictionWay[P], data_name: str) -> tuple[object, ...]:
    """What all roles of a prediction say of it alike."""
    return way.first.part.model_id, data_name, way.settings, way.first.matching


def policy_checks(way: PredictionWay[P], site: Site, data_name: str) -> list[PolicyCheck]:
    """What the site says of a prediction, which has no job file: nothing of rounds, and nobody approves it."""
    policy, intersection = site.policy, way.first.matching
    sizes = way.key_sizes
    if intersection is not None and intersection.kind == "rsa_blind":
        sizes["intersection.key_bits"] = intersection.key_bits
    checks = [
        PolicyCheck(
            "policy.protocols",
            way.protocol,
            say_names(policy.protocols, "none"),
            lambda: check_protocol(policy, way.protocol),
        ),
        *way.checks(site),
        on_key_sizes(policy, sizes),
        on_budgets(site, way.saved),
    ]
    for party, one in way.saved.items():
        # Columns that the model does not know are not read.
        wanted = source_columns_of(one.part.columns, one.column_specs)
        checks += checks_of_columns(site, [party], data_name, only=wanted)
    return checks


def load_new_rows(
    site: Site, data_name: str, saved: Mapping[str, SavedPart[P]]
) -> tuple[dict[str, Table], dict[str, tuple[str, ...]]]:
    """Each party's rows in the columns of its part, and what its source has beside them."""
    tables, ignored = {}, {}
    for party, one in saved.items():
        wanted = source_columns_of(one.part.columns, one.column_specs)
        source, ignored[party] = without_strangers(wanted, find_source(site, party, data_name), site.folder)
        table = load_party_table(
            site,
            source,
            party,
            is_labelled=None if party == one.part.guest else False,
            classes=one.part.classes,
            columns=one.column_specs,
            sparse=one.sparse,
            needs_ids=one.intersection != ALIGNED,
            for_training=False,
        )
        tables[party] = with_note_on_scores(site, party, in_columns_of(one.part.columns, table, "the data"))
    return tables, ignored


def _play(
    way: PredictionWay[P],
    tables: Mapping[str, Table],
    counts: Mapping[str, PredictionCount],
    run_folder: Path,
    site: Site,
    digest: bytes,
    ignored: Mapping[str, tuple[str, ...]],
    timeout_s: float | None,
) -> JointPredictions:
    """Run all roles in a new folder under the run's."""
    names = tuple(way.saved)
    directory = create_run_directory(run_folder / PREDICTIONS_FOLDER)
    ledgers = directory.path / LEDGER_FOLDER
    with disk_errors_as_state_errors(f"{ledgers} could not be made"):
        ledgers.mkdir()
    keys = session_keys(load_party_keys(site, names), names)
    write_public_keys(directory.path, keys)
    sessions = make_sessions(
        keys, run_id=directory.run_id, protocol=way.protocol, job_digest=digest, ledger_folder=ledgers
    )

    def role(name: str, session: RoleSession) -> Callable[[Channel], tuple[FloatArray | None, MatchedTable]]:
        def predict(channel: RecordedChannel) -> tuple[FloatArray | None, MatchedTable]:
            record_waiver(channel.ledger, tables[name])
            matching = Matching(way.first.matching, session.stopwatch, Stopwatch())
            return way.predict(channel, name, tables[name], matching, counts[name].add)

        return lambda channel: session.play(channel, predict)

    roles = {name: role(name, sessions[name]) for name in names}
    found = play_in_process(roles, timeout_s=timeout_s or TIMEOUT_S_PER_PARTY * len(names))
    answers = {
        name: answer_of(way, name, tables[name], matched, scores, ignored[name])
        for name, (scores, matched) in found.items()
        if scores is not None
    }
    common = len(found[way.first.part.guest][1].table)
    return JointPredictions(directory.path, answers, {name: len(table) for name, table in tables.items()}, common)


def answer_of(
    way: PredictionWay[P],
    name: str,
    table: Table,
    matched: MatchedTable,
    scores: FloatArray,
    ignored: tuple[str, ...],
) -> Predictions:
    """A receiver's answers in the order of its own rows."""
    part = way.saved[name].part
    rows = np.arange(len(table)) if matched.positions is None else matched.positions
    order = np.argsort(rows)
    notes = notes_of_cells(table)
    table, scores = table.take(rows[order]), scores[order]
    if not np.isfinite(scores).all():
        raise InputError("the model gives no finite answer", expected="finite scores", got="others")
    answers, probabilities = way.answers_of(part, scores)
    metrics: dict[str, float] = {}
    if table.labels is not None:
        metrics = way.metrics_of(part, scores, labels_of(table, part.classes))
    return Predictions(part.classes, answers, probabilities, table.ids, ignored, metrics, notes)
