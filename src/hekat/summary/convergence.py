"""Whether a training converged, as summaries have it: from its losses, and from weights that everybody knows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NotRequired, TypedDict

from hekat.protocol.loss_verdict import Course, judge_losses

MOST_WEIGHT = 1e3
"""A weight of a classification beyond this, on standardised columns, is beyond reason: it makes every row certain."""


class Convergence(TypedDict):
    """`course` as `judge_losses` has it, "settled" also where training found for itself that it had nothing to gain,
    "diverged" also by weights. `start`, `best` and `last` are losses, `recent` counts the last steps, of `steps`, that
    `fall` is taken over; `largest_weight` is None where weights are not known, or of no common unit. `noise_std` is the
    standard deviation of the noise in each loss, absent where losses are exact.
    """

    course: Course
    start: float | None
    best: float | None
    last: float | None
    steps: int
    recent: int
    fall: float
    largest_weight: float | None
    noise_std: NotRequired[float]


def describe_convergence(
    losses: Sequence[float],
    *,
    untrained: float | None = None,
    held: Sequence[bool] = (),
    stopped_early: bool = False,
    largest_weight: float | None = None,
    noise_std: float = 0.0,
) -> Convergence | None:
    """The convergence of a training with these losses, None where nothing is known of it here.

    `untrained`, `held` and `noise_std` as for `judge_losses`; `stopped_early`: a rule ended training before the last
    step that it was given.
    """
    if not losses and largest_weight is None:
        return None
    verdict = judge_losses(losses, untrained=untrained, held=held, noise_std=noise_std)
    course = verdict.course
    if course == "falling" and stopped_early:
        course = "settled"
    if largest_weight is not None and not largest_weight <= MOST_WEIGHT:
        course = "diverged"
    found = Convergence(
        course=course,
        start=_finite(verdict.start),
        best=_finite(verdict.best),
        last=_finite(verdict.last),
        steps=len(losses),
        recent=verdict.recent,
        fall=verdict.fall,
        largest_weight=None if largest_weight is None else _finite(largest_weight),
    )
    if noise_std:
        found["noise_std"] = noise_std
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
