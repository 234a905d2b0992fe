"""Refuses a job that asks a site for more than it allows, and has the refusal written to the site's ledger."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hekat.errors import HekatError, PolicyError
from hekat.job.policy.policy_check import PolicyCheck, Refusal, refusals_of, refuse_first
from hekat.job.site_file import Site


@dataclass(frozen=True)
class AskingJob:
    """The job that asks, and the roles of it that this site plays. `is_rehearsal`: a dry run, which writes
    nothing."""

    name: str
    digest: bytes
    roles: tuple[str, ...]
    is_rehearsal: bool = False


def enforce(site: Site, asking: AskingJob, checks: Iterable[PolicyCheck]) -> None:
    """Raise the first refusal among `checks`, once all are in the ledger of each role. Raises what else a check raises.

    A refusal that no ledger takes is a refusal still, and says so.
    """
    refusals = refusals_of(checks)
    if refusals:
        _note(refusals[0].error, site, asking, refusals)
    refuse_first(refusals)


@contextmanager
def recorded(site: Site, asking: AskingJob, line: str) -> Iterator[None]:
    """As `enforce`, of what is refused by `line` inside the block: for checks that need more than the job."""
    try:
        yield
    except PolicyError as error:
        _note(error, site, asking, [Refusal(line, error.got, error.expected, error)])
        raise


def _note(error: PolicyError, site: Site, asking: AskingJob, refusals: Sequence[Refusal]) -> None:
    if asking.is_rehearsal:
        return
    # Imported here: a ledger loads every kind of message, and most jobs are allowed.
    from hekat.job.policy.refusals_ledger import write_refusals
    from hekat.ledger.refusals import RefusedJob

    def line_of(role: str, refusal: Refusal) -> RefusedJob:
        return RefusedJob(asking.name, asking.digest.hex(), role, refusal.line, refusal.asked, refusal.allowed)

    missing: dict[str, str] = {}
    for role in asking.roles:
        held = site.parties.get(role)
        if held is None or held.state is None:
            missing[role] = "no state folder"
            continue
        try:
            write_refusals(held, held.state, role, [line_of(role, one) for one in refusals])
        except HekatError as failure:
            missing[role] = failure.what
    written = [role for role in asking.roles if role not in missing]
    if written:
        states = dict.fromkeys(shlex.quote(str(site.parties[role].state)) for role in written)
        audits = "; ".join(f"hekat audit {state}" for state in states)
        error.add_note(f"the refusal is in the ledger of {', '.join(written)}: {audits}")
    # A role that only adds need not stand in the site file; then the ledger of another role here is enough.
    missing = {role: reason for role, reason in missing.items() if not written or role in site.parties}
    if missing:
        reasons = "; ".join(f"{role}: {reason}" for role, reason in missing.items())
        error.add_note(f"the refusal is in NO ledger of {reasons}")
