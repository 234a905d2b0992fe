"""Training states as checkpoints and models as files: names and shapes that another release can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hekat.job.check_resumable import check_resumable
from hekat.job.job_file import Job
from hekat.protocol.horizontal.standardise import Standardiser
from hekat.protocol.horizontal.training import TrainingState
from hekat.state import Checkpoint, load_checkpoint, save_checkpoint, save_model

MODEL_FORMAT = 1


def save_state(path: Path, job: Job, state: TrainingState) -> None:
    """Write the state as a checkpoint in place of the last one, whole or not at all."""
    codec_state: dict[str, float | np.ndarray] = {
        "standardiser/mean": state.standardiser.mean,
        "standardiser/spread": state.standardiser.spread,
        "finished": float(state.finished),
        **{f"bound/{name}": bound for name, bound in state.bounds.items()},
    }
    history = tuple({"loss": loss} for loss in state.losses)
    save_checkpoint(
        path,
        Checkpoint(job.digest, state.rounds_done, state.parameters, state.optimiser_state, codec_state, history),
    )


def load_state(path: Path, job: Job, column_count: int) -> TrainingState:
    """The state in the checkpoint at `path`, for tables of `column_count` columns.

    Raises StateError where it is damaged, of another job, or cannot be a state of this job's training.
    """
    checkpoint = load_checkpoint(path, job.digest)
    check_resumable(f"checkpoint {path}", checkpoint, job.settings, column_count)
    codec_state = checkpoint.codec_state
    mean, spread = codec_state["standardiser/mean"], codec_state["standardiser/spread"]
    return TrainingState(
        parameters=dict(checkpoint.parameters),
        optimiser_state=dict(checkpoint.optimiser_state),
        standardiser=Standardiser(np.asarray(mean), np.asarray(spread)),
        rounds_done=checkpoint.rounds_done,
        bounds={
            name.removeprefix("bound/"): float(np.asarray(bound))
            for name, bound in codec_state.items()
            if name.startswith("bound/")
        },
        losses=[entry["loss"] for entry in checkpoint.metrics_history],
        finished=bool(codec_state["finished"]),
    )


def save_trained_model(path: Path, job: Job, state: TrainingState, feature_names: tuple[str, ...]) -> None:
    """Write the model with what predicting needs: columns, classes, and the standardiser beside the parameters."""
    settings = job.settings
    arrays = {
        **state.parameters,
        "standardiser/mean": state.standardiser.mean,
        "standardiser/spread": state.standardiser.spread,
    }
    metadata = {
        "format": MODEL_FORMAT,
        "job": job.name,
        "model": settings.model.name,
        "hidden": list(settings.model.hidden),
        "l2": settings.model.l2,
        "classes": list(settings.classes) if settings.classes is not None else None,
        "columns": list(feature_names),
        "rounds": state.rounds_done,
        "predict": "standardise: (x - standardiser/mean) / standardiser/spread, then the model",
    }
    save_model(path, arrays, metadata)
