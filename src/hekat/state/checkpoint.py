"""Checkpoints: everything a party needs to take a training run up again at the round where it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, StateError
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.atomic_file import replace_file
from hekat.state.disk_errors import read_file

CHECKPOINT_FORMAT = 1
_KIND = "checkpoint"
_GROUPS = ("parameters", "optimiser_state", "codec_state")

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Checkpoint:
    """The state after `rounds_done` rounds of the job with `job_digest`.

    `codec_state` holds what else the run carries on, floats or arrays (clipping bounds, a standardiser); a scalar array
    in it comes back as a float. `metrics_history` has one entry per round.
    """

    job_digest: bytes
    rounds_done: int
    parameters: Mapping[str, npt.NDArray[np.float64]] = field(repr=False)
    optimiser_state: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict, repr=False)
    codec_state: Mapping[str, float | Array] = field(default_factory=dict, repr=False)
    metrics_history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write `checkpoint` in place of what is at `path`, whole or not at all, mode 0600. Raises StateError."""
    if checkpoint.rounds_done < 0:
        raise InputError("a checkpoint before the start", expected="rounds_done >= 0", got=str(checkpoint.rounds_done))
    arrays: dict[str, Array] = {}
    for group in _GROUPS:
        for name, value in getattr(checkpoint, group).items():
            arrays[f"{group}/{name}"] = np.asarray(value)
    metadata = {
        "version": CHECKPOINT_FORMAT,
        "job_digest": checkpoint.job_digest.hex(),
        "rounds_done": checkpoint.rounds_done,
        "metrics_history": [dict(entry) for entry in checkpoint.metrics_history],
    }
    replace_file(path, encode_arrays(_KIND, metadata, arrays))


def load_checkpoint(path: Path, job_digest: bytes) -> Checkpoint:
    """The checkpoint at `path`, which must be of the job with `job_digest`.

    Raises StateError where it is not there, damaged, of another format version, or of another job.
    """
    metadata, arrays = decode_arrays(read_file(path), _KIND, f"checkpoint {path}")
    if metadata.get("version") != CHECKPOINT_FORMAT:
        raise StateError(
            f"checkpoint {path} has another format version",
            expected=f"version {CHECKPOINT_FORMAT}",
            got=f"version {metadata.get('version')}",
            cure="resume with the release of Hekat that wrote it",
        )
    if metadata["job_digest"] != job_digest.hex():
        raise StateError(
            f"checkpoint {path} belongs to another job",
            expected=f"job {job_digest.hex()[:16]}",
            got=f"job {metadata['job_digest'][:16]}",
            cure="resume with the job file it was made with, unchanged, or begin a new run",
        )
    groups: dict[str, dict[str, Array]] = {group: {} for group in _GROUPS}
    for key, values in arrays.items():
        group, _, name = key.partition("/")
        groups[group][name] = values
    codec_state = {
        name: float(values) if values.ndim == 0 else values for name, values in groups["codec_state"].items()
    }
    return Checkpoint(
        job_digest=job_digest,
        rounds_done=metadata["rounds_done"],
        parameters=groups["parameters"],
        optimiser_state=groups["optimiser_state"],
        codec_state=codec_state,
        metrics_history=tuple(metadata["metrics_history"]),
    )
