"""Loads and checks everything that a vertical run needs before it starts: tables, ids, labels, keys."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyKey
from hekat.data import ColumnSpecs, Table
from hekat.engine.select import get_engine
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import JobError
from hekat.job.load_any_job import check_role
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.enforce import AskingJob
from hekat.job.site_file import Site, load_site
from hekat.job.vertical_linear.job_file import VerticalJob, load_vertical_job
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.columns import may_lack_columns, prepare_targets
from hekat.protocol.vertical_linear.judging.rule_check import check_own_table, check_rules
from hekat.run.load_keys import load_key_pair, load_party_keys
from hekat.run.vertical.load_tables import check_predictions_allowed, find_training_rows, load_tables
from hekat.run.vertical.own_labels import check_keeps_flips
from hekat.scheme.paillier import KeyPair
from hekat.scheme.paillier.randomiser import check_table_memory
from hekat.toml_text import toml_key


@dataclass(frozen=True)
class VerticalInputs:
    """A checked job with the tables of its guest and hosts, before any rows are matched.

    `test_tables` is empty where the job has no test data. `key_pairs` are those that the site keeps for roles that make
    a key; `party_keys` the signing keys, others are made for the run.
    """

    job: VerticalJob
    site: Site
    tables: dict[str, Table]
    test_tables: dict[str, Table]
    key_pairs: dict[str, KeyPair] = field(default_factory=dict, repr=False)
    party_keys: dict[str, PartyKey] = field(default_factory=dict, repr=False)
    columns: dict[str, ColumnSpecs] = field(default_factory=dict, repr=False)
    """By party the job's description of columns, with the fills that the party's own rows give."""


def load_vertical_inputs(
    job_path: Path,
    site_path: Path | None = None,
    ask_passphrase: Callable[[], bytes] | None = None,
    *,
    role: str | None = None,
    is_rehearsal: bool = False,
) -> VerticalInputs:
    """Load the job, the site file beside it (or at `site_path`), and every party's table; nothing is sent, and nothing
    written but what the site refuses, into its ledger; a rehearsal does not write that either.

    With `role` only what that one role has is loaded; what takes the tables of several parties to check is then for the
    protocol. Raises a HekatError that names the file, key, party or column, what was expected and the cure.
    """
    job = load_vertical_job(job_path)
    if role is not None:
        check_role(job, role)
    site = load_site(site_path or job_path.parent / "site.toml")
    settings = job.settings
    here = settings.everyone if role is None else (role,)
    enforce_policy(site, job, here, is_rehearsal=is_rehearsal)
    if settings.guest in here:
        check_keeps_flips(site, job)

    def check_table(table: Table) -> None:
        prepare_columns(table, standardise=False, may_be_empty=may_lack_columns(settings, table.name))

    loaded = load_tables(site, job, here, check_table)
    tables = loaded.tables
    if settings.guest in tables:
        prepare_targets(tables[settings.guest], settings)
    asking = AskingJob(job.name, job.digest, here, is_rehearsal)
    check_predictions_allowed(site, job, asking, loaded, settings.calibration_rows, settings.score_openings)
    if role is None:
        check_rules(find_training_rows(job, tables, settings.training.seed), settings)
    elif role in tables:
        check_own_table(role, tables[role], settings)
    with declare_tenancy(site.machine.single_tenant):
        if key_makers(job):
            check_table_memory(settings.key_bits, get_engine())
    keys = _load_key_pairs(site, job, here, ask_passphrase)
    party_keys = load_party_keys(site, here, {name: key for name, key in job.party_keys.items() if name in here})
    return VerticalInputs(job, site, tables, loaded.test_tables, keys, party_keys, loaded.columns)


def _load_key_pairs(
    site: Site, job: VerticalJob, here: Collection[str], ask_passphrase: Callable[[], bytes] | None
) -> dict[str, KeyPair]:
    """The Paillier keys that the site keeps for roles that make one; a key at any other role is refused."""
    settings, makers = job.settings, key_makers(job)
    pairs: dict[str, KeyPair] = {}
    for name in (name for name in settings.everyone if name in here):
        held = site.parties.get(name)
        if held is None or held.paillier_key is None:
            continue
        if name not in makers and settings.protection == "paillier":
            raise JobError(
                f"party {name} has a paillier_key but makes no key in form '{settings.form}'",
                expected=f"a key at {' or '.join(makers)}",
                got=f"paillier_key under [{toml_key('party', name)}]",
                cure="remove it from the site file",
            )
        if name in makers:
            pairs[name] = load_key_pair(held.paillier_key, name, settings.key_bits, ask_passphrase)
    return pairs
