"""A round of training, and a fold of a cross-validation, for the event log and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.training_state import RoundPrivacy, RoundRecord, TrainingState
from hekat.run.progress import Progress
from hekat.state import EventLog

FOLDS_PHASE = "cross-validation"
_SHOWN = (("accuracy", "accuracy"), ("rmse", "RMSE"))


def write_round(events: EventLog, phase: str, record: RoundRecord, metrics: Mapping[str, float]) -> None:
    """Write the round into the log; `metrics` are the model's on the common test data. Raises StateError."""
    events.write(
        "round",
        phase=phase,
        round=record.round,
        loss=record.loss,
        clipped=record.clipped_count,
        scaled_down=record.scaled_down_count,
        bounds=record.bounds,
        metrics=metrics,
        validation=record.validation,
        **({} if record.privacy is None else {"privacy": asdict(record.privacy)}),
    )


def describe_round(record: RoundRecord) -> str:
    """The losses of a round, for a line on the terminal."""
    found = record.validation
    shown = next((f", held out {found[name]:.4f}" for name in ("log_loss", "rmse") if name in found), "")
    return f"loss {record.loss:.4f}{shown}{_say_privacy(record.privacy)}"


def _say_privacy(cost: RoundPrivacy | None) -> str:
    """Epsilon so far against the claim's coalition, against the reader alone, and what is left at the site."""
    if cost is None:
        return ""
    left = "" if cost.spent is None else f", {cost.spent.left:.3g} left"
    return f", epsilon {cost.epsilon:.3g} ({cost.epsilon_at_one:.3g} at t_c = 1){left}"


def tell_fold(
    events: EventLog, progress: Progress, settings: HorizontalSettings, done: int, metrics: Mapping[str, float]
) -> None:
    """Tell log and terminal of a fold; without metrics that folds begin, or go on. Raises StateError."""
    if not metrics:
        progress.begin(FOLDS_PHASE, settings.validation.folds - done)
        return
    events.write("fold", fold=done, metrics=metrics)
    shown = next((f"{title} {metrics[name]:.4f}" for name, title in _SHOWN if name in metrics), "")
    progress.advance(FOLDS_PHASE, f"fold {done}, {shown}")


def say_checkpoint(state: TrainingState) -> str:
    """What a checkpoint of this state is of, in words."""
    count = len(state.folds)
    folds = f" and {count} {'fold' if count == 1 else 'folds'}" if count else ""
    return f"checkpoint of round {state.rounds_done}{folds}"
