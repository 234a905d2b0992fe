"""Joint prediction by one party at its own site, with its own part of a model on columns and its own rows."""

from __future__ import annotations

from pathlib import Path

from hekat.job.policy.enforce import AskingJob, enforce
from hekat.job.policy.exact_sums import record_waiver
from hekat.launch.prediction_role import LoadedPrediction, TrainedRole
from hekat.launch.vertical.predict import (
    PREDICTION,
    JointPredictions,
    P,
    PredictionWay,
    about,
    answer_of,
    load_new_rows,
    policy_checks,
)
from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.matching import Matching
from hekat.run.vertical.prediction_count import PredictionCount


def load_prediction(way: PredictionWay[P], trained: TrainedRole, data_name: str) -> LoadedPrediction:
    """Load the rows that the party calls `data_name` and check them against its site; `way` has its part alone.

    Rows are matched as the training rows were, and counted here before anything of them leaves (`PredictionCount`).
    Raises InputError or JobError for data that is not there or does not fit, PolicyError where the site allows no such
    prediction, or no more of them.
    """
    role, site, one = trained.role, trained.site, way.first
    digest = trained.digest_of(about(way, data_name))
    enforce(site, AskingJob(PREDICTION, digest, (role,)), policy_checks(way, site, data_name))
    tables, ignored = load_new_rows(site, data_name, way.saved)
    table = tables[role]
    way.prepare()
    count = PredictionCount.of(site, trained.run_folder, one.part)
    # How many of the rows are common shows later.
    count.check(len(table) if one.matching is None else 1)

    def play(folder: Path, channel: RecordedChannel, stopwatch: Stopwatch) -> JointPredictions:
        record_waiver(channel.ledger, table)
        matching = Matching(one.matching, stopwatch, Stopwatch())
        scores, matched = way.predict(channel, role, table, matching, count.add)
        found = {} if scores is None else {role: answer_of(way, role, table, matched, scores, ignored[role])}
        return JointPredictions(folder, found, {role: len(table)}, len(matched.table))

    return LoadedPrediction(trained, (one.part.guest, *one.part.hosts), digest, way.protocol, play)
