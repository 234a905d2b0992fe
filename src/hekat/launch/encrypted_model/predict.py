"""Joint scores by a model in two shares: a host's rows, told to one host; nobody reads the model.

What it leaves behind lies in the run's folder, under predictions/ID/: every role's ledger, the keys that these are
audited by, and nothing of what was predicted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hekat.channel import Channel
from hekat.data import Table
from hekat.data.columns.encode import notes_of_cells
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PolicyError
from hekat.job.encrypted_model.job_file import PROTOCOL
from hekat.job.job_head import TIMEOUT_S_PER_PARTY
from hekat.job.policy.column_checks import checks_of_columns
from hekat.job.policy.enforce import AskingJob, enforce
from hekat.job.policy.exact_sums import on_budgets, record_waiver_at
from hekat.job.policy.job_limits import check_protocol, say_names
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.policy.shared_checks import check_has_tables
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import Site, find_source
from hekat.job.vertical_linear.site_check import check_score_bits
from hekat.launch.vertical.predict import PREDICTIONS_FOLDER, JointPredictions
from hekat.ledger import RecordedChannel
from hekat.model.answers import answers_of
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.prediction.predict import (
    ask_scores,
    receive_scores,
    serve_as_aggregator,
    serve_as_arbiter,
)
from hekat.protocol.encrypted_model.prediction.settings import SCORE_BITS, PredictionSettings, usual_rows
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession
from hekat.run.encrypted_model.kept_part import KeptPart
from hekat.run.encrypted_model.kept_parts import ModelColumns, load_kept_parts, settings_of
from hekat.run.horizontal.predict import load_rows_of_model
from hekat.run.load_keys import load_party_keys
from hekat.run.predictions import Predictions
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.state import create_run_directory
from hekat.summary.metrics_of_outputs import metrics_of_outputs

ASKING = "scores by an encrypted model"
_PROTECTION = "lattice"
FloatArray = npt.NDArray[np.float64]


def score_jointly(
    run_folder: Path, site: Site, data_name: str, asker: str, receiver: str | None = None
) -> JointPredictions:
    """Score the rows that host `asker` calls `data_name`, all roles on this machine; `receiver`, a host (None: the
    asker), learns each score to 2^-12, in a regression in spreads of the label.

    Asker, arbiter and aggregator count rows at their sites, over all predictions by the model: no more than
    `policy.max_predictions`, or than half the model's columns where the site says nothing. Columns that the model does
    not know are ignored. Raises StateError where parts are missing or of another model, InputError or JobError for rows
    that do not fit, PolicyError where a site allows no such prediction, PartyStoppedError where a role failed.
    """
    training = settings_of(run_folder)
    # A limit of 0 is refused where rows are counted, by the line of the site.
    settings = PredictionSettings(training, asker, receiver, site.policy.max_predictions or None)
    parts = load_kept_parts(run_folder, settings.everyone)
    digest = hashlib.sha256(repr(about(parts[asker], data_name, settings)).encode()).digest()
    columns = ModelColumns.of(parts[asker])
    checks = [*policy_checks(site, training.hosts), *checks_of_rows(site, data_name, asker, columns)]
    enforce(site, AskingJob(ASKING, digest, settings.everyone), checks)
    check_has_tables(site, [asker])
    table, ignored = load_rows_of_model(columns, find_source(site, asker, data_name), site.folder)
    counts = {
        role: PredictionCount.of(site, run_folder, part.counted, usual=usual_rows(part.column_count))
        for role, part in parts.items()
        if role in (asker, training.arbiter, training.aggregator)
    }
    for count in counts.values():
        count.check(len(table))
    with declare_tenancy(site.machine.single_tenant):
        folder, scores = _play(settings, parts, table, counts, run_folder, site, digest)
    found = answers(settings, scores, table if settings.receiver_name == asker else None, ignored)
    return JointPredictions(folder, {settings.receiver_name: found}, {asker: len(table)}, len(table))


def about(part: KeptPart, data_name: str, settings: PredictionSettings) -> tuple[object, ...]:
    """What all roles of a prediction say of it alike; how many rows may be scored each site says for itself."""
    return part.model_id, data_name, settings.asker, settings.receiver_name


def answers(
    settings: PredictionSettings, scores: FloatArray, own: Table | None, ignored: tuple[str, ...]
) -> Predictions:
    """The receiver's answers; `own` are its rows where it asked, None where it is told scores alone, in the order of
    the asker's rows."""
    classes = settings.training.classes
    found, probabilities = answers_of(classes, scores)
    return Predictions(
        classes=classes,
        answers=found,
        probabilities=probabilities,
        ids=None if own is None else own.ids,
        ignored=ignored,
        metrics={} if own is None or own.labels is None else metrics_of_outputs(classes, scores, own.labels),
        notes=() if own is None else notes_of_cells(own),
    )


