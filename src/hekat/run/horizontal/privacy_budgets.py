"""The privacy budgets of the parties here: found in their state folders, and held against a job before it trains."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hekat.data import Table
from hekat.errors import InputError
from hekat.job.horizontal.job_file import Job
from hekat.job.site_file import Site
from hekat.model import Model
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.sum_plan import SumPlan, samples_ahead
from hekat.run.rows.privacy_budget import check_delta_of_budget, open_budget
from hekat.state.privacy_budget import Spent


def plan_of(settings: HorizontalSettings, model: Model) -> PrivacyPlan | None:
    """The noise of the job's rounds; None where its sums are exact. Raises InputError."""
    if settings.privacy is None:
        return None
    names = TrainedTensors.of(model, settings.model.parameters).names
    return settings.plan_privacy(sum(math.prod(model.parameter_shapes[name]) for name in names))


def check_budgets(
    job: Job, site: Site, tables: Mapping[str, Table], plan: PrivacyPlan, sums: SumPlan
) -> dict[str, Spent]:
    """What each party's rows have spent so far. Raises BudgetError where the rounds of `sums` ahead would pass its
    limit, PolicyError for a delta of the site that its rows are too few for; to be called before training."""
    privacy = plan.settings
    samples = samples_ahead(sums, Participation(job.settings.sums, job.digest))
    spent = {}
    for party, table in tables.items():
        budget = open_budget(job, site, party)
        check_delta_of_budget(party, budget, len(table), len(job.settings.parties))
        means, _ = privacy.moments_of(table.feature_names)
        if job.sparse and means.any():
            raise InputError(
                "sparse rows cannot be centred: no zero would be left of them",
                expected="a mean of 0 in privacy.moments for each column",
                got="another mean",
                cure="set these means to 0; the spread scales sparse columns alike",
            )
        ahead = [plan.claimed] * sum(party in parties for parties in samples.values())
        spent[party] = budget.check_ahead(ahead)
    return spent
