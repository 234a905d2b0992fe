"""Loads and checks everything that a run needs before it starts: tables, labels, models, keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from hekat.data import Table
from hekat.data.columns.encode import encode_again
from hekat.data.columns.findings import load_together
from hekat.data.columns.found import Vocabulary, join_offers, most_columns, with_vocabulary
from hekat.data.columns.moments import largest_magnitudes
from hekat.errors import InputError, JobError
from hekat.job.horizontal.job_file import Job, load_job
from hekat.job.model_source import PartyModel, find_model_source, load_own_model
from hekat.job.site_file import Site
from hekat.model import MODEL_NAMES, Model
from hekat.protocol.horizontal.model_identity import ModelIdentity, check_same_model, identify_model
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.settings import HorizontalSettings, check_row_count
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.horizontal.training.agreed_mask import check_mask_rules
from hekat.protocol.horizontal.training.local_run import build_model
from hekat.protocol.horizontal.training.server_step import build_optimiser
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.horizontal.training.validation import check_rows_to_split, hold_out
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.run.horizontal.privacy_budgets import check_budgets, plan_of
from hekat.run.horizontal.trained_model import check_can_export
from hekat.run.rows.inputs import RowsInputs
from hekat.run.rows.load_site_tables import load_keys, load_site_tables
from hekat.run.rows.privacy_budget import check_delta_of_job, open_budget
from hekat.run.rows.tables import (
    TEST_NAME,
    arrange_tables,
    check_test_table,
    find_test_source,
    load_rows,
)
from hekat.state.privacy_budget import PrivacyBudget

MAX_PARAMETERS = 2**31
# The largest power of two that the encrypted histogram of a column's exponents tells.
MAX_STANDARDISED = 2.0**40
# Squares and their sums over rows stay finite.
MAX_MAGNITUDE = 2.0**480


@dataclass(frozen=True, kw_only=True)
class HorizontalInputs(RowsInputs):
    """A checked job with this machine's tables."""

    job: Job
    model_caveats: tuple[str, ...] = ()
    """What a reader of the run's report has to know of a model that is not Hekat's own."""
    open_job: Job | None = field(default=None, repr=False)
    """The job as it was read, where parties find categories together; `job` lists these once they are found."""
    open_tables: dict[str, Table] = field(default_factory=dict, repr=False)
    """The tables as they were loaded for it, to be encoded again."""

    def plan_sums(self, done: int) -> SumPlan:
        return plan_sums(self.job.settings, done)

    def split(self, table: Table) -> tuple[Table, Table | None]:
        return hold_out(table, self.job.settings)

    def make_model(self, party: str) -> PartyModel:
        """A model of the party's own, made anew: no two parties hold one object. Raises InputError or JobError."""
        return _make_model(self.job.settings, self.site, party, self.column_count)

    def maker_of(self, role: str) -> Callable[[], PartyModel] | None:
        """Makes the model of a party; None for a role without rows."""
        return partial(self.make_model, role) if role in self.tables else None

    @cached_property
    def privacy_plan(self) -> PrivacyPlan | None:
        """The noise of the job's rounds; None where its sums are exact, or no party is here. Raises InputError."""
        if self.job.settings.privacy is None or not self.tables:
            return None
        return plan_of(self.job.settings, self.make_model(next(iter(self.tables))).model)

    def budget_of(self, role: str) -> PrivacyBudget | None:
        """The privacy budget of a party's rows; None without privacy, and for a role without rows."""
        is_charged = self.job.settings.privacy is not None and role in self.tables
        return open_budget(self.job, self.site, role) if is_charged else None

    def check_budgets(self, rounds_done: int) -> None:
        if self.privacy_plan is not None:
            check_budgets(self.job, self.site, self.tables, self.privacy_plan, self.plan_sums(rounds_done))

    @property
    def is_settled(self) -> bool:
        """Whether tables and models are as the run trains them: no categories are left to be found."""
        return not self.job.columns.found_together

    def settle(self, vocabulary: Vocabulary) -> HorizontalInputs:
        """The inputs with these categories in place of the ones in tables here alone.

        Raises InputError where tables, test data or models do not fit them.
        """
        assert self.open_job is not None  # the job finds categories
        columns = with_vocabulary(self.open_job.columns, vocabulary)
        job = replace(self.open_job, columns=columns)
        again = {
            party: partial(encode_again, table, columns, sparse=job.sparse) for party, table in self.open_tables.items()
        }
        source = find_test_source(self.site, job, is_needed=False) if self.open_tables else None
        if source is not None:
            again[TEST_NAME] = partial(load_rows, self.site, source, job, TEST_NAME, for_training=False)
        loaded = load_together(again)
        notes = tuple(
            f"categories of column {column!r} were found by all parties together: {len(texts)}"
            for column, texts in vocabulary.items()
        )
        tables = {party: replace(loaded[party], notes=(*loaded[party].notes, *notes)) for party in self.open_tables}
        return _checked(replace(self, job=job, tables=tables, test_table=loaded.get(TEST_NAME)))


