"""Joint prediction with the parts of a trained model: new rows are matched, and scores go to the receivers alone.

What it leaves behind lies in the run's folder, under predictions/ID/: every role's ledger, the keys that these are
audited by, and nothing of what was predicted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
from hekat.job.policy.job_limits import check_protocol, say_names
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.policy.shared_checks import check_has_tables, on_key_sizes
from hekat.job.site_file import Site, find_source
from hekat.job.vertical.columns_job import ALIGNED
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.job.vertical_linear.site_check import check_score_bits
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession
from hekat.protocol.vertical.matching import Matching
from hekat.protocol.vertical_linear.party_roles import match_and_predict
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.answers import answers_of
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.run.load_keys import load_key_pair, load_party_keys
from hekat.run.predictions import Predictions, source_columns_of, without_strangers
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.vertical.party_tables import check_same_rows, in_columns_of, load_party_table
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical_linear.part_file import SavedPart, load_parts
from hekat.scheme.paillier import KeyPair
from hekat.state import create_run_directory
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical_linear.metrics_of_scores import metrics_of_scores

PREDICTIONS_FOLDER = "predictions"
_PREDICTION = "joint prediction"
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JointPredictions:
    """`by_receiver` holds one answer for each of the receiver's rows that all parties have, in its own order; nobody
    else has any. `folder` has the ledgers. `sizes` are the rows of each party's table, `common` how many all have."""

    folder: Path
    by_receiver: dict[str, Predictions] = field(repr=False)
    sizes: dict[str, int]
    common: int


def predict_jointly(
    run_folder: Path,
    site: Site,
    data_name: str,
    receivers: Sequence[str] = (),
    *,
    score_bits: int = SCORE_BITS,
    ask_passphrase: Callable[[], bytes] | None = None,
    timeout_s: float | None = None,
) -> JointPredictions:
    """Predict for the rows that every party of the model calls `data_name`, all parties on this machine.

    `receivers` learn the scores, to 2^-score_bits: the guest alone where none is named. Rows are matched as the
    training rows were, and counted at each party (`PredictionCount`). Columns that the model does not know are ignored.
    Raises StateError where parts are missing, InputError or JobError for data that is not, PolicyError where a site
    allows no more predicted rows, no scores this fine or no keys this small, PartyStoppedError where a party failed.
    """
    saved = load_parts(run_folder)
    first = next(iter(saved.values()))
    settings = PredictionSettings.of(first.part, receivers, score_bits)
    intersection = _intersection_of(first)
    about = repr((first.part.model_id, data_name, settings, intersection))
    digest = hashlib.sha256(about.encode()).digest()
    asking = AskingJob(_PREDICTION, digest, settings.parties)
    enforce(site, asking, _policy_checks(site, settings, saved, intersection, data_name))
    check_has_tables(site, settings.parties)
    tables, ignored = _load_tables(site, data_name, saved)
    keys = _load_key_pairs(site, saved, ask_passphrase)
    if intersection is None:
        check_same_rows(tables, "the data")
    counts = {party: PredictionCount.of(site, run_folder, one.part) for party, one in saved.items()}
    for party, count in counts.items():
        # How many of the rows are common shows later.
        count.check(len(tables[party]) if intersection is None else 1)
    with declare_tenancy(site.machine.single_tenant):
        run = _Prediction(saved, tables, settings, intersection, keys, counts)
        return run.play(run_folder, site, digest, ignored, timeout_s)


def _policy_checks(
    site: Site,
    settings: PredictionSettings,
    saved: Mapping[str, SavedPart],
    intersection: IntersectionSettings | None,
    data_name: str,
) -> list[PolicyCheck]:
    """What the site says of a prediction, which has no job file: nothing of rounds, and nobody approves it."""
    policy = site.policy
    first = next(iter(saved.values())).part
    sizes = {"protection.key_bits": first.key_bits} if first.form == "shared_weights" else {}
    if intersection is not None and intersection.kind == "rsa_blind":
        sizes["intersection.key_bits"] = intersection.key_bits
    checks = [
        PolicyCheck(
            "policy.protocols", PROTOCOL, say_names(policy.protocols, "none"), lambda: check_protocol(policy, PROTOCOL)
        ),
        PolicyCheck(
            "policy.max_score_bits",
            f"{settings.score_bits} bits",
            str(policy.max_score_bits),
            lambda: check_score_bits(policy, settings.score_bits),
        ),
        on_key_sizes(policy, sizes),
    ]
    for party, one in saved.items():
        # Columns that the model does not know are not read.
        wanted = source_columns_of(one.part.columns, one.column_specs)
        checks += checks_of_columns(site, [party], data_name, only=wanted)
    return checks


