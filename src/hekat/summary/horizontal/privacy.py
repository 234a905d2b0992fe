"""Differential privacy in summary.json: what a job promises, what its releases cost, and what is left at each site."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hekat.privacy.accounting import NEIGHBOURS, epsilon_if_continuous, epsilon_of
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.state.privacy_budget import Spent
from hekat.summary.horizontal.finished_run import FinishedRun


def describe_privacy(run: FinishedRun) -> dict[str, Any] | None:
    """The table "privacy" of a run; None where its sums were exact, and where no party is known here."""
    records = [record for record in run.records if record.privacy is not None]
    if not records:
        return None
    last = records[-1]
    assert last.privacy is not None  # as chosen above
    plan = run.settings.plan_privacy(last.value_count // last.party_count)
    assert plan is not None  # the records have privacy
    spent = {
        party: result.records[-1].privacy.spent
        for party, result in run.results.items()
        if result.records and result.records[-1].privacy is not None and result.records[-1].privacy.spent is not None
    }
    by_round = [
        {
            "round": record.round,
            "epsilon": _finite(record.privacy.epsilon),
            "epsilon_at_one": _finite(record.privacy.epsilon_at_one),
        }
        for record in records
        if record.privacy is not None
    ]
    return describe_plan(
        plan, least_parties(run.settings.sums, run.settings.sample_size), last.privacy.release_count
    ) | {
        "by_round": by_round,
        "budgets": describe_budgets(spent),
    }


def describe_plan(plan: PrivacyPlan, least: int, releases: int) -> dict[str, Any]:
    """The noise of a job, and the loss of so many releases of it; `least` are the fewest parties of a sum.

    An epsilon is None where there is no finite one.
    """
    privacy, mechanism = plan.settings, plan.mechanism
    claimed, at_one = {plan.claimed: releases}, {plan.at_one: releases}
    return {
        "unit": privacy.unit,
        "neighbours": privacy.neighbours,
        "clip": privacy.clip,
        "delta": privacy.delta,
        "batches": privacy.batches,
        "sampling": privacy.sampling,
        "divisor": plan.divisor,
        "noise": mechanism.noise,
        "colluders": plan.colluders,
        "least_parties": least,
        "value_count": mechanism.value_count,
        "levels": mechanism.levels,
        "std_levels": mechanism.std,
        "excess": mechanism.excess,
        "alpha": mechanism.alpha,
        "loss_bound": privacy.loss_bound,
        "releases": releases,
        "epsilon": _finite(epsilon_of(claimed, privacy.delta, privacy.neighbours)),
        "epsilon_at_one": _finite(epsilon_of(at_one, privacy.delta, privacy.neighbours)),
        "epsilon_if_continuous": _finite(epsilon_if_continuous(claimed, privacy.delta, privacy.neighbours)),
        "epsilon_by_neighbours": {
            neighbours: _finite(epsilon_of(claimed, privacy.delta, neighbours)) for neighbours in NEIGHBOURS
        },
    }


def describe_budgets(spent: Mapping[str, Spent]) -> list[dict[str, Any]]:
    """What each party's rows have spent over all jobs, and the limit that its site sets."""
    return [
        {"party": party, "epsilon": _finite(one.epsilon), "limit": one.limit, "releases": one.release_count}
        for party, one in spent.items()
    ]


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
