"""Loads and checks everything that a vertical run needs before it starts: tables, ids, labels, keys."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyKey
from hekat.data import ColumnSpecs, Table
from hekat.data.columns.settle import settle_fills
from hekat.data.far_cells import with_notes_on_cells
from hekat.engine.select import get_engine
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import JobError
from hekat.job.load_any_job import check_role
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.enforce import AskingJob, recorded
from hekat.job.site_file import Site, load_site
from hekat.job.vertical.site_checks import MAX_PREDICTIONS_KEY, check_test_rows_allowed
from hekat.job.vertical_linear.job_file import VerticalJob, load_vertical_job
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.protocol.vertical.hold_out import count_held_out, hold_out_rows
from hekat.protocol.vertical_linear.columns import may_lack_columns, prepare_columns, prepare_targets
from hekat.protocol.vertical_linear.judging.rule_check import check_own_table, check_rules, find_common_tables
from hekat.run.horizontal.load_inputs import MAX_MAGNITUDE, check_magnitudes
from hekat.run.load_keys import load_key_pair, load_party_keys
from hekat.run.vertical.party_tables import MIN_ROWS, check_enough, check_rows, in_columns_of, load_party_tables
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
    needs_ids = job.intersection is not None
    loaded = load_party_tables(site, job, job.data, here)
    settled = {party: settle_fills(table, job.columns) for party, table in loaded.items()}
    tables = {party: table for party, (table, _) in settled.items()}
    columns = {party: specs for party, (_, specs) in settled.items()}
    check_rows(tables, "the data", needs_ids=needs_ids, least=MIN_ROWS)
    for table in tables.values():
        # A rule that refuses all rows would refuse any part of them.
        check_magnitudes(table, MAX_MAGNITUDE)
        prepare_columns(table, standardise=False, may_be_empty=may_lack_columns(settings, table.name))
    tables = {party: with_notes_on_cells(table) for party, table in tables.items()}
    if settings.guest in tables:
        prepare_targets(tables[settings.guest], settings)
    test_tables: dict[str, Table] = {}
    if job.test_data is not None:
        test_tables = load_party_tables(site, job, job.test_data, here, columns)
        check_rows(test_tables, "the test data", needs_ids=needs_ids, least=MIN_ROWS if needs_ids else 1)
        for party, table in test_tables.items():
            test_tables[party] = in_columns_of(tables[party].feature_names, table, "the test data")
    predicted = min((len(table) for table in test_tables.values()), default=0)
    if tables:
        most = min(len(table) for table in tables.values())
        predicted += count_held_out(most, job.hold_out)
        with recorded(site, AskingJob(job.name, job.digest, here, is_rehearsal), MAX_PREDICTIONS_KEY):
            check_test_rows_allowed(
                site.policy, predicted, min(settings.calibration_rows, most), settings.score_openings
            )
    if role is None:
        common = find_common_tables(tables) if needs_ids else tables
        if job.hold_out:
            seed = settings.training.seed
            common = {party: hold_out_rows(table, job.hold_out, seed)[0] for party, table in common.items()}
        check_enough(common[settings.guest])
        check_rules(common, settings)
    elif role in tables:
        check_own_table(role, tables[role], settings)
    with declare_tenancy(site.machine.single_tenant):
        if key_makers(job):
            check_table_memory(settings.key_bits, get_engine())
    keys = _load_key_pairs(site, job, here, ask_passphrase)
    party_keys = load_party_keys(site, here, {name: key for name, key in job.party_keys.items() if name in here})
    return VerticalInputs(job, site, tables, test_tables, keys, party_keys, columns)


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
