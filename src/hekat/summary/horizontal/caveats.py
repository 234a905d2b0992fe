"""What a reader of a run's report has to keep in mind: whom to trust, and how the figures came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hekat.first_few import first_few
from hekat.job.horizontal.colluders import colluders_borne
from hekat.job.horizontal.job_file import Job
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.validation import scored_classes
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.state.file_format import this_release
from hekat.summary.horizontal.caveats_on_sums import (
    caveats_on_records,
    caveats_on_tables,
    caveats_on_the_end,
    caveats_on_trust,
)
from hekat.summary.horizontal.finished_run import FinishedRun
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.test_rows import caveats_on_test_rows

# With fewer held-out rows than that for each party, sums over them are said to be small.
FEW_ROWS_PER_PARTY = 20
# A caveat names at most so many columns.
MOST_NAMED = 5


def list_caveats(
    job: Job,
    run: FinishedRun,
    test_table: TableFacts | None = None,
    *,
    compares_plain: bool = False,
    compares_bits: bool = False,
) -> list[str]:
    """The caveats of a finished run of the job; where it has checks, its sums were compared with sums of floats.

    `compares_plain`, `compares_bits`: the job was trained in the clear, or at other bits per value, as well.
    """
    settings, results = job.settings, run.results.values()
    caveats = [*caveats_on_trust(job, run.results)]
    caveats += next((result.model_caveats for result in results if result.model_caveats), ())
    caveats += caveats_on_records(settings, run.results)
    caveats += _what_bounds_updates(settings, run)
    caveats += _what_samples_tell(settings)
    caveats += [settings.training.kept.describe()] if settings.training.kept.is_on else []
    caveats += _what_was_done_to_rows(job, run, test_table)
    caveats += _what_sums_tell_of_columns(run)
    caveats += [] if test_table is None else caveats_on_test_rows(test_table.rows, test_table.trained_on)
    caveats += _what_validation_tells(run)
    caveats += _what_folds_tell(run)
    caveats += _what_was_compared(run, compares_plain=compares_plain, compares_bits=compares_bits)
    if run.resumed_after is not None:
        caveats.append(
            f"resumed after round {run.resumed_after}: rounds, seconds, bytes and clipped values of the {run.name} "
            "run count only the rounds after it"
        )
    earlier = [release for release in run.releases if release != this_release()]
    if earlier:
        caveats.append(f"begun by hekat {', then resumed by '.join(earlier)}, and ended by hekat {this_release()}")
    for party, result in run.results.items():
        if result.to_leave_in is not None and result.trained is not None:
            caveats.append(f"{party} was to be lost in round {result.to_leave_in}, and training ended before that")
    return [*caveats, *caveats_on_the_end(settings, run.results)]


def _what_was_compared(run: FinishedRun, *, compares_plain: bool, compares_bits: bool) -> Iterator[str]:
    if compares_plain:
        yield "the plain comparison sent updates unencrypted, inside this process only, by the site's leave"
    if compares_bits:
        yield (
            "what is shown at other bits per value was trained inside this process only, with no party left out: "
            "between machines, sums of the same rows with and without a party would tell that party's updates"
        )
    if run.checks is not None:
        yield "float updates of all parties were compared inside this process to check the stated bound"


def _what_was_done_to_rows(job: Job, run: FinishedRun, test_table: TableFacts | None) -> Iterator[str]:
    yield from caveats_on_tables(run.results, test_table)
    if job.sparse and job.settings.training.standardise:
        yield "sparse rows are scaled by the spread of each column and not centred, so that zeros stay zeros"


def _what_sums_tell_of_columns(run: FinishedRun) -> Iterator[str]:
    for role, result in run.results.items():
        if result.columns_apart:
            yield (
                f"{role}: {_name_columns(result.columns_apart)} values beside the values of all other parties, with "
                "hardly a row in common: look for another unit, or another meaning"
            )
    found = run.finisher
    if found is None:
        return
    if found.constant_columns:
        yield (
            f"{_name_columns(found.constant_columns)} one value in every row of all parties: no model learns from "
            "that; name such columns under ignore"
        )
    if found.dominated_columns:
        yield (
            f"{_name_columns(found.dominated_columns)} a fifth or more of its variance in a single row, over all "
            "parties: look for a cell of another unit or a slip of the pen; each site's own notes name its cells"
        )


def _name_columns(columns: Sequence[str]) -> str:
    names = first_few([*map(repr, columns)], MOST_NAMED)
    return f"columns {names} each hold" if len(columns) > 1 else f"column {names} holds"


def _what_validation_tells(run: FinishedRun) -> Iterator[str]:
    settings = run.settings
    held_out = [result.table.held_out for result in run.results.values() if result.table and result.table.held_out]
    if not held_out:
        return
    count, scored = sum(held_out), scored_classes(settings)
    yield (
        f"{count:,} rows of {len(held_out)} parties were held out of training; from each sum all parties learn how "
        f"many rows of all parties it is of, {'how many are right, ' if settings.classes else ''}and their loss"
        + (", and for each class how many rows, and how many others, lie in each bin of its scores" if scored else "")
        + ("" if settings.classes else "; from the last one also the mean and the spread of their labels")
    )
    if count < FEW_ROWS_PER_PARTY * len(held_out):
        yield (
            f"fewer than {FEW_ROWS_PER_PARTY} held-out rows a party: such sums tell something of single rows, and are "
            "a rough measure of the model"
        )


def _what_folds_tell(run: FinishedRun) -> Iterator[str]:
    settings, folds = run.settings, run.settings.validation.folds
    if not folds:
        return
    scored = scored_classes(settings)
    yield (
        f"each party's rows were cut into {folds} folds, and {folds} models more were trained, each without one fold: "
        "from the sums of all parties everybody learns these models too, and what all parties' rows of a fold add to a "
        "sum; of each fold the loss"
        + (", how many rows are right" if settings.classes else ", the mean and the spread of labels")
        + (", and how many rows of each class lie in each bin of scores" if scored else "")
    )
    least = min((result.table.rows // folds for result in run.results.values() if result.table), default=None)
    if least is not None and least < FEW_ROWS_PER_PARTY:
        yield (
            f"a fold has fewer than {FEW_ROWS_PER_PARTY} rows of a party: parties that work together against it learn "
            "sums over so few rows"
        )


def _what_bounds_updates(settings: HorizontalSettings, run: FinishedRun) -> Iterator[str]:
    most, training = settings.codec.max_norm, settings.training
    if settings.privacy is not None:
        yield from _what_noise_leaves(settings, settings.privacy)
        return
    if not most:
        cure = "" if training.searches_line or training.has_control else " (codec.max_norm would bound it)"
        yield f"nothing bounds the length of one party's update{cure}: clipping is each party's own word"
        return
    scaled = sum(record.scaled_down_count for record in run.records)
    sent = sum(record.party_count for record in run.records)
    yield (
        f"{scaled:,} of {sent:,} updates were longer than codec.max_norm = {most:g} and were scaled down to it; no mean"
        " longer than honest updates make it was used"
    )


def _what_noise_leaves(settings: HorizontalSettings, privacy: PrivacySettings) -> Iterator[str]:
    yield (
        "that terms were clipped and noise was added is each party's own word: nobody proves it, and a party that adds "
        "none counts among the colluders (privacy.colluders)"
    )
    yield (
        "epsilon does not cover what is public: how many rows each party has, columns, and who was in which round; nor "
        "the rows of the test data"
    )
    colluders = privacy.colluders_of(least_parties(settings.sums, settings.sample_size))
    _, members = colluders_borne(settings.sums)
    if colluders > members:
        yield (
            f"t_c = {colluders} holds while these parties do not work with the aggregator: together with it more than "
            f"{members} committee members open single updates, and one update bears its own share of the noise alone"
        )
    if privacy.unit == "row":
        yield "epsilon is of one row: somebody who is in several rows is protected the less"


def _what_samples_tell(settings: HorizontalSettings) -> Iterator[str]:
    if settings.sample_size < len(settings.parties):
        yield (
            f"each round had the updates of {settings.sample_size} of {len(settings.parties)} parties, drawn from the "
            "job's digest; sums over changing parties tell more of each than sums over all: after some rounds every "
            "party can work out how many rows each other one has, and about what it sends where updates change little"
        )
