"""The state of trees across rows as a checkpoint: the same at every party, read back whole or refused."""

from __future__ import annotations

from pathlib import Path

from hekat.atomic_file import replace_file
from hekat.disk_errors import read_file
from hekat.errors import StateError
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.state_arrays import from_arrays, to_arrays
from hekat.run.model_file_checks import UNREADABLE, flaw_of
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.file_format import FileFormat

TREES_CHECKPOINT_FORMAT = FileFormat("checkpoint of trees", ("0.3.0",))
_KIND = "checkpoint of trees"


def save_trees(path: Path, job_digest: bytes, state: TreesState) -> None:
    """Write the state in place of what is at `path`, whole or not at all, mode 0600. Raises StateError."""
    arrays, facts = to_arrays(state)
    metadata = {"version": TREES_CHECKPOINT_FORMAT.newest, "job_digest": job_digest.hex(), **facts}
    replace_file(path, encode_arrays(_KIND, metadata, arrays))


def load_trees(path: Path, job_digest: bytes) -> TreesState:
    """The state at `path`, of the job with `job_digest`.

    Raises StateError where the file is missing, damaged, of another format or job, or holds no trees that rows can go
    through: a digest shows damage, but anybody can write a file with a valid digest.
    """
    where = f"checkpoint {path}"
    metadata, arrays = decode_arrays(read_file(path), _KIND, where)
    TREES_CHECKPOINT_FORMAT.check(metadata.get("version"), where, StateError)
    if metadata.get("job_digest") != job_digest.hex():
        raise StateError(
            f"{where} belongs to another job",
            expected=f"job {job_digest.hex()[:16]}",
            got=f"job {metadata.get('job_digest')!s:.16}",
            cure="resume with the job file it was made with, unchanged, or begin a new run",
        )
    try:
        return from_arrays(arrays, metadata)
    except UNREADABLE as error:
        raise StateError(
            f"{where} cannot be resumed",
            expected="bins, trees and losses that fit each other",
            got=flaw_of(error),
            cure="resume from a folder that Hekat wrote, or begin a new run",
        ) from None
