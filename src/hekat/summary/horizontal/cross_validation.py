"""What the models of folds say together: the mean of each metric over the folds, and how far folds lie apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hekat.protocol.horizontal.settings import HorizontalSettings

_NO_METRICS = ("rows", "rounds", "auc_error")


def describe_folds(settings: HorizontalSettings, folds: Sequence[dict[str, float]]) -> dict[str, Any] | None:
    """The folds, mean and standard deviation (over folds, by count - 1) of each metric; None unless all are done.

    "unsettled" counts models whose training came to the last round that the job allows.
    """
    if not settings.validation.folds or len(folds) < settings.validation.folds:
        return None
    names = [name for name in folds[0] if name not in _NO_METRICS and all(name in found for found in folds)]
    means = {name: math.fsum(found[name] for found in folds) / len(folds) for name in names}
    spreads = {
        name: math.sqrt(math.fsum((found[name] - means[name]) ** 2 for found in folds) / (len(folds) - 1))
        for name in names
    }
    unsettled = sum(found["rounds"] >= settings.training.round_count for found in folds)
    return {"folds": [dict(found) for found in folds], "mean": means, "deviation": spreads, "unsettled": unsettled}
