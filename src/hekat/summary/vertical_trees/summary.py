"""What a training of trees across columns found, as the plain tables of summary.json."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.job.vertical_trees.job_file import PROTOCOL
from hekat.protocol.vertical_trees.timing_labels import PARTS
from hekat.summary.convergence import describe_convergence
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import Played, facts_of_run
from hekat.summary.trees.drawn_facts import importance_tables, tree_tables
from hekat.summary.vertical.facts import (
    count_bytes,
    count_test_rows,
    count_trained_on,
    describe_parties,
    describe_test_match,
    describe_training_match,
    seconds_by_part,
    sum_seconds,
)
from hekat.summary.vertical_trees.caveats import list_trees_caveats
from hekat.summary.vertical_trees.described_settings import describe_trees_settings
from hekat.summary.vertical_trees.finished_run import FinishedTreesRun
from hekat.summary.vertical_trees.summary_shape import Compared, Result, TreesSummary


def summarise_trees(
    run: FinishedTreesRun,
    run_id: str,
    *,
    views: Sequence[PartyView],
    compared: Compared | None = None,
    compared_results: Sequence[Result] = (),
    more_caveats: Sequence[str] = (),
    played: Played = "in turn",
) -> TreesSummary:
    """The whole of summary.json, of the roles whose results are known here.

    `compared` and `compared_results` are of centralised training, where that was compared.
    """
    job, settings, iterations = run.job, run.job.settings, run.iterations
    is_plain = settings.protection == "none"
    own_result = Result(
        name="plain trees" if is_plain else "encrypted trees",
        kind="plain" if is_plain else "encrypted",
        metrics={} if run.guest is None else run.guest.metrics,
    )
    test_rows = count_test_rows(run)
    last = iterations[-1]["iteration"] if iterations else 0
    stopped_early = last < settings.training.max_iter
    return TreesSummary(
        **facts_of_run(run_id, job.name, job.digest, played),
        protocol=PROTOCOL,
        settings=describe_trees_settings(job),
        parties=describe_parties(run),
        task="classification" if settings.classes is not None else "regression",
        test_rows=test_rows,
        test_rows_trained_on=count_trained_on(run),
        results=[own_result, *compared_results],
        compared=compared,
        intersection=describe_training_match(run),
        test_intersection=describe_test_match(run),
        prediction_receivers=[] if test_rows is None else list(job.prediction.receivers),
        started_from=None if run.narrator is None else run.narrator.started_from,
        iterations=iterations,
        stopped_early=stopped_early,
        convergence=describe_convergence(
            [one["loss"] for one in iterations if one["loss"] is not None], stopped_early=stopped_early
        ),
        importance=[] if run.guest is None else importance_tables(run.guest.importance),
        trees=[] if run.guest is None else tree_tables(run.guest.trees),
        seconds=sum_seconds(run),
        seconds_by_role={name: dict(found.seconds_by_step) for name, found in run.results.items()},
        seconds_by_part=seconds_by_part(run, PARTS),
        bytes=count_bytes(run, None),
        seen=list(views),
        notes=[*more_caveats, *list_trees_caveats(run, compares_centralised=compared is not None)],
    )
