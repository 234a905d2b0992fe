"""Loads and checks everything that a training of a split network needs before it starts: tables, ids, labels, keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyKey
from hekat.data import ColumnSpecs, Table
from hekat.errors import InputError
from hekat.job.policy.enforce import AskingJob
from hekat.job.site_file import Site
from hekat.job.vertical_network.job_file import NetworkJob, load_network_job
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_network.network_settings import MOST_WIDTH
from hekat.protocol.vertical_network.settings import SEALED, VerticalNetworkSettings
from hekat.run.load_keys import load_party_keys
from hekat.run.vertical.load_tables import (
    check_predictions_allowed,
    find_training_rows,
    load_tables,
    open_columns_job,
)
from hekat.run.vertical.own_labels import check_keeps_flips
from hekat.run.vertical_network.own_bottom import OwnBottom, find_bottom
from hekat.run.vertical_network.own_top import OwnTop, find_top


@dataclass(frozen=True)
class NetworkInputs:
    """A checked job with the tables of its guest and hosts, before any rows are matched.

    `test_tables` is empty where the job has no test data. `party_keys` are the signing keys that the site keeps; others
    are made for the run. `columns` is by party the job's description of columns, with the fills and the categories that
    the party's own rows give. `bottoms` make by party the map of its columns that the job names, and `tops` its top,
    which the guest alone has.
    """

    job: NetworkJob
    site: Site
    tables: dict[str, Table]
    test_tables: dict[str, Table]
    party_keys: dict[str, PartyKey] = field(default_factory=dict, repr=False)
    columns: dict[str, ColumnSpecs] = field(default_factory=dict, repr=False)
    bottoms: dict[str, OwnBottom] = field(default_factory=dict)
    tops: dict[str, OwnTop] = field(default_factory=dict)


def load_network_inputs(
    job_path: Path, site_path: Path | None = None, *, role: str | None = None, is_rehearsal: bool = False
) -> NetworkInputs:
    """Load the job, the site file beside it (or at `site_path`), and every party's table; nothing is sent, and nothing
    written but what the site refuses, into its ledger; a rehearsal does not write that either.

    With `role` only what that one role has is loaded; what takes the tables of several parties to check is then for the
    protocol. Raises a HekatError that names the file, key, party or column, what was expected and the cure.
    """
    job, site, here = open_columns_job(load_network_job, job_path, site_path, role, is_rehearsal=is_rehearsal)
    guest = job.settings.guest
    if guest in here:
        check_keeps_flips(site, job)
    bottoms = {name: find_bottom(site, job.bottoms, name) for name in here}
    tops = {name: find_top(site, job.top, name, is_guest=name == guest) for name in here}
    loaded = load_tables(site, job, here, lambda table: _check_table(table, job.settings))
    check_predictions_allowed(site, job, AskingJob(job.name, job.digest, here, is_rehearsal), loaded)
    if role is None:
        find_training_rows(job, loaded.tables, job.settings.training.seed)
    party_keys = load_party_keys(site, here, {name: key for name, key in job.party_keys.items() if name in here})
    return NetworkInputs(job, site, loaded.tables, loaded.test_tables, party_keys, loaded.columns, bottoms, tops)


def _check_table(table: Table, settings: VerticalNetworkSettings) -> None:
    """Raise InputError for a party's table that the protocol cannot train on."""
    prepare_columns(table, standardise=False, may_be_empty=table.name == settings.guest)
    count = table.features.shape[1]
    is_guest, is_sealed = table.name == settings.guest, settings.form == SEALED
    # The guest of a sealed network has a column of ones besides.
    most = MOST_WIDTH - (is_guest and is_sealed)
    if settings.host_bottom == "source" and (is_sealed or not is_guest) and count > most:
        raise InputError(
            f"{table.name} has more columns than the interactive layer takes",
            expected=f"at most {most} columns with protection.host_bottom = 'source'",
            got=f"{count:,}",
            cure="set protection.host_bottom = 'frozen': network.host_width features are made of the columns",
        )
