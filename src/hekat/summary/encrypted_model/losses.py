"""The loss of a model that its owner measured: the log loss, or half the mean squared error."""

from __future__ import annotations

from collections.abc import Mapping


def loss_of(metrics: Mapping[str, float]) -> float | None:
    """The mean loss of a row that metrics tell; None where they tell none."""
    if "log_loss" in metrics:
        return metrics["log_loss"]
    return metrics["rmse"] ** 2 / 2 if "rmse" in metrics else None
