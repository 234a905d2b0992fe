"""How trees were grown, as the plain table of settings in summary.json."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hekat.model.trees import TreeTraining


def describe_training(training: TreeTraining) -> dict[str, Any]:
    """Every setting that is on."""
    described = asdict(training)
    if not training.early_stopping:
        for name in ("validation_fraction", "n_iter_no_change", "tol"):
            del described[name]
    return {name: value for name, value in described.items() if value is not None}
