"""What a reader of a report keeps in mind of every run on rows: whom to trust, where records lie, notes on rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hekat.engine.select import get_engine
from hekat.engine.tenancy import PLAIN_TABLES
from hekat.job.horizontal.colluders import say_colluders
from hekat.job.party_keys import caveats_on_keys
from hekat.job.rows.rows_job import RowsJob, RowsSettings
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.secure_sum.masked.draw_members import OLDER_COMMITTEE
from hekat.protocol.secure_sum.masked.opening.opening_schemes import committee_of, members_for_sizes, needs_draw
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED
from hekat.summary.horizontal.role_result import RowsResult
from hekat.summary.horizontal.table_facts import TableFacts

Results = Mapping[str, RowsResult]


CLEAR_PART = (
    "an attacker fits rows to them, and a mask of a tenth does not keep a picture from that; full masking costs fewer "
    "bytes than float32: docs/how_to/sensitivity.md"
)


def caveats_on_trust(job: RowsJob, results: Results) -> Iterator[str]:
    """Who could open what, and whose keys sign."""
    older_committee = any(result.keeps_older_committee for result in results.values())
    yield from _whom_to_trust(job.settings, older_committee=older_committee)
    yield from caveats_on_keys(job.party_keys)


def caveats_on_records(settings: RowsSettings, results: Results) -> Iterator[str]:
    """Where records of releases lie, and what operators allowed."""
    if settings.protection == "lattice" and any(result.records_with_run for result in results.values()):
        yield (
            "one machine plays all roles, and holds every update anyway: upload numbers and records of releases lie in "
            "the run's folder, in state/, and another run knows nothing of them; between machines each party keeps its "
            "own (state under [party.NAME] of its site file)"
        )
    for role, result in results.items():
        if result.other_sums_accepted:
            yield f"by the word of {role}'s operator this job may sum other parties than before: {OTHER_SUMS_ACCEPTED}"


def caveats_on_tables(results: Results, test_table: TableFacts | None) -> Iterator[str]:
    """What was noted as tables were loaded."""
    tables = {name: result.table for name, result in results.items()} | {"the test data": test_table}
    for name, table in tables.items():
        if table is None:
            continue
        yield from (f"{name}: {note}" for note in table.notes)
        if table.has_one_class:
            yield f"{name}: all rows are of one class"


def caveats_on_the_end(settings: RowsSettings, results: Results) -> Iterator[str]:
    """With whom final models were not compared, and what two parties learn of each other."""
    found = results.values()
    for party, missing in sorted((result.role, result.not_compared) for result in found if result.not_compared):
        yield f"{party} did not compare its final model with {', '.join(missing)}: nothing came from it"
    if len(settings.parties) == 2:
        what = "update" if isinstance(settings, HorizontalSettings) else "part"
        yield f"with two parties each learns the other's {what} from every sum"


def _whom_to_trust(settings: RowsSettings, *, older_committee: bool) -> Iterator[str]:
    if settings.protection == "none":
        what = "update" if isinstance(settings, HorizontalSettings) else "histograms"
        yield f"protection is NONE: the aggregator saw every party's {what} in the clear"
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
        if isinstance(settings, HorizontalSettings) and settings.selective is not None:
            yield f"{settings.selective.in_words}: {CLEAR_PART}"
        yield who_opens(settings)
        if older_committee:
            yield OLDER_COMMITTEE
        yield (
            "protection 'lattice' has had no review from outside yet: "
            "docs/explanation/security.md says what it rests on"
        )


def who_opens(settings: RowsSettings) -> str:
    """Who could open a single update under `lattice`."""
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
