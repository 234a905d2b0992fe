"""Files of each party's own state from round to round, in the run's folder, readable only by its owner.

A party writes its file once a sum holds its update and before it saves that round. Where all parties share a folder,
another one may save the round first, and the run may stop between the two: so the state of the round before is kept, as
the checkpoint before is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.job.horizontal.job_file import Job
from hekat.model import Model
from hekat.model.parameters import Shapes, shapes_of
from hekat.protocol.horizontal.training.own_state import OwnState, own_state_shapes
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.run.numbered_files import numbered_path, numbers_of
from hekat.state import replace_file
from hekat.state.array_file import decode_arrays, encode_arrays

OWN_STATE_FOLDER = "own_states"
OWN_STATE_FORMAT = 1
_KIND = "own state"
_GROUPS = ("control", "owed")
_WORD = "round"
_CURE = "put the run's folder back as it was left, or begin a new run"


def save_own_state(folder: Path, job: Job, party: str, own: OwnState) -> None:
    """Write a party's state, whole or not at all, mode 600; its file of the round before stays, older ones go.

    `folder` is made where it is missing, mode 700. Raises StateError.
    """
    arrays = {f"{group}/{name}": values for group in _GROUPS for name, values in getattr(own, group).items()}
    metadata = {
        "version": OWN_STATE_FORMAT,
        "job_digest": job.digest.hex(),
        "party": party,
        "round": own.round,
    }
    with disk_errors_as_state_errors(f"{folder} could not be written"):
        folder.mkdir(mode=0o700, exist_ok=True)
        replace_file(numbered_path(folder, party, _WORD, own.round), encode_arrays(_KIND, metadata, arrays))
        for number in numbers_of(folder, party, _WORD)[:-2]:
            numbered_path(folder, party, _WORD, number).unlink()


def has_own_states(folder: Path, job: Job, state: TrainingState) -> bool:
    """Whether every party has saved its own part of `state`, as far as it has one."""
    if not job.settings.training.keeps_own_state:
        return True
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        return all(
            numbered_path(folder, party, _WORD, number).is_file()
            for party, number in state.last_rounds.items()
            if number
        )


def load_own_states(
    folder: Path, job: Job, state: TrainingState, model: Model, *, only: str | None = None
) -> dict[str, OwnState]:
    """The states that the parties of `state`, or `only` one of them, go on with, from the `folder` of the run before.

    A party that was lost on the way has the state of the last round whose sum holds its update; a party in no sum has
    none. Raises StateError where a file is missing, damaged, of another job, party or round, or not of this model.
    """
    settings = job.settings
    if not settings.training.keeps_own_state:
        return {}
    trained = TrainedTensors.of(model, settings.model.parameters)
    groups = own_state_shapes(trained, model.parameter_shapes, settings.training)
    shapes = {
        f"{group}/{name}": shape for group, names in zip(_GROUPS, groups, strict=True) for name, shape in names.items()
    }
    numbers = {party: number for party, number in state.last_rounds.items() if number and only in (None, party)}
    return {party: _load(folder, job, party, number, shapes) for party, number in numbers.items()}


def _load(folder: Path, job: Job, party: str, number: int, shapes: Shapes) -> OwnState:
    path = numbered_path(folder, party, _WORD, number)
    with disk_errors_as_state_errors(f"{path} cannot be read"):
        is_there, others = path.is_file(), numbers_of(folder, party, _WORD)
    if not is_there:
        raise StateError(
            f"the file that {party} alone kept of the run is missing",
            expected=f"{path.name} in {folder}",
            got=f"the file of round {' and '.join(map(str, others))}" if others else "no file of that party",
            cure=_CURE,
        )
    metadata, arrays = decode_arrays(read_file(path), _KIND, str(path))
    expected = {"version": OWN_STATE_FORMAT, "job_digest": job.digest.hex(), "party": party, "round": number}
    wrong = [key for key, value in expected.items() if metadata.get(key) != value]
    if wrong:
        raise _refuse(path, f"the {wrong[0]} of this run", f"another {wrong[0]}")
    _check(path, arrays, shapes)
    control, owed = (
        {name.removeprefix(f"{group}/"): values for name, values in arrays.items() if name.startswith(f"{group}/")}
        for group in _GROUPS
    )
    return OwnState(number, control, owed)


def _check(path: Path, arrays: Mapping[str, npt.NDArray[Any]], shapes: Shapes) -> None:
    if shapes_of(arrays) != shapes or any(values.dtype != np.float64 for values in arrays.values()):
        raise _refuse(path, "the tensors of this job's model, float64", "other tensors")
    if not all(np.isfinite(values).all() for values in arrays.values()):
        raise _refuse(path, "finite numbers", "NaN or infinity")


def _refuse(path: Path, expected: str, got: str) -> StateError:
    return StateError(f"{path} cannot be used to resume", expected=expected, got=got, cure=_CURE)
