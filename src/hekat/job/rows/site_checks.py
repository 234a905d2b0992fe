"""What a site's policy says of every job whose parties hold rows: protection, openers, roles without rows, tables."""

from __future__ import annotations

from collections.abc import Collection

from hekat.job.policy.column_checks import checks_of_columns
from hekat.job.policy.job_limits import say_names
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck
from hekat.job.policy.shared_checks import (
    check_holds_nothing,
    check_opening,
    check_protections,
    on_key_sizes,
    on_parties,
)
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.rows.rows_job import RowsJob
from hekat.job.site_file import Site


def on_protection(policy: SitePolicy, job: RowsJob, *, compares_plain: bool = False) -> list[PolicyCheck]:
    """The lines of protection, openers and keys; `compares_plain`: the job is trained in the clear as well."""
    settings = job.settings
    is_lattice, is_paillier = settings.protection == "lattice", settings.protection == "paillier"
    return [
        PolicyCheck(
            "policy.protections",
            settings.protection + (", and none for a comparison" if compares_plain else ""),
            say_names(policy.protections, "none at all"),
            lambda: check_protections(policy, settings.protection, compares_plain=compares_plain),
        ),
        PolicyCheck(
            "policy.openings",
            settings.opening if is_lattice else APPLIES_NOT,
            say_names(policy.openings, "none at all"),
            lambda: check_opening(policy, settings.opening) if is_lattice else None,
        ),
        on_key_sizes(policy, {"protection.key_bits": settings.key_bits} if is_paillier else {}),
    ]


def on_holdings(site: Site, job: RowsJob) -> list[PolicyCheck]:
    """A role that only adds or opens is given nothing else, here or where all roles are played."""
    roles = {job.settings.aggregator: "aggregator"}
    if job.settings.authority is not None:
        roles[job.settings.authority] = "key authority"

    def check_of(name: str, role: str) -> PolicyCheck:
        return PolicyCheck(
            f"[party] of the {role}",
            f"{name} as {role}",
            "no rows and no Paillier key",
            lambda: check_holds_nothing(site, name, role),
        )

    return [check_of(name, role) for name, role in roles.items()]


def on_row_tables(site: Site, job: RowsJob, here: Collection[str] | None) -> list[PolicyCheck]:
    """The lines of parties and of the columns of their tables; `here` are the roles that this machine plays."""
    parties = [party for party in job.settings.parties if here is None or party in here]
    checks = [on_parties(site, parties), *checks_of_columns(site, parties, job.data)]
    return checks + (checks_of_columns(site, [None], job.test_data) if job.test_data and parties else [])
