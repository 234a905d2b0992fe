"""Loads and checks everything that a training of trees needs before it starts: tables, ids, labels, keys."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyKey
from hekat.data import ColumnSpecs, Table
from hekat.errors import JobError
from hekat.job.policy.enforce import AskingJob
from hekat.job.site_file import Site
from hekat.job.vertical_trees.job_file import TreesJob, load_trees_job
from hekat.model.trees import check_row_count
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical_trees.arithmetic.odds import check_room
from hekat.protocol.vertical_trees.leak_rule import BinLeak, measure_leak
from hekat.protocol.vertical_trees.own_table import bin_own_table
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.sums_plan import check_level_sums
from hekat.run.load_keys import load_key_pair, load_party_keys
from hekat.run.vertical.load_tables import (
    check_predictions_allowed,
    find_training_rows,
    load_tables,
    open_columns_job,
)
from hekat.run.vertical.own_labels import check_keeps_flips
from hekat.scheme.paillier import KeyPair
from hekat.toml_text import toml_key


@dataclass(frozen=True)
class TreesInputs:
    """A checked job with the tables of its guest and hosts, before any rows are matched.

    `test_tables` is empty where the job has no test data. `party_keys` are the signing keys that the site keeps; others
    are made for the run. `columns` is by party the job's description of columns, with the fills and the categories that
    the party's own rows give. `key_pair` is the Paillier key that the site keeps for the guest.
    """

    job: TreesJob
    site: Site
    tables: dict[str, Table]
    test_tables: dict[str, Table]
    party_keys: dict[str, PartyKey] = field(default_factory=dict, repr=False)
    columns: dict[str, ColumnSpecs] = field(default_factory=dict, repr=False)
    key_pair: KeyPair | None = field(default=None, repr=False)


def load_trees_inputs(
    job_path: Path,
    site_path: Path | None = None,
    ask_passphrase: Callable[[], bytes] | None = None,
    *,
    role: str | None = None,
    is_rehearsal: bool = False,
) -> TreesInputs:
    """Load the job, the site file beside it (or at `site_path`), and every party's table; nothing is sent, and nothing
    written but what the site refuses, into its ledger; a rehearsal does not write that either.

    With `role` only what that one role has is loaded; what takes the tables of several parties to check is then for the
    protocol. `ask_passphrase` opens a protected key file. Raises a HekatError that names the file, key, party or
    column, what was expected and the cure.
    """
    job, site, here = open_columns_job(load_trees_job, job_path, site_path, role, is_rehearsal=is_rehearsal)
    settings = job.settings
    if settings.guest in here:
        check_keeps_flips(site, job)

    bin_counts: dict[str, list[int]] = {}

    def check_table(table: Table) -> None:
        binned = bin_own_table(table, settings, _no_run(), may_be_empty=table.name == settings.guest)
        if table.name != settings.guest:
            bin_counts[table.name] = [bins.bin_count for bins in binned.bins]
            check_level_sums(settings, len(table), bin_counts)

    loaded = load_tables(site, job, here, check_table)
    if settings.guest in loaded.tables:
        read_labels(loaded.tables[settings.guest], settings)
    check_predictions_allowed(site, job, AskingJob(job.name, job.digest, here, is_rehearsal), loaded)
    if role is None:
        common = find_training_rows(job, loaded.tables, settings.training.seed)
        row_count = len(common[settings.guest])
        check_row_count(row_count, settings.training)
        check_room(settings, row_count, [count for counts in bin_counts.values() for count in counts])
        for party, leak in measure_leaks(settings, common).items():
            leak.check(party, settings)
    party_keys = load_party_keys(site, here, {name: key for name, key in job.party_keys.items() if name in here})
    key_pair = _load_key_pair(site, job, here, ask_passphrase)
    return TreesInputs(job, site, loaded.tables, loaded.test_tables, party_keys, loaded.columns, key_pair)


def _load_key_pair(
    site: Site, job: TreesJob, here: Collection[str], ask_passphrase: Callable[[], bytes] | None
) -> KeyPair | None:
    """The Paillier key that the site keeps for the guest, None without one or under another protection.

    A site file serves jobs of every protection; under Paillier a key at a host is refused, since it makes none.
    """
    settings = job.settings
    if settings.protection != "paillier":
        return None
    kept = {name: site.parties[name].paillier_key for name in here if name in site.parties}
    for name in settings.hosts:
        if kept.get(name) is not None:
            raise JobError(
                f"party {name} has a paillier_key but makes no key in a training of trees",
                expected=f"a key at {settings.guest}, which has the labels",
                got=f"paillier_key under [{toml_key('party', name)}]",
                cure="remove it from the site file",
            )
    path = kept.get(settings.guest)
    return None if path is None else load_key_pair(path, settings.guest, settings.key_bits, ask_passphrase)


def measure_leaks(settings: VerticalTreesSettings, common: dict[str, Table]) -> dict[str, BinLeak]:
    """By host what sums of all trees can tell of its columns, on the `common` rows of all parties."""
    found = {}
    for host in settings.hosts:
        binned = bin_own_table(common[host], settings, _no_run(), may_be_empty=False)
        found[host] = measure_leak(settings, binned.digits, [bins.bin_count for bins in binned.bins])
    return found


def _no_run() -> TreesRun:
    return TreesRun(Stopwatch())
