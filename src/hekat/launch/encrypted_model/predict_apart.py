"""Joint scores by a model that nobody reads, one role at its own site with what it keeps of the model."""

from __future__ import annotations

from pathlib import Path

from hekat.errors import InputError
from hekat.job.encrypted_model.job_file import PROTOCOL
from hekat.job.policy.enforce import AskingJob, enforce
from hekat.job.policy.exact_sums import record_waiver_at
from hekat.job.site_file import find_source
from hekat.launch.encrypted_model.predict import (
    ASKING,
    about,
    answers,
    checks_of_rows,
    play_role,
    policy_checks,
)
from hekat.launch.prediction_role import LoadedPrediction, TrainedRole
from hekat.launch.vertical.predict import JointPredictions
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.prediction.settings import PredictionSettings, usual_rows
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.encrypted_model.kept_part import load_kept_part
from hekat.run.encrypted_model.kept_parts import ModelColumns
from hekat.run.horizontal.predict import load_rows_of_model
from hekat.run.vertical.prediction_count import PredictionCount


def load_scoring(trained: TrainedRole, data_name: str, asker: str, receiver: str | None = None) -> LoadedPrediction:
    """Load what the role needs to have rows of host `asker` scored, which it calls `data_name`; `receiver`, a host
    (None: the asker), learns the scores.

    The asker, arbiter and aggregator count rows, each by the limit of its own site, before anything of them leaves.
    Raises StateError where the role's part is missing, InputError for a role that takes no part or for rows that do not
    fit, PolicyError where the site allows no such prediction, or no more of them.
    """
    role, site = trained.role, trained.site
    part = load_kept_part(trained.run_folder, role)
    # A limit of 0 is refused where rows are counted, by the line of the site.
    settings = PredictionSettings(part.settings, asker, receiver, site.policy.max_predictions or None)
    if role not in settings.everyone:
        raise InputError(
            f"{role} takes no part in this prediction",
            expected=f"one of {', '.join(settings.everyone)}",
            got=role,
            cure="correct --role, --party or --receivers",
        )
    digest = trained.digest_of(about(part, data_name, settings))
    is_asker = role == asker
    columns = ModelColumns.of(part) if is_asker else None
    is_host = role in part.settings.hosts
    checks = policy_checks(site, [role] if is_host else [])
    if columns is not None:
        checks += checks_of_rows(site, data_name, asker, columns)
    enforce(site, AskingJob(ASKING, digest, (role,)), checks)
    table, ignored = None, tuple[str, ...]()
    if columns is not None:
        table, ignored = load_rows_of_model(columns, find_source(site, asker, data_name), site.folder)
    counts_rows = is_asker or part.held is not None
    count = PredictionCount.of(site, trained.run_folder, part.counted, usual=usual_rows(part.column_count))
    if counts_rows:
        count.check(1 if table is None else len(table))

    def play(folder: Path, channel: RecordedChannel, stopwatch: Stopwatch) -> JointPredictions:
        told = []
        if is_host:
            record_waiver_at(channel.ledger, site, role)

        def count_rows(row_count: int) -> None:
            if counts_rows:
                count.add(row_count)
            told.append(row_count)

        run = EncryptedModelRun(stopwatch, count_predictions=count_rows)
        scores = play_role(channel, part, table, settings, run)
        if scores is None:
            return JointPredictions(folder, {}, {}, sum(told))
        found = answers(settings, scores, table, ignored)
        return JointPredictions(folder, {role: found}, {}, len(scores))

    return LoadedPrediction(trained, settings.everyone, digest, PROTOCOL, play)
