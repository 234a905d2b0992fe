"""The sums that a horizontal run asks for, by the groups of their steps."""

from __future__ import annotations

from hekat.protocol.horizontal.categories.agree_on_categories import CATEGORIES_STEP
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.fills import fill_steps
from hekat.protocol.horizontal.training.standardise import STANDARDISE_STEPS
from hekat.protocol.horizontal.training.validation import FINAL_STEP, fold_group
from hekat.protocol.secure_sum.masked.opening.upload_context import group_of
from hekat.protocol.secure_sum.sum_plan import SumPlan


def plan_sums(settings: HorizontalSettings, rounds_done: int = 0) -> SumPlan:
    """The job's groups of sums, and the groups ahead of a run that begins after so many rounds."""
    return SumPlan(_groups_after(settings, 0), _groups_after(settings, rounds_done))


def _groups_after(settings: HorizontalSettings, rounds_done: int) -> tuple[str, ...]:
    first = [group_of(CATEGORIES_STEP)] if settings.found else []
    first += list(dict.fromkeys(map(group_of, fill_steps(settings.fills))))
    first += [group_of(STANDARDISE_STEPS[0])] if settings.training.standardise else []
    first += [group_of(step) for step in settings.training.steps_before_rounds]
    rounds: list[str] = []
    for number in range(rounds_done + 1, settings.training.round_count + 1):
        selective = settings.selective
        if selective is not None and selective.is_due(number):
            rounds.append(selective.group_before(number))
        rounds.append(f"round-{number}")
    last = [group_of(FINAL_STEP)] if settings.validation.hold_out else []
    last += [fold_group(fold) for fold in range(1, settings.validation.folds + 1)]
    return (*(first if rounds_done == 0 else []), *rounds, *last)
