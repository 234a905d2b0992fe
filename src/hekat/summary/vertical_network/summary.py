"""What a training of a split network found, as the plain tables of summary.json."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.job.vertical_network.job_file import PROTOCOL
from hekat.protocol.vertical_network.timing_labels import PARTS
from hekat.summary.convergence import describe_convergence
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import Played, facts_of_run
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
from hekat.summary.vertical_network.caveats import list_network_caveats
from hekat.summary.vertical_network.described_settings import describe_network_settings
from hekat.summary.vertical_network.finished_run import FinishedNetworkRun
from hekat.summary.vertical_network.summary_shape import Compared, NetworkSummary, Result


def summarise_network(
    run: FinishedNetworkRun,
    run_id: str,
    *,
    views: Sequence[PartyView],
    compared: Compared | None = None,
    compared_results: Sequence[Result] = (),
    more_caveats: Sequence[str] = (),
    played: Played = "in turn",
) -> NetworkSummary:
    """The whole of summary.json, of the roles whose results are known here.

    `compared` and `compared_results` are of centralised training, where that was compared.
    """
    job, settings, epochs = run.job, run.job.settings, run.epochs
    is_plain = settings.protection == "none"
    own_result = Result(
        name="plain split network" if is_plain else "encrypted split network",
        kind="plain" if is_plain else "encrypted",
        metrics={} if run.guest is None else run.guest.metrics,
    )
    test_rows = count_test_rows(run)
    last = epochs[-1]["epoch"] if epochs else 0
    stopped_early = last < settings.training.epochs
    return NetworkSummary(
        **facts_of_run(run_id, job.name, job.digest, played),
        protocol=PROTOCOL,
        settings=describe_network_settings(job),
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
        bottoms={name: found.bottom_kind for name, found in run.results.items() if found.bottom_kind is not None},
        bottom_code={name: found.bottom_code for name, found in run.results.items() if found.bottom_code},
        top=None if run.guest is None else run.guest.top_kind,
        top_code="" if run.guest is None else run.guest.top_code,
        shared_rate=run.shared_rate,
        epochs=epochs,
        stopped_early=stopped_early,
        convergence=describe_convergence(
            [one["loss"] for one in epochs if one["loss"] is not None], stopped_early=stopped_early
        ),
        learned=run.learned,
        seconds=sum_seconds(run),
        seconds_by_role={name: dict(found.seconds_by_step) for name, found in run.results.items()},
        seconds_by_part=seconds_by_part(run, PARTS),
        bytes=count_bytes(run, None),
        seen=list(views),
        notes=[*more_caveats, *list_network_caveats(run, compares_centralised=compared is not None)],
    )
