"""The files from which each party resumes: its own state of the last epochs, readable only by its owner.

Parties end an epoch one after the other, so that a run may stop when some have saved it and some have not. Therefore
each keeps the epoch before too, and all go on from the last one that every party has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.vertical_linear.party_run import PartState
from hekat.run.numbered_files import numbered_path, numbers_of
from hekat.run.row_identity import KEY_BYTES, RowIdentity
from hekat.state import Checkpoint, cure_of_parent, is_run_id, load_checkpoint, refuse_checkpoint, save_checkpoint
from hekat.state.file_format import this_release

CHECKPOINTS_FOLDER = "checkpoints"
_FINISHED, _KEY, _DIGEST = "finished", "rows/key", "rows/digest"
_STARTED_FROM, _LIMIT_SPREADS = "started_from", "limit_spreads"
_KEPT_EPOCHS = 2
_WORD = "epoch"
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class PartyCheckpoint:
    """One party's state, the rows that it trained on, and the releases of Hekat that trained so far, in order.

    `started_from`: the id of the run whose weights training began with; None where it began with zeros. `limit_spreads`
    is the limit that was in force: what a job gets that names none has changed from release to release.
    """

    state: PartState
    rows: RowIdentity
    releases: tuple[str, ...] = ()
    started_from: str | None = None
    limit_spreads: float = 0.0


def save_party_checkpoint(folder: Path, job: VerticalJob, party: str, kept: PartyCheckpoint) -> None:
    """Write a party's checkpoint into `folder`, whole or not at all, mode 600; those older than the epoch before go.

    `folder` is made where it is missing, mode 700. Raises StateError.
    """
    state = kept.state
    with disk_errors_as_state_errors(f"{folder} could not be written"):
        folder.mkdir(mode=0o700, exist_ok=True)
    checkpoint = Checkpoint(
        job.digest,
        state.epochs_done,
        parameters=state.arrays,
        codec_state={
            _FINISHED: float(state.finished),
            _LIMIT_SPREADS: kept.limit_spreads,
            _KEY: np.frombuffer(kept.rows.key, np.uint8),
            _DIGEST: np.frombuffer(kept.rows.digest, np.uint8),
            **(
                {}
                if kept.started_from is None
                else {_STARTED_FROM: np.frombuffer(kept.started_from.encode(), np.uint8)}
            ),
        },
        metrics_history=tuple({"loss": loss} for loss in state.losses),
        releases=tuple(dict.fromkeys([*kept.releases, this_release()])),
    )
    save_checkpoint(numbered_path(folder, party, _WORD, state.epochs_done), checkpoint)
    with disk_errors_as_state_errors(f"{folder} could not be tidied"):
        for epoch in numbers_of(folder, party, _WORD)[:-_KEPT_EPOCHS]:
            numbered_path(folder, party, _WORD, epoch).unlink()


def load_party_checkpoints(folder: Path, job: VerticalJob) -> dict[str, PartyCheckpoint]:
    """Each party's checkpoint of the last epoch that all have, from the `folder` of an earlier run.

    Raises StateError where there is none, or one is damaged, of another job, or cannot be a state of it.
    """
    parties = job.settings.parties
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        epochs = {party: set(numbers_of(folder, party, _WORD)) for party in parties}
    common = set.intersection(*epochs.values())
    if not common:
        without = [party for party in parties if not epochs[party]]
        raise StateError(
            f"there is nothing to resume in {folder.parent}",
            expected=f"{CHECKPOINTS_FOLDER}/ with every party's checkpoint of one epoch",
            got=f"none of {', '.join(without)}" if without else "checkpoints of different epochs",
            cure=cure_of_parent(
                folder.parent, "check the path; a run that stopped in its first epoch begins again, without --resume"
            ),
        )
    return {party: _load(numbered_path(folder, party, _WORD, max(common)), job, party) for party in parties}


def epochs_of(folder: Path, party: str) -> list[int]:
    """The epochs that the party has checkpoints of in `folder`. Raises StateError."""
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        return numbers_of(folder, party, _WORD)


def load_own_checkpoint(folder: Path, job: VerticalJob, party: str, epoch: int) -> PartyCheckpoint:
    """One party's checkpoint of an epoch. Raises StateError as `load_party_checkpoints`."""
    return _load(numbered_path(folder, party, _WORD, epoch), job, party)


def has_checkpoints(folder: Path) -> bool:
    """Whether the run in `folder` left any party's checkpoint."""
    return any((folder / CHECKPOINTS_FOLDER).glob("*.npz"))


def _load(path: Path, job: VerticalJob, party: str) -> PartyCheckpoint:
    found, what = load_checkpoint(path, job.digest), f"checkpoint {path}"
    finished = found.codec_state.get(_FINISHED)
    has_all = found.codec_state.keys() - {_STARTED_FROM, _LIMIT_SPREADS} == {_FINISHED, _KEY, _DIGEST}
    if not has_all or finished not in (0.0, 1.0):
        raise refuse_checkpoint(what, "a vertical party's state", "another")
    arrays: Mapping[str, npt.NDArray[Any]] = found.parameters
    for name, values in arrays.items():
        is_number = values.dtype == np.float64 and bool(np.isfinite(values).all())
        if not is_number and values.dtype != np.uint64:
            raise refuse_checkpoint(what, "finite numbers or shares of them", f"array {name:.40} of another kind")
    losses = tuple(float(entry.get("loss", np.nan)) for entry in found.metrics_history)
    if len(losses) != (found.rounds_done if party == job.settings.guest else 0) or not np.isfinite(losses).all():
        raise refuse_checkpoint(what, "a loss of each epoch at the guest alone", "others")
    state = PartState(arrays, found.rounds_done, bool(finished), losses)
    rows = RowIdentity(_bytes_of(found, _KEY, KEY_BYTES, what), _bytes_of(found, _DIGEST, _DIGEST_BYTES, what))
    limit_spreads = _limit_spreads(found, job, what)
    return PartyCheckpoint(state, rows, found.releases, _started_from(found, what), limit_spreads)


def _limit_spreads(found: Checkpoint, job: VerticalJob, what: str) -> float:
    """The limit that the run had. Before checkpoints said it, there was none unless the job named one."""
    limit = found.codec_state.get(_LIMIT_SPREADS, job.settings.training.limit_spreads or 0.0)
    if not isinstance(limit, float) or not 0 <= limit < math.inf:
        raise refuse_checkpoint(what, "the limit in spreads that training had", "another value")
    return limit


def _started_from(found: Checkpoint, what: str) -> str | None:
    if _STARTED_FROM not in found.codec_state:
        return None
    value = np.asarray(found.codec_state[_STARTED_FROM])
    run_id = value.tobytes().decode("ascii", "replace") if value.dtype == np.uint8 else ""
    if not is_run_id(run_id):
        raise refuse_checkpoint(what, "the id of the run that training started from", "another value")
    return run_id


def _bytes_of(found: Checkpoint, name: str, size: int, what: str) -> bytes:
    value = np.asarray(found.codec_state[name])
    if value.dtype != np.uint8 or value.shape != (size,):
        raise refuse_checkpoint(what, f"{name}, {size} bytes", "others")
    return value.tobytes()