def load_inputs(
    job_path: Path,
    site_path: Path | None = None,
    ask_passphrase: Callable[[], bytes] | None = None,
    *,
    role: str | None = None,
    is_rehearsal: bool = False,
) -> HorizontalInputs:
    """Load the job, the site file beside it (or at `site_path`), and every table; nothing is sent, and nothing written
    but what the site refuses, into its ledger; a rehearsal does not write that either.

    `ask_passphrase` is called where a passphrase protects the leader's key file. With `role` only that role's files are
    loaded; the protocol then checks what different parties' tables must have in common. Raises a HekatError that names
    the file, key, party or column, what was expected and the cure.
    """
    job = load_job(job_path)
    settings = job.settings
    found = load_site_tables(job, job_path, site_path, role, is_rehearsal=is_rehearsal, with_test=not settings.found)
    inputs = HorizontalInputs(
        job=job,
        site=found.site,
        tables=found.tables,
        test_table=found.test_table,
        key_pair=None,
        roles=found.roles,
        open_job=job if settings.found else None,
        open_tables=found.tables if settings.found else {},
    )
    offers = [table.open_categories.offers for table in found.tables.values() if table.open_categories is not None]
    inputs = inputs.settle(join_offers(offers)) if settings.found and role is None else _checked(inputs)
    build_optimiser(settings.training)
    key_pair, party_keys = load_keys(job, found.site, found.roles, ask_passphrase)
    return replace(inputs, key_pair=key_pair, party_keys=party_keys)


def _checked(inputs: HorizontalInputs) -> HorizontalInputs:
    """The inputs with their tables' columns in one order and all that can be checked of tables and models checked."""
    job, settings = inputs.job, inputs.job.settings
    tables = arrange_tables(inputs.tables, are_all=len(inputs.roles) == len(settings.everyone))
    test_table = None if inputs.test_table is None else check_test_table(inputs.test_table, tables)
    for party, table in tables.items():
        check_row_count(party, len(table), settings)
        check_rows_to_split(table, settings)
    if settings.privacy is not None and settings.privacy.unit == "row":
        check_delta_of_job(settings.privacy.delta, tables.values())
    model_caveats = _check_models(settings, inputs.site, tables)
    has_moments = settings.training.standardise or "mean" in job.settings.fills
    for table in tables.values():
        check_magnitudes(table, MAX_STANDARDISED if has_moments else MAX_MAGNITUDE)
    if test_table is not None:
        check_magnitudes(test_table, MAX_MAGNITUDE)
    return replace(inputs, tables=tables, test_table=test_table, model_caveats=model_caveats)


def _make_model(settings: HorizontalSettings, site: Site, party: str, column_count: int) -> PartyModel:
    spec = settings.model
    if spec.name in MODEL_NAMES:
        return PartyModel(build_model(settings, column_count))
    held = site.parties[party]
    source = find_model_source(held.models, site.common_models, spec.name)
    if spec.hidden:
        raise JobError(
            f"model.hidden is for model 'mlp', not for {spec.name!r}",
            expected="the sizes of its layers in the site file: arguments = { ... }",
            got="model.hidden in the job",
            cure="remove model.hidden",
        )
    class_count = None if settings.classes is None else len(settings.classes)
    return load_own_model(
        spec.name, source, site.folder, column_count=column_count, class_count=class_count, l2=spec.own_l2
    )


def _check_models(settings: HorizontalSettings, site: Site, tables: Mapping[str, Table]) -> tuple[str, ...]:
    """Make every party's model here once, to check that all are alike and can begin; returns notes on the first one."""
    notes: tuple[str, ...] = ()
    identities: dict[str, ModelIdentity] = {}
    for party in tables if settings.model.name not in MODEL_NAMES else list(tables)[:1]:
        column_count = tables[party].features.shape[1]
        made = _make_model(settings, site, party, column_count)
        check_can_export(made)
        _check_parameter_count(made.model)
        _hold_mask_rules(settings, site, party, tables[party], made.model)
        identities[party] = identify_model(made.model, made.code, settings.model.seed)
        notes = notes or made.notes
    if identities:
        check_same_model(settings.model.name, identities)
    return notes


def _hold_mask_rules(settings: HorizontalSettings, site: Site, party: str, table: Table, model: Model) -> None:
    """Raise InputError where the job's rules for masks do not fit the party's model.

    Before parties found categories together nobody knows how many columns the model has, only that these are no fewer
    than the party has with its own texts, and no more than so many texts as may be found give. Every tensor's values
    grow by as many for each column, so that rules that fail at both ends by one fault fail between them by it. Rules
    that fit one end, or fail there by another fault, may fit between: always asks for too much where columns are few,
    never where they are many. The model is then held against them once more when the categories are known, before any
    sum of updates.
    """
    count, left_open = table.features.shape[1], table.open_categories
    fault = _fault_of_rules(settings, model, count)
    if fault is None:
        return
    if left_open is not None:
        most = most_columns(count, left_open.offers)
        at_most = _fault_of_rules(settings, _make_model(settings, site, party, most).model, most)
        if at_most is None or at_most.what != fault.what:
            return
    raise fault


def _fault_of_rules(settings: HorizontalSettings, model: Model, column_count: int) -> InputError | None:
    try:
        check_mask_rules(model, TrainedTensors.of(model, settings.model.parameters), settings, column_count)
    except InputError as error:
        return error
    return None


def _check_parameter_count(model: Model) -> None:
    count = sum(math.prod(shape) for shape in model.parameter_shapes.values())
    if count > MAX_PARAMETERS:
        raise InputError(
            "the model is too large",
            expected="at most 2^31 parameters",
            got=f"{count}",
            cure="make its layers smaller, or leave out columns",
        )


def check_magnitudes(table: Table, most: float) -> None:
    """Raise InputError that names the first column with a magnitude above `most`; never the value."""
    too_large = np.flatnonzero(largest_magnitudes(table.features) > most)
    if too_large.size:
        raise InputError(
            f"column {table.feature_names[int(too_large[0])]!r} of {table.name} has values too large to train on",
            expected=f"magnitudes up to 2^{math.frexp(most)[1] - 1}",
            got="a larger one",
            cure="change the column's unit, or leave it out",
        )
