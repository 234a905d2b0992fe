"""The line of rows that have a privacy budget: no job opens exact sums of them, unless the site waives the budget."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from hekat.data import Table
from hekat.errors import PolicyError
from hekat.first_few import first_few
from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.load_any_job import AnyJob
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck
from hekat.job.psi.job_file import IntersectionJob
from hekat.job.site_file import Site
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.ledger import Ledger
from hekat.ledger.privacy.records import WAIVED_TEXT, record_waived

WAIVER_LINE: Final = "policy.budget_waiver"
_MOST_NAMES = 5
_NOTE = f"BUDGET WAIVED: {WAIVED_TEXT}"


def parties_summed_exactly(job: AnyJob | ColumnsJob) -> tuple[str, ...]:
    """The parties that the job sums rows of without noise, to open the sums or a model that follows from them.

    An intersection opens no sum of rows' values; it tells who is among the rows, which no budget bounds.
    """
    if isinstance(job, IntersectionJob) or (isinstance(job, (Job, RowTreesJob)) and job.settings.privacy is not None):
        return ()
    return job.settings.hosts if isinstance(job, EncryptedModelJob) else job.settings.parties


def on_budgets(site: Site, parties: Iterable[str], here: Collection[str] | None = None) -> PolicyCheck:
    """The line for `parties` whose rows are summed exactly; `here` are the roles that this machine plays, None for
    all."""
    bounded = [name for name in parties if (here is None or name in here) and _has_budget(site, name)]

    def check() -> None:
        if bounded and not site.policy.budget_waiver:
            raise PolicyError(
                f"the rows of {first_few(bounded, _MOST_NAMES)} have a privacy budget, and this is without noise",
                expected=f"a job with [privacy] (horizontal or horizontal_trees), or {WAIVER_LINE} = true (what the "
                "budget promises of these rows then no longer holds)",
                got="exact sums, scores or weights of these rows",
                cure=f"add [privacy] to the job, or let the site's owner set {WAIVER_LINE}",
            )

    return PolicyCheck(
        WAIVER_LINE,
        "exact sums of rows that have a privacy budget" if bounded else APPLIES_NOT,
        "yes" if site.policy.budget_waiver else "no",
        check,
    )


def with_note_on_budget(site: Site, job: AnyJob | ColumnsJob, party: str, table: Table) -> Table:
    """`table` of `party` with a note where this job is one that the site waives its budget for."""
    return with_note_on_scores(site, party, table) if party in parties_summed_exactly(job) else table


def with_note_on_scores(site: Site, party: str, table: Table) -> Table:
    """`table` of `party`, whose exact sums or scores open, with a note where it has a budget, which its site waives."""
    if not _has_budget(site, party):
        return table
    return replace(table, notes=(*table.notes, _NOTE), budget_waived=True)


def record_waiver(ledger: Ledger, table: Table | None) -> None:
    """Write into a role's ledger that the site waived the budget of its rows, if it did. Raises StateError."""
    if table is not None and table.budget_waived:
        record_waived(ledger)


def record_waiver_at(ledger: Ledger, site: Site, party: str) -> None:
    """As `record_waiver`, where exact sums or scores of rows of `party` open that Hekat has no table of: an app's, or a
    model's. The site's leave was asked for before. Raises StateError."""
    if _has_budget(site, party):
        record_waived(ledger)


def _has_budget(site: Site, party: str) -> bool:
    held = site.parties.get(party)
    return held is not None and held.privacy is not None
