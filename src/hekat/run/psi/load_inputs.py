"""Loads and checks everything that a set intersection needs before it starts: ids and keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyKey
from hekat.data import Ids, load_ids
from hekat.engine.select import get_engine
from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import check_role
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.psi.job_file import IntersectionJob, load_intersection_job
from hekat.job.site_file import Site, find_source, load_site
from hekat.protocol.psi.ids import Ids as ComparedIds
from hekat.protocol.psi.ids import make_ids
from hekat.protocol.psi.roles import check_size
from hekat.run.load_keys import load_party_keys


@dataclass(frozen=True)
class IntersectionInputs:
    """A checked job with this machine's ids: `ids` as the tables have them, `compared` as the protocol takes them.

    `party_keys` are the signing keys that the site keeps; parties without one sign with a key made for the run.
    """

    job: IntersectionJob
    site: Site
    ids: dict[str, Ids] = field(repr=False)
    compared: dict[str, ComparedIds] = field(repr=False)
    party_keys: dict[str, PartyKey] = field(default_factory=dict, repr=False)


def load_intersection_inputs(
    job_path: Path,
    site_path: Path | None = None,
    ask_passphrase: Callable[[], bytes] | None = None,
    *,
    role: str | None = None,
    is_rehearsal: bool = False,
) -> IntersectionInputs:
    """Load the job, the site file beside it (or at `site_path`), and every party's ids; nothing is sent, and nothing
    written but what the site refuses, into its ledger; a rehearsal does not write that either.

    With `role` only what that one party has is loaded. No key of this protocol outlives a run, so `ask_passphrase` is
    never called. Raises a HekatError that names the file, key or party, what was expected and the cure; never an id.
    """
    job = load_intersection_job(job_path)
    site = load_site(site_path or job_path.parent / "site.toml")
    if role is not None:
        check_role(job, role)
    settings = job.settings
    here = settings.parties if role is None else (role,)
    enforce_policy(site, job, here, is_rehearsal=is_rehearsal)
    ids = {}
    for party in here:
        source = find_source(site, party, job.data)
        ids[party] = load_ids(source.kind, source.options, site.folder, name=party)
    compared = {party: make_ids([column.tolist() for column in found.columns], party) for party, found in ids.items()}
    for found in compared.values():
        check_size(found, settings)
    with declare_tenancy(site.machine.single_tenant):
        get_engine()
    party_keys = load_party_keys(site, here, {name: key for name, key in job.party_keys.items() if name in here})
    return IntersectionInputs(job, site, ids, compared, party_keys)
