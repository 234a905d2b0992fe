"""Metrics of validation in a checkpoint's history, beside the training loss of each round.

The entry of a round holds "validation/NAME" for the model at its start, where it validated; the last entry holds
"final/NAME" once the model that training ended with was validated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.loop import TrainingState
from hekat.state import refuse_checkpoint

_ROUND, _FINAL = "validation/", "final/"
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
    return tuple(entries)


def read_history(history: Sequence[Entry]) -> tuple[dict[int, dict[str, float]], dict[str, float] | None]:
    """(metrics by round, final metrics or None)."""
    by_round = {number: found for number, entry in enumerate(history, 1) if (found := _named(entry, _ROUND))}
    return by_round, (_named(history[-1], _FINAL) or None) if history else None


def check_history(what: str, history: Sequence[Entry], settings: HorizontalSettings) -> None:
    """Raise StateError unless the entries beside the losses are those that this job's validation leaves."""
    validation, last = settings.validation, len(history)
    validates = validation.hold_out > 0
    for number, entry in enumerate(history, 1):
        is_due = validates and (number - 1) % validation.every == 0
        fits = (
            all(name == "loss" or name.startswith((_ROUND, _FINAL)) for name in entry)
            and _fits(_named(entry, _ROUND), settings, may_lack=not is_due, may_be=is_due)
            and _fits(_named(entry, _FINAL), settings, may_lack=True, may_be=validates and number == last)
        )
        if not fits:
            raise refuse_checkpoint(what, f"the metrics of round {number} as this job measures them", "something else")


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
