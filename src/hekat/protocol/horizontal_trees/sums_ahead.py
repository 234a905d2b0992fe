"""The sums of a run of trees across rows: their steps, and the groups whose sums are of the same parties."""

from __future__ import annotations

import re

from hekat.protocol.horizontal_trees.binning.agree_on_bins import most_cells
from hekat.protocol.horizontal_trees.measures import SCORE_BINS
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.secure_sum.sum_plan import SumPlan

START_GROUP = "start"
LABELS_STEP = "start/labels"
RESIDUALS_STEP = "start/residuals"
FINAL_STEP = "final/loss"

_ITERATION = re.compile(r"tree-(\d{1,9})/")
_COUNTER_SLOTS = 256
_OTHER_COUNTERS = 64


def level_step(iteration: int, level: int) -> str:
    """The sum of histograms of the trees of an iteration, from 1, at a depth from 0."""
    return f"tree-{iteration}/level-{level}"


def leaves_step(iteration: int) -> str:
    """The sum of gradients by leaf, the last one of an iteration."""
    return f"tree-{iteration}/leaves"


def iteration_of(step: str) -> int | None:
    """The iteration that a sum is of; None for a sum before the first or after the last."""
    found = _ITERATION.match(step)
    return None if found is None else int(found[1])


def plan_sums(settings: HorizontalTreesSettings, iterations_done: int = 0) -> SumPlan:
    """The run's groups of sums, and the groups ahead of a run that begins after so many iterations."""
    return SumPlan(_groups_after(settings, 0), _groups_after(settings, iterations_done))


def _groups_after(settings: HorizontalTreesSettings, done: int) -> tuple[str, ...]:
    if settings.privacy is not None:
        return tuple(f"tree-{number}" for number in range(done + 1, settings.training.max_iter + 1))
    first = [START_GROUP] if done == 0 else []
    return (*first, *(f"tree-{number}" for number in range(done + 1, settings.training.max_iter + 1)), "final")


def most_slots(settings: HorizontalTreesSettings, column_count: int) -> int:
    """No sum of a run has more slots in one upload."""
    training = settings.training
    if settings.privacy is not None:
        values: int = 2 * settings.tree_count * 2**training.max_depth
        return values + _COUNTER_SLOTS
    # A level asks for one child of each node before: half as many as it has nodes.
    asked: int = settings.tree_count * 2 ** max(0, training.max_depth - 2)
    histograms = 3 * asked * column_count * (training.max_bins + 1)
    leaves: int = 3 * settings.tree_count * 2**training.max_depth
    scores = 2 * SCORE_BINS * settings.tree_count if settings.held_out_fraction else 0
    counters = _OTHER_COUNTERS * (1 + settings.tree_count) + leaves + scores
    return max(most_cells(column_count, training.max_bins), histograms) + _COUNTER_SLOTS * counters
