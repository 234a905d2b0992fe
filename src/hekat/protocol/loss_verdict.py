"""Judges a series of training losses: still falling, settled, held by clipping, rising, diverged, hidden by noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Course = Literal["too short", "falling", "settled", "clipped", "rising", "diverged", "hidden by noise"]

# The last quarter of the steps, one step at least, is what the fall is taken over: a run of twice the length gets twice
# the time to show that it gains nothing more.
_RECENT_SHARE = 0.25
LEAST_FALL = 0.01
"""The share of a loss below which a change counts as none: steps that lower a loss by more leave it still falling."""
LEAST_RISE = 0.1
"""The share of the best loss by which the last one lies above a loss that counts as rising."""
DIVERGED_TIMES = 2.0
"""A loss at this many times the one of the beginning counts as diverged: the model is worse than an untrained one."""
NOISE_STDS = 5.0
"""Of noised losses a difference counts from so many of its standard deviations: fewer, and a run of some hundred rounds
would be told a change that is noise."""


@dataclass(frozen=True)
class LossVerdict:
    """What the losses of a training tell; all of them mean losses of a row, as the training minimises them.

    `start` is the loss of the beginning, `best` the lowest, `last` the last; each NaN where there is none. `recent`
    counts the last steps that `fall` is taken over; `fall` is the share of the loss before them by which they lowered
    it, negative where it rose, 0 where there is nothing to compare.
    """

    course: Course
    start: float
    best: float
    last: float
    recent: int
    fall: float


def judge_losses(
    losses: Sequence[float], *, untrained: float | None = None, held: Sequence[bool] = (), noise_std: float = 0.0
) -> LossVerdict:
    """The verdict on `losses`, one for each round or epoch in their order.

    "diverged": a loss is not finite, or the last is DIVERGED_TIMES the loss of the beginning or more. "rising": the
    last is LEAST_FALL above that loss, or LEAST_RISE above the best. "falling": the last quarter of the steps lowered
    the loss by LEAST_FALL or more. "settled": none of these. "clipped": settled to look at, but clipping held each of
    the last quarter of the steps back, so that nobody knows whether the loss has more to lose. "too short": fewer than
    two losses, and nothing to say by `untrained`.

    `untrained` is the loss of a model that was not trained, where that is known (the logarithm of the number of classes
    for a classification): with it, training that is lost within the first step shows too. `held` says of the last
    steps, as many as are known, whether clipping held them back.

    `noise_std` is the standard deviation of the noise in each loss, 0 for exact ones. Of noised losses only a change of
    NOISE_STDS times the standard deviation of a difference counts, and a finite one is never "diverged". "hidden by
    noise": none of the others shows, and the noise would hide a fall of LEAST_FALL.
    """
    known = [loss for loss in losses if math.isfinite(loss)]
    start = min([known[0], *([] if untrained is None else [untrained])]) if known else math.nan
    best, last = (min(known), losses[-1]) if known else (math.nan, losses[-1] if losses else math.nan)
    recent = max(1, int(_RECENT_SHARE * len(losses)))
    margin = NOISE_STDS * math.sqrt(2) * noise_std
    fall, before = 0.0, math.nan
    if len(known) == len(losses) > recent:
        before = losses[-1 - recent]
        # A mean loss is below 0 by its noise alone.
        fall = (before - (max(last, 0.0) if margin else last)) / before if before > 0 else 0.0
    verdict = LossVerdict("too short", start, best, last, recent, fall)
    course = _course(len(losses), len(known) == len(losses), verdict, before, margin)
    if course not in ("diverged", "clipped") and len(losses) < 2:
        course = "rising" if untrained is not None and last > (1 + LEAST_FALL) * untrained + margin else "too short"
    if course == "settled" and held and all(held[-recent:]):
        course = "clipped"
    return replace(verdict, course=course)


def _course(count: int, is_finite: bool, found: LossVerdict, before: float, margin: float) -> Course:
    """`before` is the loss that `found.fall` is measured from, `margin` the least difference that is not noise."""
    start, best, last = found.start, found.best, found.last
    if not count:
        return "too short"
    if not is_finite or (not margin and start > 0 and last >= DIVERGED_TIMES * start):
        return "diverged"
    if last > start + LEAST_FALL * abs(start) + margin or last > best + LEAST_RISE * abs(best) + margin:
        return "rising"
    if found.fall >= LEAST_FALL and before - last >= margin:
        return "falling"
    return "hidden by noise" if margin and not margin <= LEAST_FALL * abs(before) else "settled"