def _load_tables(
    site: Site, data_name: str, saved: Mapping[str, SavedPart]
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
        tables[party] = in_columns_of(one.part.columns, table, "the data")
    return tables, ignored


def _load_key_pairs(
    site: Site, saved: Mapping[str, SavedPart], ask_passphrase: Callable[[], bytes] | None
) -> dict[str, KeyPair]:
    """The keys that the site keeps for parties that compute on shares; with weights of one's own none is used."""
    return {
        party: load_key_pair(path, party, one.part.key_bits, ask_passphrase)
        for party, one in saved.items()
        if one.part.form == "shared_weights" and (path := site.parties[party].paillier_key) is not None
    }


def _intersection_of(saved: SavedPart) -> IntersectionSettings | None:
    if saved.intersection == ALIGNED:
        return None
    kind, bits = saved.intersection, saved.intersection_key_bits
    return IntersectionSettings(saved.part.guest, saved.part.hosts, kind, key_bits=bits)


@dataclass
class _Prediction:
    """The roles of one prediction."""

    saved: Mapping[str, SavedPart]
    tables: Mapping[str, Table]
    settings: PredictionSettings
    intersection: IntersectionSettings | None
    key_pairs: Mapping[str, KeyPair] = field(repr=False)
    counts: Mapping[str, PredictionCount]

    def play(
        self,
        run_folder: Path,
        site: Site,
        digest: bytes,
        ignored: Mapping[str, tuple[str, ...]],
        timeout_s: float | None,
    ) -> JointPredictions:
        """Run all roles in a new folder under the run's."""
        names = self.settings.parties
        directory = create_run_directory(run_folder / PREDICTIONS_FOLDER)
        ledgers = directory.path / LEDGER_FOLDER
        with disk_errors_as_state_errors(f"{ledgers} could not be made"):
            ledgers.mkdir()
        keys = session_keys(load_party_keys(site, names), names)
        write_public_keys(directory.path, keys)
        sessions = make_sessions(
            keys, run_id=directory.run_id, protocol=PROTOCOL, job_digest=digest, ledger_folder=ledgers
        )
        roles = {name: self._role(name, sessions[name]) for name in names}
        found = play_in_process(roles, timeout_s=timeout_s or TIMEOUT_S_PER_PARTY * len(names))
        answers = {
            name: self._answer(name, rows, scores, ignored[name])
            for name, (rows, scores) in found.items()
            if scores is not None
        }
        common = len(found[self.settings.guest][0])
        return JointPredictions(
            directory.path, answers, {name: len(table) for name, table in self.tables.items()}, common
        )

    def _role(
        self, name: str, session: RoleSession
    ) -> Callable[[Channel], tuple[npt.NDArray[np.int64], FloatArray | None]]:
        def predict(channel: RecordedChannel) -> tuple[npt.NDArray[np.int64], FloatArray | None]:
            table, stopwatch = self.tables[name], session.stopwatch
            run = PartyRun(stopwatch, key_pair=self.key_pairs.get(name), count_predictions=self.counts[name].add)
            matching = Matching(self.intersection, stopwatch)
            part = self.saved[name].part
            makes_key = part.needs_key and run.key_pair is None
            predicted = match_and_predict(
                channel, part, table, self.settings, matching, lambda matched: run, makes_key=makes_key
            )
            rows = predicted.matched.positions
            return np.arange(len(table)) if rows is None else rows, predicted.scores

        return lambda channel: session.play(channel, predict)

    def _answer(
        self, name: str, rows: npt.NDArray[np.int64], scores: FloatArray, ignored: tuple[str, ...]
    ) -> Predictions:
        """A receiver's answers in the order of its own rows."""
        classes = self.saved[name].part.classes
        order = np.argsort(rows)
        notes = notes_of_cells(self.tables[name])
        table, scores = self.tables[name].take(rows[order]), scores[order]
        if not np.isfinite(scores).all():
            raise InputError("the model gives no finite answer", expected="finite scores", got="others")
        answers, probabilities = answers_of(classes, scores)
        metrics: dict[str, float] = {}
        if table.labels is not None:
            metrics = metrics_of_scores(classes, scores, labels_of(table, classes))
        return Predictions(classes, answers, probabilities, table.ids, ignored, metrics, notes)
