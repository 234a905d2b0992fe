"""The metrics of folds in a checkpoint: kept to the bit, and refused where this job cannot have measured them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import StateError
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.run.horizontal.validation_history import check_history, read_folds

SETTINGS = HorizontalSettings(
    parties=("a", "b", "c"),
    aggregator="hub",
    classes=("no", "yes"),
    weight_max=10,
    training=TrainingSettings(round_count=2),
    validation=ValidationSettings(folds=3),
)
FOLD = {"rows": 5, "accuracy": 0.75, "log_loss": 0.5, "auc": 0.7, "auc_error": 0.01, "rounds": 2}


def history(*folds: dict, first: dict | None = None):
    last = {f"fold-{number}/{name}": value for number, fold in enumerate(folds, 1) for name, value in fold.items()}
    return [{"loss": 0.7, **(first or {})}, {"loss": 0.6, **last}]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_folds_are_read_in_order(count) -> None:
    folds = [{**FOLD, "accuracy": 0.1 * number} for number in range(count)]
    check_history("checkpoint", history(*folds), SETTINGS)
    assert read_folds(history(*folds)) == folds


@pytest.mark.parametrize(
    "entries",
    [
        history(FOLD, FOLD, FOLD, FOLD),
        history(first={"fold-1/rows": 5}),
        history({name: value for name, value in FOLD.items() if name != "rounds"}),
        history({**FOLD, "rounds": 3}),
        history({**FOLD, "rounds": 1.5}),
        history({**FOLD, "rows": 0}),
        history({**FOLD, "log_loss": -1.0}),
        history({**FOLD, "accuracy": float("nan")}),
        history({**FOLD, "rmse": 1.0}),
        [{"loss": 0.7}, {"loss": 0.6, "fold-2/rows": 5, "fold-2/rounds": 1}],
    ],
)
def test_other_metrics_are_refused(entries) -> None:
    with pytest.raises(StateError, match="as this job measures them"):
        check_history("checkpoint", entries, SETTINGS)


def test_a_job_without_folds_has_none() -> None:
    with pytest.raises(StateError, match="as this job measures them"):
        check_history("checkpoint", history(FOLD), replace(SETTINGS, validation=ValidationSettings()))
