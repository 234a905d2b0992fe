"""Everything a run needs, loaded and checked before anything starts: tables, labels, models, keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hekat.channel import PartyKey
from hekat.data import Table, check_same_schema, load_table
from hekat.engine.select import get_engine
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import InputError, JobError
from hekat.job.job_file import Job, load_job
from hekat.job.site_file import DataSource, Site, check_site_allows, find_source, load_site
from hekat.protocol.horizontal.settings import HorizontalSettings, check_row_count
from hekat.protocol.horizontal.training import build_model, build_optimiser
from hekat.scheme.paillier import KeyPair
from hekat.scheme.paillier.randomiser import check_table_memory
from hekat.wire.keyfile import describe_key_file, load_private_key

MAX_PARAMETERS = 2**31
# The largest power of two that the encrypted histogram of a column's exponents tells.
MAX_STANDARDISED = 2.0**40
# Squares and their sums over rows stay finite.
MAX_MAGNITUDE = 2.0**480


@dataclass(frozen=True)
class Prepared:
    """A checked job with this machine's tables. `key_pair` is the leader's, where its site keeps one.

    `party_keys` are the signing keys that the site keeps; parties without one sign with a key made for the run.
    """

    job: Job
    site: Site
    tables: dict[str, Table]
    test_table: Table | None
    key_pair: KeyPair | None = field(repr=False)
    party_keys: dict[str, PartyKey] = field(default_factory=dict, repr=False)


def prepare(
    job_path: Path, site_path: Path | None = None, ask_passphrase: Callable[[], bytes] | None = None
) -> Prepared:
    """Load the job, the site file beside it (or at `site_path`), and every table; nothing is written or sent.

    `ask_passphrase` is called where the leader's key file is protected by one.
    Raises a HekatError that names the file, key, party or column, what was expected and the cure.
    """
    job = load_job(job_path)
    site = load_site(site_path or job_path.parent / "site.toml")
    check_site_allows(site, job)
    settings = job.settings
    tables = {
        party: _load(site, find_source(site, party, job.data), settings.classes, party) for party in settings.parties
    }
    first = tables[settings.leader]
    check_same_schema({party: table.feature_names for party, table in tables.items()})
    test_table = None
    if job.test_data is not None:
        source = find_source(site, None, job.test_data)
        test_table = _load(site, source, settings.classes, "the test data", for_training=False)
        check_same_schema({settings.leader: first.feature_names, "the test data": test_table.feature_names})
    for party, table in tables.items():
        check_row_count(party, len(table), settings)
    _check_parameter_count(settings, first.features.shape[1])
    for table in tables.values():
        check_magnitudes(table, MAX_STANDARDISED if settings.training.standardise else MAX_MAGNITUDE)
    if test_table is not None:
        check_magnitudes(test_table, MAX_MAGNITUDE)
    build_optimiser(settings.training)
    with declare_tenancy(site.machine.single_tenant):
        engine = get_engine()
        if settings.protection == "paillier":
            check_table_memory(settings.key_bits, engine)
    return Prepared(
        job, site, tables, test_table, _load_key(site, job, ask_passphrase), _load_party_keys(site, settings.everyone)
    )


def _check_parameter_count(settings: HorizontalSettings, column_count: int) -> None:
    shapes = build_model(settings, column_count).parameter_shapes
    count = sum(math.prod(shape) for shape in shapes.values())
    if count > MAX_PARAMETERS:
        raise InputError(
            "the model is too large",
            expected="at most 2^31 parameters",
            got=f"{count}",
            cure="lower model.hidden, or leave out columns",
        )


def check_magnitudes(table: Table, most: float) -> None:
    """Raise InputError that names the first column with a magnitude above `most`; never the value."""
    largest = np.abs(table.features).max(axis=0, initial=0.0)
    too_large = np.flatnonzero(largest > most)
    if too_large.size:
        raise InputError(
            f"column {table.feature_names[int(too_large[0])]!r} of {table.name} has values too large to train on",
            expected=f"magnitudes up to 2^{math.frexp(most)[1] - 1}",
            got="a larger one",
            cure="change the column's unit, or leave it out",
        )


def _load(
    site: Site, source: DataSource, classes: tuple[str, ...] | None, name: str, *, for_training: bool = True
) -> Table:
    return load_table(source.kind, source.options, site.folder, name=name, classes=classes, for_training=for_training)


def _load_party_keys(site: Site, names: tuple[str, ...]) -> dict[str, PartyKey]:
    paths = {name: site.parties[name].party_key for name in names if name in site.parties}
    return {name: PartyKey.load(path) for name, path in paths.items() if path is not None}


def _load_key(site: Site, job: Job, ask_passphrase: Callable[[], bytes] | None) -> KeyPair | None:
    settings = job.settings
    for party in settings.parties:
        path = site.parties[party].paillier_key
        if path is not None and party != settings.leader:
            raise JobError(
                f"party {party} has a paillier_key but does not lead",
                expected=f"a key at the leader, {settings.leader}",
                got=f"paillier_key under [party.{party}]",
                cure="remove it: the leader gives the key to the others",
            )
    path = site.parties[settings.leader].paillier_key
    if path is None or settings.protection != "paillier":
        return None
    is_protected = describe_key_file(path)["protection"] == "passphrase"
    private = load_private_key(path, ask_passphrase() if is_protected and ask_passphrase is not None else None)
    if private.public.bits != settings.key_bits:
        raise JobError(
            "the leader's key file does not fit the job",
            expected=f"a key of {settings.key_bits} bits",
            got=f"{private.public.bits} bits",
            cure="change protection.key_bits, or make a key of that size: hekat keys generate",
        )
    return KeyPair(private.public, private)
