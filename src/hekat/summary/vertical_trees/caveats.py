"""What a reader of a report on trees across columns has to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.job.vertical_trees.job_file import TreesJob
from hekat.summary.vertical.caveats import (
    ROWS_JOINED,
    caveats_on_labels,
    caveats_on_matching,
    caveats_on_measuring,
    caveats_on_resuming,
    caveats_on_tables,
    caveats_on_trust,
)
from hekat.summary.vertical_trees.finished_run import FinishedTreesRun


def list_trees_caveats(run: FinishedTreesRun, *, compares_centralised: bool = False) -> list[str]:
    """The caveats of a finished run; `compares_centralised`: it was held against training on the joined rows."""
    return [
        *caveats_on_trust(run.job),
        *_who_learns_what(run.job),
        *caveats_on_matching(run.job),
        *caveats_on_tables(run),
        *([ROWS_JOINED] if compares_centralised else []),
        *caveats_on_resuming(run, "iteration"),
        *caveats_on_measuring(run),
    ]


def _who_learns_what(job: TreesJob) -> Iterator[str]:
    settings, least = job.settings, job.settings.training.min_samples_leaf
    if settings.protection == "none":
        yield "protection is NONE: the guest sent gradients, which give labels away, in the clear"
    yield (
        f"{settings.guest} learned sums of its gradients over the rows of bins of hosts' columns, and knows every "
        "gradient: each sum is an equation on which rows are in a bin"
    )
    yield from caveats_on_labels(job)
    if settings.bin_leak_accepted is not None:
        yield f"the job accepts that {settings.bin_leak_accepted}"
    if settings.hide_partition:
        yield (
            f"hosts did not see which rows a node has, and so could not join bins there: {settings.guest} opened sums "
            f"of fewer than {least:,} rows too"
        )
    else:
        yield (
            f"sums of a column in one tree, however added and subtracted, are of {least:,} rows or more; hosts saw the "
            "rows of every node, which tell of labels (protection.hide_partition keeps them from that)"
        )
    if settings.label_party_first_trees:
        yield f"the first {settings.label_party_first_trees:,} iterations used columns of {settings.guest} alone"
    yield "a joint prediction tells the guest the side of every split of a host that a row may reach, and no threshold"
    yield "predicted rows are counted against policy.max_predictions of the site"
