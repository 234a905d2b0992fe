"""Training states as checkpoints: names and shapes that another release can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.job.horizontal.job_file import Job
from hekat.model import Model
from hekat.protocol.horizontal.training.standardise import LabelUnit, Standardiser
from hekat.protocol.horizontal.training.trained_tensors import CONTROL
from hekat.protocol.horizontal.training.training_state import SEEN, TrainingState
from hekat.protocol.horizontal.training.validation import ValidationState
from hekat.run.horizontal.check_resumable import (
    FILL,
    LABEL,
    LAST_ROUND,
    MASK,
    MASK_VALUES,
    ROW_COUNT,
    VALIDATION_EDGES,
    VOCABULARY,
    check_resumable,
    mask_of,
)
from hekat.run.horizontal.validation_history import read_folds, read_history, write_history
from hekat.run.horizontal.vocabulary_entry import decode_vocabulary, encode_vocabulary
from hekat.state import Checkpoint, load_checkpoint, refuse_checkpoint, save_checkpoint
from hekat.state.file_format import this_release

CHECKPOINT_FILE = "checkpoint.npz"
EARLIER_FILE = "checkpoint.before.npz"
"""The checkpoint before the last: not all parties may have saved their part of the last one."""
DIFFERENT_FILE = "checkpoint.different.npz"
"""The checkpoint of a run whose parties ended with different models, which none of them goes on from."""
DOUBTFUL_FILE = "checkpoint.doubtful.npz"
"""The checkpoint of a round after which, by the aggregator's word, models differ; parties go on from the one before."""

T = TypeVar("T")


def save_state(path: Path, job: Job, state: TrainingState, releases: tuple[str, ...] = ()) -> None:
    """Write the state as a checkpoint in place of the last one, whole or not at all.

    `releases` of Hekat trained it before this one did, in order.
    """
    codec_state: dict[str, float | np.ndarray] = {
        "standardiser/mean": state.standardiser.mean,
        "standardiser/spread": state.standardiser.spread,
        **({} if state.standardiser.fill is None else {FILL: state.standardiser.fill}),
        **_entry_of(state.standardiser.label),
        "finished": float(state.finished),
        **{f"bound/{name}": bound for name, bound in state.bounds.items()},
    }
    if state.validation.edges.size:
        codec_state[VALIDATION_EDGES] = state.validation.edges.astype(np.float64)
    if state.vocabulary:
        codec_state[VOCABULARY] = encode_vocabulary(state.vocabulary)
    if state.mask is not None:
        codec_state[MASK] = state.mask.packed_bits
        codec_state[MASK_VALUES] = float(state.mask.value_count)
    if state.control:
        codec_state[ROW_COUNT] = float(state.row_count)
        codec_state.update({f"{CONTROL}{name}": values for name, values in state.control.items()})
    codec_state.update({f"{SEEN}{name}": values for name, values in state.seen.items()})
    if job.settings.training.keeps_own_state:
        codec_state.update(
            {f"{LAST_ROUND}{party}": float(state.last_rounds.get(party, 0)) for party in job.settings.parties}
        )
    history = write_history(state)
    save_checkpoint(
        path,
        Checkpoint(
            job.digest,
            state.rounds_done,
            state.parameters,
            state.optimiser_state,
            codec_state,
            history,
            releases=tuple(dict.fromkeys([*releases, this_release()])),
        ),
    )


def _entry_of(label: LabelUnit | None) -> dict[str, np.ndarray]:
    return {} if label is None else {LABEL: np.array([label.mean, label.spread])}


def keep_earlier(path: Path) -> None:
    """Have the checkpoint at `path` beside the next one, once that is written. Raises StateError."""
    with disk_errors_as_state_errors(f"{path} cannot be kept"):
        if path.is_file():
            keep_beside(path, EARLIER_FILE)


