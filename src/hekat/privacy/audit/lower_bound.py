"""A lower bound on epsilon from one run, by how many guesses about canaries were right.

Each of m canaries is in the run by a fair coin of its own. Whoever sees what the run tells guesses r of the coins; more
right guesses than a private run allows, with a small chance to be wrong, refute its epsilon.

Source: Steinke, Nasr, Jagielski 2023 (Privacy auditing with one training run), Theorem 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

CONFIDENCE = 0.95
# Parts of the canaries that are guessed: the fewer, the surer, the more, the stronger.
GUESSED = (1 / 64, 1 / 16, 1 / 4, 1.0)
# The bound is found to this, downwards.
_STEP = 1e-4
_MOST = 64.0


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        epsilon: No run with a smaller epsilon tells that much, with the confidence asked for; 0 where it tells nothing.
        right: Guesses that were right, where the bound was found.
        guesses: Of so many.
        canaries: m.
        delta: That the bound is for.
    """

    epsilon: float
    right: int
    guesses: int
    canaries: int
    delta: float


def audit_scores(
    scores: npt.NDArray[Any],
    included: npt.NDArray[np.bool_],
    *,
    delta: float,
    confidence: float = CONFIDENCE,
    guessed: Sequence[float] = GUESSED,
) -> Audit:
    """The largest lower bound on epsilon over some numbers of guesses.

    Of r guesses half say "in", of the canaries with the highest scores, and half "out", of those with the lowest. What
    scores are is up to the caller: a coordinate of an opened sum (`LevelCanaries`), how much a model's loss on a
    mislabelled row fell.

    Args:
        scores: One for each canary, higher where it seems to be in.
        included: Whether it was, by fair coins that the scores' maker did not see.
        delta: Of the claim that is audited; 2 m delta should be far below 1 - confidence.
        confidence: The chance that the bound holds, above 0, below 1; shared out over the numbers of guesses.
        guessed: Parts of the canaries to guess, above 0, up to 1.

    Returns:
        The number of guesses whose bound is largest, and the bound.

    Raises:
        InputError: Scores that are no numbers, another number of coins, fewer than two canaries, a delta, confidence
            or part out of range.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy.audit import audit_scores
        >>> included = np.arange(1000) % 2 == 0
        >>> found = audit_scores(included * 5.0, included, delta=1e-7)
        >>> found.right, found.guesses, round(found.epsilon, 1)
        (1000, 1000, 5.4)
        >>> audit_scores(np.zeros(1000), included, delta=1e-7).epsilon
        0.0
    """
    scores, included = np.asarray(scores), np.asarray(included)
    if scores.ndim != 1 or scores.size < 2 or not np.isfinite(scores).all():
        raise InputError("scores of canaries refused", expected="two and more finite numbers", got=f"{scores.shape}")
    if included.shape != scores.shape or included.dtype != np.bool_:
        expected = f"{scores.size} truths, one for each score"
        raise InputError("coins of canaries refused", expected=expected, got=f"{included.dtype} {included.shape}")
    _check_chances(delta, confidence)
    if not guessed or not all(0 < part <= 1 for part in guessed):
        raise InputError("parts of canaries to guess refused", expected="above 0, up to 1", got=str(list(guessed)))
    order = np.argsort(scores, kind="stable")
    found = []
    for part in guessed:
        half = max(1, int(scores.size * part) // 2)
        right = int(included[order[-half:]].sum()) + int((~included[order[:half]]).sum())
        share = 1 - (1 - confidence) / len(guessed)
        epsilon = epsilon_at_least(right, 2 * half, scores.size, delta=delta, confidence=share)
        found.append(Audit(epsilon, right, 2 * half, scores.size, delta))
    return max(found, key=lambda one: one.epsilon)


def epsilon_at_least(right: int, guesses: int, canaries: int, *, delta: float, confidence: float = CONFIDENCE) -> float:
    """The largest epsilon, rounded down, that so many right guesses refute; 0 where they refute none.

    Under (epsilon, delta) the chance of v and more right guesses of r is at most beta + 2 m delta alpha, with W
    binomial, r coins of chance q = e^epsilon / (1 + e^epsilon): beta = P[W >= v], alpha = max over i from 1 to v of
    P[v - i <= W < v] / i.

    Args:
        right: v, up to r.
        guesses: r, up to m.
        canaries: m.
        delta: As in `audit_scores`.
        confidence: As there.

    Returns:
        A lower bound on epsilon, at that confidence.

    Raises:
        InputError: Numbers that do not fit each other, a delta or confidence out of range.

    Examples:
        >>> from hekat.privacy.audit import epsilon_at_least
        >>> round(epsilon_at_least(900, 1000, 1000, delta=0), 2)
        2.02
        >>> round(epsilon_at_least(900, 1000, 10_000, delta=1e-4), 2)
        1.93
        >>> epsilon_at_least(500, 1000, 1000, delta=0)
        0.0
    """
    if not 0 <= right <= guesses <= canaries or guesses < 1:
        shown = f"{right} right of {guesses} guesses on {canaries} canaries"
        raise InputError("guesses refused", expected="no more right than guessed, one guess a canary", got=shown)
    _check_chances(delta, confidence)
    refuted = _Refuted(right, guesses, 2 * canaries * delta, 1 - confidence)
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, _MOST
    while high - low > _STEP:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


class _Refuted:
    """Whether v right guesses of r are too many for an epsilon."""

    def __init__(self, right: int, guesses: int, weight: float, chance: float) -> None:
        logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, guesses + 1)))))
        self._log_choose = logs[-1] - logs - logs[::-1]
        self._right, self._weight, self._chance = right, weight, chance
        self._counts = np.arange(guesses + 1)

    def __call__(self, epsilon: float) -> bool:
        log_wrong = -math.log1p(math.exp(epsilon))
        wrong = self._counts[::-1]
        # log q = log(1 - q) + epsilon
        chances = np.exp(self._log_choose + log_wrong * self._counts[-1] + epsilon * (self._counts[-1] - wrong))
        beta = float(chances[self._right :].sum())
        below = np.cumsum(chances[: self._right][::-1])
        alpha = float((below / np.arange(1, self._right + 1)).max(initial=0.0))
        return beta + self._weight * alpha < self._chance


def _check_chances(delta: float, confidence: float) -> None:
    if not 0 <= delta < 1:
        raise InputError("delta of an audit refused", expected="0 up to below 1", got=f"{delta:g}")
    if not 0 < confidence < 1:
        raise InputError("confidence of an audit refused", expected="above 0, below 1", got=f"{confidence:g}")
