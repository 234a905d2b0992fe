"""What a reader of a report on trees across rows has to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings, describe_privacy
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.state.privacy_budget import Spent, least_colluders
from hekat.summary.horizontal.caveats import FEW_ROWS_PER_PARTY
from hekat.summary.horizontal.caveats_on_sums import (
    caveats_on_records,
    caveats_on_tables,
    caveats_on_the_end,
    caveats_on_trust,
)
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal_trees.finished_run import FinishedRowTreesRun
from hekat.summary.test_rows import caveats_on_test_rows


def list_row_trees_caveats(run: FinishedRowTreesRun, test_table: TableFacts | None) -> list[str]:
    """The caveats of a finished run."""
    job, settings = run.job, run.job.settings
    caveats = [
        *caveats_on_trust(job, run.results),
        *(_who_learns_what(job) if settings.privacy is None else _what_noise_bounds(run)),
        *caveats_on_records(settings, run.results),
        *caveats_on_tables(run.results, test_table),
        *([] if test_table is None else caveats_on_test_rows(test_table.rows, test_table.trained_on)),
        *_what_validation_tells(run),
    ]
    if run.resumed_after is not None:
        caveats.append(
            f"resumed after iteration {run.resumed_after}: seconds and bytes count only the iterations after it"
        )
    for party, result in run.results.items():
        if result.to_leave_in is not None and result.grown is not None:
            caveats.append(f"{party} was to be lost in iteration {result.to_leave_in}, and training ended before that")
    return [*caveats, *caveats_on_the_end(settings, run.results)]


def _who_learns_what(job: RowTreesJob) -> Iterator[str]:
    settings = job.settings
    yield (
        "every party learned counts of rows of all parties by cell and bin of each column, in each node that sums were "
        f"asked for; {settings.training.min_samples_leaf:,} rows bound a leaf, not a bin: a bin with one row says that "
        "some party has a row there, and what its label is"
    )
    if settings.sums.min_parties < len(settings.parties):
        yield (
            f"sums may be of {settings.sums.min_parties} of {len(settings.parties)} parties: the parties that go on "
            "without a lost one may learn its counts by subtraction"
        )


def say_asked_colluders(settings: HorizontalTreesSettings, spent: Spent) -> str:
    """The t_c that a party's site asks for at least, in words that follow what it spent; "" where it is the job's."""
    asked = least_colluders(spent.colluders, least_parties(settings.sums))
    return "" if asked == settings.leaf_noise.colluders else f", at a site that asks for t_c = {asked} or more"


def _what_noise_bounds(run: FinishedRowTreesRun) -> Iterator[str]:
    settings = run.job.settings
    assert settings.privacy is not None  # the caller's
    costs = [one.cost for one in run.finisher.iterations if one.cost is not None] if run.finisher is not None else []
    if costs:
        yield f"differential privacy of a row: {describe_privacy(settings, costs[-1].releases)}"
    for party, result in run.results.items():
        spent = next((one.cost.spent for one in reversed(result.iterations) if one.cost is not None), None)
        if spent is not None:
            yield (
                f"privacy budget of {party}: epsilon {spent.epsilon:.3g} of {spent.limit:g} spent, by "
                f"{spent.release_count:,} releases of all jobs{say_asked_colluders(settings, spent)}"
            )
    yield (
        "epsilon speaks of what parties and readers of the model learn of one row; not of column names, bounds and "
        "numbers of rows, and not of somebody who is in several rows; nobody proves that a party added its noise"
    )
    yield "no loss, count or score was summed: how good the model is shows on rows of one's own, or on test_data"


def _what_validation_tells(run: FinishedRowTreesRun) -> Iterator[str]:
    held_out = [result.table.held_out for result in run.results.values() if result.table and result.table.held_out]
    if not held_out:
        return
    count, classes = sum(held_out), run.job.settings.classes
    yield (
        f"{count:,} rows of {len(held_out)} parties were held out of training; before each iteration all parties learn "
        f"how many there are, {'how many are right, ' if classes else ''}and their loss"
        + (", and of the final model how many of each class lie in each bin of its scores" if classes else "")
    )
    if count < FEW_ROWS_PER_PARTY * len(held_out):
        yield (
            f"fewer than {FEW_ROWS_PER_PARTY} held-out rows a party: such sums tell something of single rows, and are "
            "a rough measure of the model"
        )
