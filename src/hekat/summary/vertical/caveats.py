"""What a reader of any run on columns has to keep in mind: whom to trust, which rows, and how figures came about."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from hekat.job.party_keys import caveats_on_keys
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.state.file_format import this_release
from hekat.summary.test_rows import caveats_on_test_rows
from hekat.summary.vertical.finished_run import FinishedColumnsRun

ROWS_JOINED: Final = "the rows of all parties were put together inside this process, by the site's leave, to compare"
Run = FinishedColumnsRun[Any]


def caveats_on_trust(job: ColumnsJob) -> Iterator[str]:
    """Whom the protocol trusts, and with which keys."""
    yield "parties are trusted to follow the protocol; it protects what they send, not what they may make up"
    yield from caveats_on_keys(job.party_keys)


def caveats_on_matching(job: ColumnsJob) -> Iterator[str]:
    """What matching rows told whom."""
    if job.intersection is None:
        yield "rows were taken to be of the same people in the same order at all parties: nothing was compared"
        return
    yield "every party learned which of its rows all parties have"
    if len(job.settings.hosts) > 1:
        yield f"{job.settings.guest} also learned which of its rows each single host has"


def caveats_on_labels(job: ColumnsJob) -> Iterator[str]:
    """What replaced labels bound, and what they do not; nothing without label privacy."""
    settings = job.settings
    if settings.label_privacy is None:
        return
    best = 1 / (1 + math.exp(-settings.label_privacy))
    yield (
        f"labels were replaced once by chance (epsilon {settings.label_privacy:g}): no attack of "
        f"{' and '.join(settings.hosts)} tells classes apart with an AUC above {best:.3f} beyond what features tell"
    )


def caveats_on_tables(run: Run) -> Iterator[str]:
    """What was done to tables when they were read, and what training told each party's user."""
    for name, found in run.results.items():
        for note in () if found.table is None else found.table.notes:
            yield f"{name}: {note}"
        yield from (f"{name}: {line}" for line in found.warnings)


def caveats_on_resuming(run: Run, word: str) -> Iterator[str]:
    """What a resumed run went on from; `word` is what its steps are called."""
    resumed = None if run.narrator is None else run.narrator.resumed
    if resumed is None:
        return
    yield (
        f"the run goes on from {word} {resumed.epochs_done} of an earlier one; times and bytes are of this part alone"
    )
    others = [release for release in resumed.releases if release != this_release()]
    if others:
        yield f"an earlier part was trained by hekat {', '.join(others)}"


def caveats_on_measuring(run: Run) -> Iterator[str]:
    """Which rows metrics are of."""
    job, matches = run.columns_job, run.matches
    if len(matches) < 2:
        return
    if job.hold_out:
        yield (
            f"{matches[1].common:,} of the {matches[0].common:,} common rows were held out: training did not see them, "
            "and metrics are of these"
        )
    guest_table = None if run.guest is None else run.guest.table
    if guest_table is None:
        return
    if matches[1].common < (guest_table.test_rows or 0):
        yield "metrics are of those test rows that all parties have"
    yield from caveats_on_test_rows(matches[1].common, guest_table.test_rows_trained_on)
