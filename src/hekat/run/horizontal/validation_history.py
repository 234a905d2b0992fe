"""Metrics of validation in a checkpoint's history, beside the training loss of each round.

The entry of a round holds "validation/NAME" for the model at its start, where it validated; the last entry holds
"final/NAME" once the model that training ended with was validated, and "fold-K/NAME" for each fold that is done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.state import refuse_checkpoint

_ROUND, _FINAL, _FOLD = "validation/", "final/", "fold-"
_ROUNDS = "rounds"
_ALWAYS = {True: {"rows", "rmse"}, False: {"rows", "accuracy", "log_loss"}}
_SOMETIMES = {True: {"r2"}, False: {"auc", "auc_error"}}

Entry = Mapping[str, float]


def write_history(state: TrainingState) -> tuple[Entry, ...]:
    """An entry for each round."""
    entries: list[dict[str, float]] = [{"loss": loss} for loss in state.losses]
    for number, metrics in state.validation.by_round.items():
        entries[number - 1] |= {f"{_ROUND}{name}": value for name, value in metrics.items()}
    if state.validation.final is not None:
        entries[-1] |= {f"{_FINAL}{name}": value for name, value in state.validation.final.items()}
    for fold, metrics in enumerate(state.folds, 1):
        entries[-1] |= {f"{_FOLD}{fold}/{name}": value for name, value in metrics.items()}
    return tuple(entries)


def read_history(history: Sequence[Entry]) -> tuple[dict[int, dict[str, float]], dict[str, float] | None]:
    """(metrics by round, final metrics or None)."""
    by_round = {number: found for number, entry in enumerate(history, 1) if (found := _named(entry, _ROUND))}
    return by_round, (_named(history[-1], _FINAL) or None) if history else None


def read_folds(history: Sequence[Entry]) -> list[dict[str, float]]:
    """The metrics of each fold that is done, in order."""
    folds: list[dict[str, float]] = []
    while history and (found := _named(history[-1], f"{_FOLD}{len(folds) + 1}/")):
        folds.append(found)
    return folds


def check_history(what: str, history: Sequence[Entry], settings: HorizontalSettings) -> None:
    """Raise StateError unless the entries beside the losses are those that this job's validation leaves."""
    validation, last = settings.validation, len(history)
    validates = validation.hold_out > 0
    for number, entry in enumerate(history, 1):
        is_due = validates and (number - 1) % validation.every == 0
        fits = (
            all(name == "loss" or name.startswith((_ROUND, _FINAL, _FOLD)) for name in entry)
            and (number == last or not any(name.startswith(_FOLD) for name in entry))
            and _fits(_named(entry, _ROUND), settings, may_lack=not is_due, may_be=is_due)
            and _fits(_named(entry, _FINAL), settings, may_lack=True, may_be=validates and number == last)
        )
        if not fits:
            raise refuse_checkpoint(what, f"the metrics of round {number} as this job measures them", "something else")
    _check_folds(what, history, settings)


def _check_folds(what: str, history: Sequence[Entry], settings: HorizontalSettings) -> None:
    folds = read_folds(history)
    told = sum(name.startswith(_FOLD) for name in history[-1]) if history else 0
    fits = (
        len(folds) <= settings.validation.folds
        and told == sum(map(len, folds))
        and all(type(found.get(_ROUNDS)) is int for found in folds)
        and all(1 <= found[_ROUNDS] <= settings.training.round_count for found in folds)
    )
    measured = [{name: value for name, value in found.items() if name != _ROUNDS} for found in folds]
    if not (fits and all(_fits(found, settings, may_lack=False, may_be=True) for found in measured)):
        raise refuse_checkpoint(what, "metrics of folds as this job measures them", "something else")


def _named(entry: Entry, prefix: str) -> dict[str, float]:
    return {name.removeprefix(prefix): value for name, value in entry.items() if name.startswith(prefix)}


def _fits(metrics: Entry, settings: HorizontalSettings, *, may_lack: bool, may_be: bool) -> bool:
    if not metrics:
        return may_lack
    is_regression = settings.classes is None
    always = _ALWAYS[is_regression]
    return (
        may_be
        and always <= metrics.keys() <= always | _SOMETIMES[is_regression]
        and all(math.isfinite(value) for value in metrics.values())
        and type(metrics["rows"]) is int
        and metrics["rows"] > 0
        and all(metrics[name] >= 0 for name in ("rmse", "log_loss") if name in metrics)
    )
