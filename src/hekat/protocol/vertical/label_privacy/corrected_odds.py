"""Probabilities of labels, from a model that was trained on labels replaced at known odds.

Such a model estimates q, the probability of an answer; the label's own is p = (q - f) / (k - f), with k the odds that a
class stays and f the odds of each other class. Where p would pass `FLOOR`, or fall below 1 - FLOOR of 1, log-odds go on
at slope 1 instead: an estimate beyond what any label can give is no certainty, and rows keep their order.

Source: Natarajan et al. 2013 (Learning with noisy labels), section 3; Patrini et al. 2017, forward correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical.label_privacy.randomised_response import RandomisedResponse

FloatArray = npt.NDArray[np.float64]

FLOOR: Final = 2.0**-10


def correct_log_odds(log_odds: FloatArray, epsilon: float | None, classes: Sequence[str] | None) -> FloatArray:
    """Log-odds of labels, from log-odds of answers, in any shape; the order of values stays.

    Without an epsilon, or classes, labels were not replaced, and log-odds stay as they are.

    Examples:
        >>> import numpy as np
        >>> from hekat.protocol.vertical.label_privacy import correct_log_odds
        >>> correct_log_odds(np.array([-0.5, 0.0, 0.5]), 1.0, ("no", "yes")).round(2).tolist()
        [-1.2, 0.0, 1.2]
    """
    if epsilon is None or classes is None:
        return log_odds
    response = RandomisedResponse(epsilon, len(classes))
    kept, other = response.keep_odds, response.flip_odds
    answers = 0.5 * (1.0 + np.tanh(log_odds / 2))
    labels = np.clip((answers - other) / (kept - other), FLOOR, 1 - FLOOR)
    ends = [_logit(other + (kept - other) * end) for end in (FLOOR, 1 - FLOOR)]
    return np.asarray(_logit(labels) + log_odds - np.clip(log_odds, *ends))


def correct_softmax(scores: FloatArray, epsilon: float | None, classes: Sequence[str] | None) -> FloatArray:
    """Scores (rows, K) whose softmax gives probabilities of labels, from scores whose softmax gives the answers'; for
    two classes log-odds (rows, 1). As they are without an epsilon."""
    if epsilon is None or scores.shape[1] == 1:
        return correct_log_odds(scores, epsilon, classes)
    corrected = correct_log_odds(odds_against_others(scores), epsilon, classes)
    # Logarithms of sigmoids, which a softmax brings to a sum of 1.
    return np.asarray(-np.logaddexp(0.0, -corrected))


def odds_against_others(values: FloatArray) -> FloatArray:
    """Log-odds (rows, K) of each class against all others, from values whose softmax gives the probabilities: their
    sigmoids add up to 1."""
    found = np.empty_like(values)
    for column in range(values.shape[1]):
        others = np.delete(values, column, axis=1)
        found[:, column] = values[:, column] - np.logaddexp.reduce(others, axis=1)
    return found


def _logit(odds: FloatArray | float) -> FloatArray:
    return np.asarray(np.log(odds) - np.log1p(-np.asarray(odds)))
