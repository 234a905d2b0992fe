"""A round of a training on an encrypted model, for the event log and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.summary.encrypted_model.losses import loss_of

ROUND: Final = "round"


def phase_of(job: EncryptedModelJob) -> str:
    """The name of a run of the job, as events and terminals have it."""
    return "plain" if job.settings.protection == "none" else "encrypted"


def round_event(job: EncryptedModelJob, number: int, metrics: Mapping[str, float]) -> dict[str, Any]:
    """The line of events.jsonl for a round that ended; `metrics` on the owner's rows of a model that it was given after
    the round, empty for none."""
    return {
        "event": ROUND,
        "phase": phase_of(job),
        ROUND: number,
        "loss": loss_of(metrics),
        "metrics": dict(metrics),
    }


def say_round(number: int, metrics: Mapping[str, float]) -> str:
    """A round that ended, for the terminal."""
    loss = loss_of(metrics)
    return f"round {number}" + ("" if loss is None else f", loss {loss:.4f} on the owner's rows")