def policy_checks(site: Site, hosts: Iterable[str]) -> list[PolicyCheck]:
    """What the site says of a prediction, which has no job file: nothing of rounds. Scores tell of the model, and so of
    the rows of all `hosts` here that it was trained on, whoever asks for them."""
    policy = site.policy
    return [
        PolicyCheck(
            "policy.protocols", PROTOCOL, say_names(policy.protocols, "none"), lambda: check_protocol(policy, PROTOCOL)
        ),
        PolicyCheck(
            "policy.protections",
            _PROTECTION,
            say_names(policy.protections, "none at all"),
            lambda: _check_protections(policy),
        ),
        PolicyCheck(
            "policy.max_score_bits",
            f"{SCORE_BITS} bits",
            str(policy.max_score_bits),
            lambda: check_score_bits(policy, SCORE_BITS),
        ),
        on_budgets(site, hosts),
    ]


def checks_of_rows(site: Site, data_name: str, asker: str, columns: ModelColumns) -> list[PolicyCheck]:
    """What the site of `asker` says of its rows; columns that the model does not know are not read."""
    return checks_of_columns(site, [asker], data_name, only=columns.source_columns)


def _check_protections(policy: SitePolicy) -> None:
    """Raise PolicyError where the site does not allow what every joint score is protected by."""
    if _PROTECTION not in policy.protections:
        raise PolicyError(
            f"the site does not allow protection '{_PROTECTION}'",
            expected=say_names(policy.protections, "none at all"),
            got=f"scores by an encrypted model, which are under '{_PROTECTION}' whatever it was trained under",
            cure=f"let the site's owner add '{_PROTECTION}' to policy.protections",
        )


def _play(
    settings: PredictionSettings,
    parts: Mapping[str, KeptPart],
    table: Table,
    counts: Mapping[str, PredictionCount],
    run_folder: Path,
    site: Site,
    digest: bytes,
) -> tuple[Path, FloatArray]:
    """Run all roles in a new folder under the run's; the folder, and the receiver's scores (rows, K)."""
    names = settings.everyone
    directory = create_run_directory(run_folder / PREDICTIONS_FOLDER)
    ledgers = directory.path / LEDGER_FOLDER
    with disk_errors_as_state_errors(f"{ledgers} could not be made"):
        ledgers.mkdir()
    keys = session_keys(load_party_keys(site, names), names)
    write_public_keys(directory.path, keys)
    sessions = make_sessions(keys, run_id=directory.run_id, protocol=PROTOCOL, job_digest=digest, ledger_folder=ledgers)

    def role(name: str, session: RoleSession) -> Callable[[Channel], FloatArray | None]:
        def predict(channel: RecordedChannel) -> FloatArray | None:
            if name in settings.training.hosts:
                record_waiver_at(channel.ledger, site, name)
            count = counts[name].add if name in counts else lambda row_count: None
            run = EncryptedModelRun(session.stopwatch, count_predictions=count)
            return play_role(channel, parts[name], table if name == settings.asker else None, settings, run)

        return lambda channel: session.play(channel, predict, counts_rounds=False)

    found = play_in_process(
        {name: role(name, sessions[name]) for name in names}, timeout_s=TIMEOUT_S_PER_PARTY * len(names)
    )
    scores = found[settings.receiver_name]
    assert scores is not None  # the receiver's role ends with scores
    return directory.path, scores


def play_role(
    channel: RecordedChannel,
    part: KeptPart,
    table: Table | None,
    settings: PredictionSettings,
    run: EncryptedModelRun,
) -> FloatArray | None:
    """A role's scores where it is the receiver, else None."""
    if part.held is not None:
        serve = serve_as_arbiter if part.role == settings.training.arbiter else serve_as_aggregator
        serve(channel, part.held, settings, run)
        return None
    assert part.facts is not None  # a part has one of the two
    if table is not None:
        return ask_scores(channel, part.facts, table, settings, run)
    return receive_scores(channel, part.facts, settings)
