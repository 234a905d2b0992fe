"""A round of training, for the event log and the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.protocol.horizontal.training.loop import RoundRecord
from hekat.state import EventLog


def write_round(events: EventLog, phase: str, record: RoundRecord, metrics: Mapping[str, float]) -> None:
    """Write the round into the log; `metrics` are the model's on the common test data. Raises StateError."""
    events.write(
        "round",
        phase=phase,
        round=record.round,
        loss=record.loss,
        clipped=record.clipped_count,
        bounds=record.bounds,
        metrics=metrics,
        validation=record.validation,
    )


def describe_round(record: RoundRecord) -> str:
    """The losses of a round, for a line on the terminal."""
    found = record.validation
    shown = next((f", held out {found[name]:.4f}" for name in ("log_loss", "rmse") if name in found), "")
    return f"loss {record.loss:.4f}{shown}"
