"""Randomised response: a class is kept with odds that bound what anything made of the answer tells of it.

A class of K stays with odds e^eps / (e^eps + K - 1) and otherwise becomes each other class with equal odds. Whatever
the true class is, no answer is more than e^eps times as likely as with another, so no function of the answers (a sum
over epochs, a gradient at a host that lies) tells more. Against one class of two, the area under the curve of any
attack on a row is at most e^eps / (1 + e^eps), however rare the class is, beyond what the row's features tell.

Source: Warner (1965), JASA 60(309); Kairouz, Bonawitz and Ramage (ICML 2016), section 2.1, for K classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# At 8 an attack may reach an AUC of 0.9997: a larger epsilon bounds nothing.
MAX_EPSILON: Final = 8.0
# Below, targets of two classes exceed 10, and nothing is learned from so few rows that tell anything.
MIN_EPSILON: Final = 0.1
_DRAW_BITS: Final = 64


@dataclass(frozen=True)
class RandomisedResponse:
    """The odds of an answer to `class_count` classes at `epsilon`. Raises InputError for values out of range."""

    epsilon: float
    class_count: int

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, int | float) and MIN_EPSILON <= self.epsilon <= MAX_EPSILON):
            raise InputError(
                "epsilon of label privacy refused",
                expected=f"a number from {MIN_EPSILON:g} to {MAX_EPSILON:g}",
                got=str(self.epsilon)[:40],
                cure="1 bounds an attack's AUC by 0.731, 2 by 0.881, 3 by 0.953",
            )
        if self.class_count < 2:
            raise InputError(
                "label privacy takes classes",
                expected="labels of at least 2 classes",
                got="a regression, or a single class",
                cure="train without label privacy on numbers, or cut the numbers into classes",
            )

    @property
    def keep_odds(self) -> float:
        """The odds that a class stays as it is."""
        return 1.0 / (1.0 + (self.class_count - 1) * math.exp(-self.epsilon))

    @property
    def flip_odds(self) -> float:
        """The odds of each other class; for two classes f in the literature."""
        return (1.0 - self.keep_odds) / (self.class_count - 1)

    @property
    def auc_bound(self) -> float:
        """The most that an attack's AUC on a row, one class against another, reaches beyond what features tell."""
        return 1.0 / (1.0 + math.exp(-self.epsilon))

    def describe(self) -> str:
        """The line of ledgers and reports."""
        return (
            f"labels are flipped once for all runs, by randomised response at epsilon {self.epsilon:g}: "
            f"{self.keep_odds:.1%} stay; an attack on a row's label has an AUC of at most {self.auc_bound:.3f} "
            "beyond what features tell"
        )

    def answer(self, classes: IntArray, draws: npt.NDArray[np.uint64]) -> IntArray:
        """The answers (rows,) for class numbers from 0, by two uniform 64-bit draws a row, (rows, 2)."""
        # Rounded down: no class stays with odds above the exact ones by more than 2^-53.
        threshold = np.uint64(math.floor(math.ldexp(self.keep_odds, _DRAW_BITS)))
        # The upper half of a 96-bit product; the odds of classes differ by less than 2^-24 of themselves for 256.
        others = np.uint64(self.class_count - 1)
        place = (((draws[:, 1] >> np.uint64(32)) * others) >> np.uint64(32)).astype(np.int64)
        other = place + (place >= classes)
        return np.where(draws[:, 0] < threshold, classes, other)

    def unbiased_targets(self, answers: IntArray) -> FloatArray:
        """Targets (rows, K) whose mean over the flips is 1 at the true class and 0 elsewhere.

        Two classes: column 1 is (y' - f) / (1 - 2 f). Targets lie outside of [0, 1]; a loss linear in its targets, as
        the log loss is, and its gradient keep their means.
        """
        kept, other = self.keep_odds, self.flip_odds
        one_hot = np.equal.outer(answers, np.arange(self.class_count)).astype(np.float64)
        return (one_hot - other) / (kept - other)
