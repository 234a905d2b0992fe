"""Loads and checks everything that a training on an encrypted model needs before it starts: tables, labels, keys."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hekat.channel import PartyKey
from hekat.data import Table, check_has_labels, hold_out_rows
from hekat.data.columns.findings import load_together
from hekat.engine.select import get_engine
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import JobError
from hekat.job.encrypted_model.job_file import EncryptedModelJob, load_encrypted_model_job
from hekat.job.encrypted_model.key_makers import key_makers
from hekat.job.load_any_job import check_role
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.exact_sums import with_note_on_budget
from hekat.job.site_file import Site, find_source, load_site
from hekat.protocol.encrypted_model.capacity import plan_round
from hekat.run.horizontal.load_inputs import MAX_STANDARDISED, check_magnitudes
from hekat.run.load_keys import load_key_pair, load_party_keys
from hekat.run.rows.tables import TEST_NAME, arrange_tables, check_test_table, load_rows
from hekat.scheme.paillier import KeyPair
from hekat.scheme.paillier.randomiser import check_table_memory
from hekat.summary.encrypted_model.role_result import Measured
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.toml_text import toml_key


@dataclass(frozen=True)
class MeasuredRows:
    """The owner's rows that it measures the model on, and which rows these are."""

    table: Table = field(repr=False)
    kind: Measured


@dataclass(frozen=True)
class EncryptedModelInputs:
    """A checked job with this machine's tables: `tables` of hosts, whole, and the owner's `test_table`.

    `key_pairs` has the arbiter's, where its site keeps one; `party_keys` the signing keys, others are made for the run.
    """

    job: EncryptedModelJob
    site: Site
    roles: tuple[str, ...]
    tables: dict[str, Table] = field(repr=False)
    test_table: Table | None = field(default=None, repr=False)
    key_pairs: dict[str, KeyPair] = field(default_factory=dict, repr=False)
    party_keys: dict[str, PartyKey] = field(default_factory=dict, repr=False)

    def split(self, host: str) -> tuple[Table, Table | None]:
        """(rows that the host trains on, rows that it holds out or None). Only the owner holds rows out."""
        table, job = self.tables[host], self.job
        if not job.hold_out or host != job.settings.owner:
            return table, None
        return hold_out_rows(table, job.hold_out, job.settings.training.seed)

    def training_table(self, role: str) -> Table | None:
        """The rows that the role trains on; None at a role that has none."""
        return self.split(role)[0] if role in self.tables else None

    @property
    def measured(self) -> MeasuredRows | None:
        """The owner's rows to measure on: test data, else rows held out, else its training rows; None without any."""
        owner = self.job.settings.owner
        if self.test_table is not None:
            return MeasuredRows(self.test_table, "test data")
        if owner not in self.tables:
            return None
        training, held_out = self.split(owner)
        return MeasuredRows(training, "training rows") if held_out is None else MeasuredRows(held_out, "held-out rows")

    def describe(self, host: str) -> TableFacts:
        """The facts of a host's table."""
        return TableFacts.of(self.tables[host], self.job.settings.classes, self.split(host)[1])

    def describe_measured(self) -> TableFacts | None:
        """The facts of the rows that the owner measures on, among them how many are training rows of hosts here."""
        measured = self.measured
        if measured is None:
            return None
        training = [self.split(host)[0] for host in self.tables]
        return TableFacts.of_test(measured.table, self.job.settings.classes, training)


def load_encrypted_model_inputs(
    job_path: Path,
    site_path: Path | None = None,
    ask_passphrase: Callable[[], bytes] | None = None,
    *,
    role: str | None = None,
    is_rehearsal: bool = False,
) -> EncryptedModelInputs:
    """Load the job, the site file beside it (or at `site_path`), and every table; nothing is sent, and nothing written
    but what the site refuses, into its ledger; a rehearsal does not write that either.

    `ask_passphrase` is called where a passphrase protects the arbiter's key file. With `role` only that role's files
    are loaded; the protocol then checks what hosts' tables must have in common. Raises a HekatError that names the
    file, key, party or column, what was expected and the cure.
    """
    job = load_encrypted_model_job(job_path)
    if role is not None:
        check_role(job, role)
    site = load_site(site_path or job_path.parent / "site.toml")
    settings = job.settings
    here = settings.everyone if role is None else (role,)
    enforce_policy(site, job, here, is_rehearsal=is_rehearsal)
    hosts = [host for host in settings.hosts if host in here]
    loads = {host: partial(load_rows, site, find_source(site, host, job.data), job, host) for host in hosts}
    if job.test_data is not None and settings.owner in here:
        source = find_source(site, settings.owner, job.test_data)
        loads[TEST_NAME] = partial(load_rows, site, source, job, TEST_NAME, for_training=False)
    # All that the job has to say of columns is told at once.
    loaded = load_together(loads)
    are_all = len(hosts) == len(settings.hosts)
    tables = arrange_tables({host: loaded[host] for host in hosts}, are_all=are_all) if hosts else {}
    for host, table in tables.items():
        check_has_labels(table)
        check_magnitudes(table, MAX_STANDARDISED)
        tables[host] = with_note_on_budget(site, job, host, table)
    with declare_tenancy(site.machine.single_tenant):
        engine = get_engine()
        if key_makers(job):
            check_table_memory(settings.key_bits, engine)
    inputs = EncryptedModelInputs(
        job=job,
        site=site,
        roles=tuple(here),
        tables=tables,
        test_table=_check_test(loaded.get(TEST_NAME), tables),
        key_pairs=_load_key_pairs(site, job, here, ask_passphrase),
        party_keys=load_party_keys(site, here, {name: key for name, key in job.party_keys.items() if name in here}),
    )
    for host in hosts:
        inputs.split(host)  # refuses a table with too few rows to hold some out
        plan_round(settings, len(tables[host].feature_names))  # refuses models and runs without room
    return inputs


def _check_test(table: Table | None, tables: dict[str, Table]) -> Table | None:
    """The owner's test data, in the columns of a host that lies here. Raises InputError."""
    if table is None:
        return None
    if tables:
        table = check_test_table(table, tables)
    check_has_labels(table)
    check_magnitudes(table, MAX_STANDARDISED)
    return table


def _load_key_pairs(
    site: Site, job: EncryptedModelJob, here: Collection[str], ask_passphrase: Callable[[], bytes] | None
) -> dict[str, KeyPair]:
    """The arbiter's Paillier key, where its site keeps one; a key at any other role is refused."""
    settings, makers = job.settings, key_makers(job)
    pairs: dict[str, KeyPair] = {}
    for name in (name for name in settings.everyone if name in here):
        held = site.parties.get(name)
        if held is None or held.paillier_key is None or settings.protection != "paillier":
            continue
        if name not in makers:
            raise JobError(
                f"party {name} has a paillier_key and makes no key in this job",
                expected=f"a key at the arbiter, {settings.arbiter}",
                got=f"paillier_key under [{toml_key('party', name)}]",
                cure="remove it: whoever opens masked numbers must hold no rows",
            )
        pairs[name] = load_key_pair(held.paillier_key, "the arbiter", settings.key_bits, ask_passphrase)
    return pairs
