"""Checkpoints: everything a party needs to resume a training run at the round where it stopped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.atomic_file import replace_file
from hekat.disk_errors import read_file
from hekat.errors import InputError, StateError
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.file_format import FileFormat, this_release

CHECKPOINT_FORMAT = FileFormat("checkpoint", ("0.1.0",))
# The release behind checkpoints that list no releases.
_FIRST_RELEASE = "0.1.0"
_KIND = "checkpoint"
_GROUPS = ("parameters", "optimiser_state", "codec_state")
_METADATA = ("version", "job_digest", "rounds_done", "metrics_history", "releases")

_HEX = re.compile("([0-9a-f]{2})*")

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Checkpoint:
    """The state after `rounds_done` rounds of the job with `job_digest`.

    `codec_state` holds the run's other state, floats or arrays (clipping bounds, a standardiser); a scalar array in it
    comes back as a float. `metrics_history` has one entry per round. `releases` are the releases of Hekat that trained
    so far, in order, the one that wrote the file last.
    """

    job_digest: bytes
    rounds_done: int
    parameters: Mapping[str, npt.NDArray[np.float64]] = field(repr=False)
    optimiser_state: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict, repr=False)
    codec_state: Mapping[str, float | Array] = field(default_factory=dict, repr=False)
    metrics_history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    releases: tuple[str, ...] = field(default_factory=lambda: (this_release(),))


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write `checkpoint` in place of what is at `path`, whole or not at all, mode 0600. Raises StateError."""
    if checkpoint.rounds_done < 0:
        raise InputError("a checkpoint before the start", expected="rounds_done >= 0", got=str(checkpoint.rounds_done))
    arrays: dict[str, Array] = {}
    for group in _GROUPS:
        for name, value in getattr(checkpoint, group).items():
            arrays[f"{group}/{name}"] = np.asarray(value)
    metadata = {
        "version": CHECKPOINT_FORMAT.newest,
        "job_digest": checkpoint.job_digest.hex(),
        "rounds_done": checkpoint.rounds_done,
        "metrics_history": [dict(entry) for entry in checkpoint.metrics_history],
        "releases": list(checkpoint.releases),
    }
    replace_file(path, encode_arrays(_KIND, metadata, arrays))


def load_checkpoint(path: Path, job_digest: bytes) -> Checkpoint:
    """The checkpoint at `path`, which must be of the job with `job_digest`. Raises StateError as `read_checkpoint`, and
    where it is of another job."""
    checkpoint = read_checkpoint(path)
    if checkpoint.job_digest != job_digest:
        raise StateError(
            f"checkpoint {path} belongs to another job",
            expected=f"job {job_digest.hex()[:16]}",
            got=f"job {checkpoint.job_digest.hex()[:16]}",
            cure="resume with the job file it was made with, unchanged, or begin a new run",
        )
    return checkpoint


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint at `path`, of whatever job.

    Raises StateError where the file is missing, damaged or of another format version, and where an entry is not what
    `save_checkpoint` writes: the digest shows damage, but anybody can write a file with a valid digest.
    """
    what = f"checkpoint {path}"
    metadata, arrays = decode_arrays(read_file(path), _KIND, what)
    CHECKPOINT_FORMAT.check(metadata.get("version"), what, StateError)
    _check_metadata(metadata, what)
    groups: dict[str, dict[str, Array]] = {group: {} for group in _GROUPS}
    for key, values in arrays.items():
        group, _, name = key.partition("/")
        if group not in groups or not name or values.dtype.kind not in "biuf":
            raise refuse_checkpoint(what, f"numbers under {', '.join(_GROUPS)}", f"{key!r}, an array of {values.dtype}")
        groups[group][name] = values
    codec_state = {
        name: float(values) if values.ndim == 0 else values for name, values in groups["codec_state"].items()
    }
    return Checkpoint(
        job_digest=bytes.fromhex(metadata["job_digest"]),
        rounds_done=metadata["rounds_done"],
        parameters=groups["parameters"],
        optimiser_state=groups["optimiser_state"],
        codec_state=codec_state,
        metrics_history=tuple(metadata["metrics_history"]),
        releases=tuple(metadata.get("releases", (_FIRST_RELEASE,))),
    )


def refuse_checkpoint(what: str, expected: str, got: str) -> StateError:
    """The error for a checkpoint with a valid digest and invalid content."""
    return StateError(
        f"{what} cannot be resumed",
        expected=expected,
        got=got,
        cure="resume from a folder that `hekat run` wrote, or begin a new run",
    )


def _check_metadata(metadata: dict[str, Any], what: str) -> None:
    releases = metadata.get("releases", [_FIRST_RELEASE])
    if not isinstance(releases, list) or not releases or not all(type(one) is str for one in releases):
        raise refuse_checkpoint(what, "releases, a list of texts", "something else")
    unknown = sorted(metadata.keys() - _METADATA)
    if unknown:
        raise StateError(
            f"{what} holds what this release does not know",
            expected=f"nothing beside {', '.join(_METADATA)}",
            got=", ".join(f"{name!r:.40}" for name in unknown[:4]),
            cure=f"resume with hekat {releases[-1][:40]}, which wrote it, or a newer release",
        )
    digest = metadata.get("job_digest")
    if not isinstance(digest, str) or not _HEX.fullmatch(digest):
        raise refuse_checkpoint(what, "the job's digest", "none")
    rounds_done = metadata.get("rounds_done")
    if type(rounds_done) is not int or rounds_done < 0:
        got = str(rounds_done) if type(rounds_done) is int else type(rounds_done).__name__
        raise refuse_checkpoint(what, "rounds_done, a whole number >= 0", got)
    history = metadata.get("metrics_history")
    if not isinstance(history, list) or not all(_is_entry(entry) for entry in history):
        raise refuse_checkpoint(what, "metrics_history, a list of named numbers", "something else")


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and all(type(value) in (int, float) for value in entry.values())
