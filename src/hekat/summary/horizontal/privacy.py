"""Differential privacy in summary.json: what a job promises, what its releases cost, and what is left at each site."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hekat.privacy.accounting import NEIGHBOURS, epsilon_if_continuous, epsilon_of
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.training_state import RoundPrivacy
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.state.privacy_budget import Spent, least_colluders
from hekat.summary.horizontal.finished_run import FinishedRun


def describe_privacy(run: FinishedRun) -> dict[str, Any] | None:
    """The table "privacy" of a run; None where its sums were exact, and where no party is known here.

    The claim is of the party with the most releases: with `participation`, and after rounds that were trained again,
    parties differ.
    """
    records = [record for record in run.records if record.privacy is not None]
    if not records:
        return None
    last, most = records[-1], _most_releases(run)
    plan = run.settings.plan_privacy(last.value_count // last.party_count)
    assert plan is not None  # the records have privacy
    spent = {
        party: result.records[-1].privacy.spent
        for party, result in run.results.items()
        if result.records and result.records[-1].privacy is not None and result.records[-1].privacy.spent is not None
    }
    by_round = [
        {"round": number, "epsilon": _finite(cost.epsilon), "epsilon_at_one": _finite(cost.epsilon_at_one)}
        for number, cost in sorted(most.items())
    ]
    releases = max(cost.release_count for cost in most.values())
    least = least_parties(run.settings.sums, run.settings.sample_size)
    return describe_plan(plan, least, releases, run.trained.losses) | {
        "by_round": by_round,
        "budgets": describe_budgets(spent, least),
    }


def loss_noise_of(settings: HorizontalSettings, value_count: int, losses: Sequence[float]) -> float:
    """The standard deviation of a round's loss by noise and coins, for updates of so many values and the losses of all
    rounds; 0 where sums are exact."""
    plan = settings.plan_privacy(value_count) if value_count else None
    return 0.0 if plan is None else plan.loss_std(losses)


def _most_releases(run: FinishedRun) -> dict[int, RoundPrivacy]:
    """By round, what the party with the most releases by its end tells."""
    found: dict[int, RoundPrivacy] = {}
    for record in (record for result in run.results.values() for record in result.records):
        cost, before = record.privacy, found.get(record.round)
        if cost is not None and (before is None or cost.release_count > before.release_count):
            found[record.round] = cost
    return found


def describe_plan(plan: PrivacyPlan, least: int, releases: int, losses: Sequence[float] = ()) -> dict[str, Any]:
    """The noise of a job, and the loss of so many releases of it; `least` are the fewest parties of a sum, `losses` the
    released ones.

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
        "loss_std": plan.loss_std(losses),
        "releases": releases,
        "epsilon": _finite(epsilon_of(claimed, privacy.delta, privacy.neighbours)),
        "epsilon_at_one": _finite(epsilon_of(at_one, privacy.delta, privacy.neighbours)),
        "epsilon_if_continuous": _finite(epsilon_if_continuous(claimed, privacy.delta, privacy.neighbours)),
        "epsilon_by_neighbours": {
            neighbours: _finite(epsilon_of(claimed, privacy.delta, neighbours)) for neighbours in NEIGHBOURS
        },
    }


def describe_budgets(spent: Mapping[str, Spent], least: int) -> list[dict[str, Any]]:
    """What each party's rows have spent over all jobs, the limit that its site sets, and the colluders that it asks a
    claim to reckon with, in sums of `least` parties and more."""
    return [
        {
            "party": party,
            "epsilon": _finite(one.epsilon),
            "limit": one.limit,
            "releases": one.release_count,
            "colluders": least_colluders(one.colluders, least),
        }
        for party, one in spent.items()
    ]


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
