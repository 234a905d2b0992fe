"""Scores of one class against the rest, counted in bins that all parties share, and the AUC of such counts.

A score is the log-odds z of the class. Its place is a whole number, z -> 2^30 (1/2 + z / (2 (|z| + 2))) rounded down:
it grows with z, and no score is too large for it. Bins are cut between places, first at equal distances; then, after
each sum, so that every bin should hold the same share of a mixture, one half the counted scores and one half all
places. So bins follow the scores, however skewed, and no bin is so wide that it could hide where the scores move next.
Where scores stay and few are equal, a bin comes to hold at most 2 / bins of them, and the AUC is off by at most 1 /
bins; whatever they do, `binned_auc` says by how much at most. All of it is computed in whole numbers from sums that
every party has, so all parties cut alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.codec.counters import IntArray
from hekat.errors import InputError

PLACE_COUNT = 2**30
# On each side a quarter of all places lies beyond these log-odds.
_SCALE = 2.0


def places_of(probabilities: FloatArray, class_number: int) -> IntArray:
    """The place of each row's score of that class, from 0 to PLACE_COUNT - 1; `probabilities` is (rows, classes).

    Raises InputError where they give no score, such as NaN or below 0: no place would be right.
    """
    others = np.delete(probabilities, class_number, axis=1).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.log(probabilities[:, class_number]) - np.log(others)
    if np.isnan(scores).any():
        raise InputError(
            "the model has no usable probabilities for the held-out rows",
            expected="numbers from 0 to 1 that add up to 1",
            got=f"others in {np.count_nonzero(np.isnan(scores)):,} of {scores.size:,} rows",
            cure="look at the model's predict_proba, or set validation.auc = false",
        )
    share = (1.0 + np.sign(scores) * (1.0 - _SCALE / (np.abs(scores) + _SCALE))) / 2.0
    places: IntArray = np.minimum((share * PLACE_COUNT).astype(np.int64), PLACE_COUNT - 1)
    return places


def first_edges(bin_count: int) -> IntArray:
    """The bins before anything was counted; bin k holds places from edge k - 1 on, and below edge k."""
    return np.array([PLACE_COUNT * number // bin_count for number in range(1, bin_count)], dtype=np.int64)


def count_in_bins(places: IntArray, chosen: npt.NDArray[np.bool_], edges: IntArray) -> IntArray:
    """How many of the chosen rows lie in each bin."""
    return np.bincount(np.searchsorted(edges, places[chosen], side="right"), minlength=edges.size + 1)


def binned_auc(negatives: Sequence[int], positives: Sequence[int]) -> tuple[float, float] | None:
    """(AUC, a bound on its distance from the AUC of the scores themselves); None where a class has no row.

    Pairs of rows in one bin count half, as ties do, and each may be wrong by half: the bound is the sum over bins of
    positives times negatives, by twice the number of all pairs. That is the trapezoid rule under the ROC curve.
    """
    pairs = sum(negatives) * sum(positives)
    if not pairs:
        return None
    below = won_twice = tied = 0
    for negative, positive in zip(negatives, positives, strict=True):
        won_twice += positive * (2 * below + negative)
        tied += positive * negative
        below += negative
    return float(Fraction(won_twice, 2 * pairs)), float(Fraction(tied, 2 * pairs))


def cut_anew(edges: IntArray, negatives: Sequence[int], positives: Sequence[int]) -> IntArray:
    """The next bins, from the counts in these: both classes weigh the same, however many rows they have."""
    all_negatives, all_positives = max(1, sum(negatives)), max(1, sum(positives))
    weights = [n * all_positives + p * all_negatives for n, p in zip(negatives, positives, strict=True)]
    weight_sum = max(1, sum(weights))
    starts = [0, *map(int, edges)]
    widths = [end - start for start, end in zip(starts, [*starts[1:], PLACE_COUNT], strict=True)]
    masses = [weight * PLACE_COUNT + weight_sum * width for weight, width in zip(weights, widths, strict=True)]
    bin_count, mass_sum = len(masses), sum(masses)
    cut: list[int] = []
    before = 0
    for start, width, mass in zip(starts, widths, masses, strict=True):
        while len(cut) < bin_count - 1 and mass_sum * (len(cut) + 1) <= bin_count * (before + mass):
            wanted = mass_sum * (len(cut) + 1) - bin_count * before
            cut.append(start + (wanted * width // (bin_count * mass) if mass else 0))
        before += mass
    return np.array(cut, dtype=np.int64)