def keep_beside(path: Path, name: str) -> None:
    """Have the file at `path` under this name of its folder as well. Raises OSError."""
    fresh = path.with_name(f"{name}.new")
    fresh.unlink(missing_ok=True)
    fresh.hardlink_to(path)
    fresh.replace(path.with_name(name))
    # Two names of one file are not replaced by each other: both stay.
    fresh.unlink(missing_ok=True)


@dataclass(frozen=True)
class Resumed:
    """A state to go on from, and the releases of Hekat that trained it, in order."""

    state: TrainingState
    releases: tuple[str, ...]


def load_resumed(path: Path, job: Job, column_count: int, model: Model) -> Resumed:
    """What is in the checkpoint at `path`, for tables of `column_count` columns and the job's model.

    Raises StateError where it is damaged, of another job, or cannot be a state of this job's training.
    """
    checkpoint = load_checkpoint(path, job.digest)
    try:
        if job.settings.found and _vocabulary_of(path, job, checkpoint) != job.vocabulary:
            raise refuse_checkpoint(f"checkpoint {path}", "the categories of the run's first checkpoint", "others")
        check_resumable(f"checkpoint {path}", checkpoint, job.settings, column_count, model)
    except StateError as error:
        writer = checkpoint.releases[-1]
        if writer == this_release():
            raise
        cure = f"resume with hekat {writer[:40]}, which wrote it, or begin a new run"
        raise StateError(error.what, expected=error.expected, got=error.got, cure=cure) from None
    state = replace(_state_of(checkpoint), vocabulary=job.vocabulary)
    if job.settings.selective is not None:
        state.mask = mask_of(f"checkpoint {path}", checkpoint, job.settings, model)
    return Resumed(state, checkpoint.releases)


def load_vocabulary(path: Path, job: Job) -> dict[str, tuple[str, ...]]:
    """The categories that the run found which wrote the checkpoint at `path`. Raises StateError as `load_resumed`."""
    return _vocabulary_of(path, job, load_checkpoint(path, job.digest))


def _vocabulary_of(path: Path, job: Job, checkpoint: Checkpoint) -> dict[str, tuple[str, ...]]:
    return decode_vocabulary(f"checkpoint {path}", checkpoint.codec_state.get(VOCABULARY), job.settings.found)


def load_state(path: Path, job: Job, column_count: int, model: Model) -> TrainingState:
    """The state of `load_resumed`."""
    return load_resumed(path, job, column_count, model).state


def _state_of(checkpoint: Checkpoint) -> TrainingState:
    codec_state = checkpoint.codec_state
    mean, spread = codec_state["standardiser/mean"], codec_state["standardiser/spread"]
    by_round, final = read_history(checkpoint.metrics_history)
    edges = np.asarray(codec_state.get(VALIDATION_EDGES, np.zeros((0, 0)))).astype(np.int64)
    return TrainingState(
        parameters=dict(checkpoint.parameters),
        optimiser_state=dict(checkpoint.optimiser_state),
        standardiser=Standardiser(
            np.asarray(mean),
            np.asarray(spread),
            np.asarray(codec_state[FILL]) if FILL in codec_state else None,
            LabelUnit(*np.asarray(codec_state[LABEL]).tolist()) if LABEL in codec_state else None,
        ),
        rounds_done=checkpoint.rounds_done,
        bounds={name: float(np.asarray(bound)) for name, bound in _under("bound/", codec_state).items()},
        losses=[entry["loss"] for entry in checkpoint.metrics_history],
        finished=bool(codec_state["finished"]),
        control={name: np.asarray(values) for name, values in _under(CONTROL, codec_state).items()},
        seen={name: np.asarray(values) for name, values in _under(SEEN, codec_state).items()},
        row_count=int(np.asarray(codec_state.get(ROW_COUNT, 0))),
        last_rounds={party: int(np.asarray(number)) for party, number in _under(LAST_ROUND, codec_state).items()},
        validation=ValidationState(by_round, edges, final),
        folds=read_folds(checkpoint.metrics_history),
    )


def _under(prefix: str, entries: Mapping[str, T]) -> dict[str, T]:
    """The entries whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in entries.items() if name.startswith(prefix)}
