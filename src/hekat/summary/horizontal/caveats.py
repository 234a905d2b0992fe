"""What a reader of a run's report has to keep in mind: whom to trust, and how the figures came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hekat.engine.select import get_engine
from hekat.engine.tenancy import PLAIN_TABLES
from hekat.first_few import first_few
from hekat.job.horizontal.colluders import say_colluders
from hekat.job.horizontal.job_file import Job
from hekat.job.party_keys import caveats_on_keys
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.validation import scored_classes
from hekat.protocol.secure_sum.masked.draw_members import OLDER_COMMITTEE
from hekat.protocol.secure_sum.masked.opening.opening_schemes import committee_of, members_for_sizes, needs_draw
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED
from hekat.state.file_format import this_release
from hekat.summary.horizontal.finished_run import FinishedRun
from hekat.summary.horizontal.role_result import TableFacts
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
    older_committee = any(result.keeps_older_committee for result in results)
    caveats = [*_whom_to_trust(settings, older_committee=older_committee), *caveats_on_keys(job.party_keys)]
    caveats += next((result.model_caveats for result in results if result.model_caveats), ())
    if settings.protection == "lattice" and any(result.records_with_run for result in results):
        caveats.append(
            "one machine plays all roles, and holds every update anyway: upload numbers and records of releases lie in "
            "the run's folder, in state/, and another run knows nothing of them; between machines each party keeps its "
            "own (state under [party.NAME] of its site file)"
        )
    caveats += _what_operators_allowed(run)
    caveats += _what_samples_tell(settings)
    caveats += _what_was_done_to_rows(job, run, test_table)
    caveats += _what_sums_tell_of_columns(run)
    caveats += _what_metrics_are_of(test_table)
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
    for party, missing in sorted((result.role, result.not_compared) for result in results if result.not_compared):
        caveats.append(f"{party} did not compare its final model with {', '.join(missing)}: nothing came from it")
    if len(settings.parties) == 2:
        caveats.append("with two parties each learns the other's update from every sum")
    return caveats


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


def _what_operators_allowed(run: FinishedRun) -> Iterator[str]:
    for role, result in run.results.items():
        if result.other_sums_accepted:
            yield f"by the word of {role}'s operator this job may sum other parties than before: {OTHER_SUMS_ACCEPTED}"


def _what_was_done_to_rows(job: Job, run: FinishedRun, test_table: TableFacts | None) -> Iterator[str]:
    tables = {name: result.table for name, result in run.results.items()} | {"the test data": test_table}
    for name, table in tables.items():
        if table is None:
            continue
        yield from (f"{name}: {note}" for note in table.notes)
        if table.has_one_class:
            yield f"{name}: all rows are of one class"
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


def _what_metrics_are_of(test_table: TableFacts | None) -> Iterator[str]:
    if test_table is not None:
        yield from caveats_on_test_rows(test_table.rows, test_table.trained_on)


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


def _what_samples_tell(settings: HorizontalSettings) -> Iterator[str]:
    if settings.sample_size < len(settings.parties):
        yield (
            f"each round had the updates of {settings.sample_size} of {len(settings.parties)} parties, drawn from the "
            "job's digest; sums over changing parties tell more of each than sums over all: after some rounds every "
            "party can work out how many rows each other one has, and about what it sends where updates change little"
        )


def _whom_to_trust(settings: HorizontalSettings, *, older_committee: bool) -> Iterator[str]:
    if settings.protection == "none":
        yield "protection is NONE: the aggregator saw every party's update in the clear"
    elif settings.protection == "paillier":
        yield (
            "all parties share one Paillier private key: a party that obtains another's ciphertext can open it, "
            "so parties trust each other not to work with the aggregator"
        )
        if get_engine().single_tenant:
            yield f"randomiser tables: {PLAIN_TABLES}; this machine's owner says that nobody else's code runs on it"
        if settings.key_bits < 3072:
            yield f"a {settings.key_bits}-bit key gives about 112-bit security; 3072 bits give 128"
    else:
        yield _who_opens(settings)
        if older_committee:
            yield OLDER_COMMITTEE
        yield (
            "protection 'lattice' has had no review from outside yet: "
            "docs/explanation/security.md says what it rests on"
        )


def _who_opens(settings: HorizontalSettings) -> str:
    if settings.opening == "authority":
        return (
            f"the key authority {settings.authority} opens the sums and could open every single update as well, if it "
            "works with the aggregator; parties hold no key"
        )
    if settings.opening == "shared":
        return (
            "all parties share one key: a party that obtains another's upload can open it, so parties trust each "
            "other not to work with the aggregator"
        )
    committee = committee_of(settings.sums, members_for_sizes(settings.sums))
    members, threshold = len(committee.members), committee.threshold
    drawn = f" of {len(settings.parties)} parties" if needs_draw(settings.sums) else ""
    return (
        f"no key opens an update: {threshold} of {members} committee members{drawn} open each sum, of at least "
        f"{committee.least_included} parties; {members - threshold or 'none'} of them may be lost. This holds against "
        f"the aggregator {say_colluders(settings.sums)}"
    )
