"""The privacy budgets of the parties here: found in their state folders, and held against a job before it trains."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

from hekat.data import Table
from hekat.errors import InputError, JobError, PolicyError
from hekat.job.horizontal.job_file import Job
from hekat.job.site_file import PartySite, Site
from hekat.model import Model
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.sum_plan import SumPlan, samples_ahead
from hekat.state.privacy_budget import BudgetTerms, PrivacyBudget, Spent
from hekat.toml_text import toml_key


def plan_of(settings: HorizontalSettings, model: Model) -> PrivacyPlan | None:
    """The noise of the job's rounds; None where its sums are exact. Raises InputError."""
    if settings.privacy is None:
        return None
    names = TrainedTensors.of(model, settings.model.parameters).names
    return settings.plan_privacy(sum(math.prod(model.parameter_shapes[name]) for name in names))


def open_budget(job: Job, site: Site, party: str) -> PrivacyBudget:
    """The budget of a party's rows. Raises JobError where the site grants none, or keeps no state; PolicyError."""
    terms, folder = _granted(party, site.parties[party], job.settings)
    # A data set's name may hold any sign.
    name = hashlib.sha256(terms.data_set.encode()).hexdigest()[:16]
    return PrivacyBudget(folder / f"privacy-{name}.jsonl", terms)


def check_budgets(
    job: Job, site: Site, tables: Mapping[str, Table], plan: PrivacyPlan, sums: SumPlan
) -> dict[str, Spent]:
    """What each party's rows have spent so far. Raises BudgetError where the rounds of `sums` ahead would pass its
    limit, PolicyError for a delta that its rows are too few for; to be called before training."""
    privacy = plan.settings
    samples = samples_ahead(sums, Participation(job.settings.sums, job.digest))
    spent = {}
    for party, table in tables.items():
        if privacy.unit == "row" and privacy.delta >= 1 / len(table):
            raise PolicyError(
                f"privacy.delta is too large for the rows of {party}",
                expected=f"far less than 1 over its rows, {1 / len(table):.3g}: by that chance a row may show whole",
                got=f"{privacy.delta:g}",
                cure="lower privacy.delta in the job",
            )
        means, _ = privacy.moments_of(table.feature_names)
        if job.sparse and means.any():
            raise InputError(
                "sparse rows cannot be centred: no zero would be left of them",
                expected="a mean of 0 in privacy.moments for each column",
                got="another mean",
                cure="set these means to 0; the spread scales sparse columns alike",
            )
        ahead = [plan.claimed] * sum(party in parties for parties in samples.values())
        spent[party] = open_budget(job, site, party).check_ahead(ahead)
    return spent


def _granted(party: str, site: PartySite, settings: HorizontalSettings) -> tuple[BudgetTerms, Path]:
    privacy, terms = settings.privacy, site.privacy
    assert privacy is not None
    table = toml_key("party", party, "privacy")
    if terms is None:
        raise JobError(
            f"the site grants no privacy budget for {party}",
            expected=f"[{table}] in the site file: what all jobs together may tell of its rows",
            got="none",
            cure='add it, such as data_set = "patients", epsilon = 8.0, delta = 1e-6',
        )
    if site.state is None:
        raise JobError(
            f"the privacy budget of {party} has no place that outlasts runs",
            expected=f"{toml_key('party', party, 'state')} in the site file: a folder outside of all runs",
            got="none",
            cure=f'add state = "state/{party}"',
        )
    for key, ours, theirs in (("unit", terms.unit, privacy.unit), ("neighbours", terms.neighbours, privacy.neighbours)):
        if ours != theirs:
            raise PolicyError(
                f"the job's privacy.{key} is not the one of {party}'s budget",
                expected=f"{ours!r}, as [{table}] says",
                got=repr(theirs),
                cure=f"change privacy.{key} in the job, or let the site's owner grant a budget of that kind",
            )
    return terms, site.state
