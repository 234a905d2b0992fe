"""Loads what a site gives to a job on rows, once its policy allows the job: tables of the roles here, and keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.data.columns.findings import load_together
from hekat.engine.select import get_engine
from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import check_role
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.exact_sums import with_note_on_budget
from hekat.job.rows.rows_job import RowsJob
from hekat.job.site_file import Site, find_source, load_site
from hekat.run.load_keys import load_party_keys
from hekat.run.rows.tables import TEST_NAME, find_test_source, load_leader_key, load_rows
from hekat.scheme.paillier import KeyPair
from hekat.scheme.paillier.randomiser import check_table_memory


@dataclass(frozen=True)
class SiteTables:
    """The site, the roles that play here, the tables of the parties among them as loaded, and the common test data."""

    site: Site
    roles: tuple[str, ...]
    tables: dict[str, Table]
    test_table: Table | None


def load_site_tables(
    job: RowsJob,
    job_path: Path,
    site_path: Path | None,
    role: str | None,
    *,
    is_rehearsal: bool,
    with_test: bool = True,
) -> SiteTables:
    """The tables of `role`, or of every role, by the site file beside the job or at `site_path`.

    Raises PolicyError before any table is read where the site refuses the job; other HekatErrors name the file, party
    or column. Without `with_test` the test data are looked up and not loaded.
    """
    if role is not None:
        check_role(job, role)
    site = load_site(site_path or job_path.parent / "site.toml")
    here = job.settings.everyone if role is None else (role,)
    parties = [party for party in job.settings.parties if party in here]
    enforce_policy(site, job, here, is_rehearsal=is_rehearsal)
    loads = {party: partial(load_rows, site, find_source(site, party, job.data), job, party) for party in parties}
    test_source = find_test_source(site, job, is_needed=role is None) if parties else None
    if test_source is not None and with_test:
        loads[TEST_NAME] = partial(load_rows, site, test_source, job, TEST_NAME, for_training=False)
    # All that the job has to say of columns is told at once.
    loaded = load_together(loads)
    tables = {party: with_note_on_budget(site, job, party, loaded[party]) for party in parties}
    return SiteTables(site, here, tables, loaded.get(TEST_NAME))


def load_keys(
    job: RowsJob, site: Site, roles: tuple[str, ...], ask_passphrase: Callable[[], bytes] | None
) -> tuple[KeyPair | None, dict[str, PartyKey]]:
    """(the leader's kept key pair or None, signing keys that the site keeps), once the engine has room for tables."""
    with declare_tenancy(site.machine.single_tenant):
        engine = get_engine()
        if job.settings.protection == "paillier":
            check_table_memory(job.settings.key_bits, engine)
    leader_key = load_leader_key(site, job, roles, ask_passphrase)
    return leader_key, load_party_keys(
        site, roles, {name: key for name, key in job.party_keys.items() if name in roles}
    )
