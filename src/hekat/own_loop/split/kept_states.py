"""What each party of an own loop of a split network keeps of an epoch and goes on with after a stop: its part alone.

Parties end an epoch one after the other, so that a run may stop when some have saved it and some have not. Therefore
each keeps the epoch before too, and all go on from the last one that every party has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError, StateError
from hekat.own_loop.held_tensor import is_torch_tensor
from hekat.protocol.vertical_network.party_run import NetworkState
from hekat.state import replace_file
from hekat.state.array_file import check_array_name, decode_arrays, encode_arrays

Arrays = Mapping[str, npt.NDArray[Any]]

STATE_FOLDER: Final = "state"
_KIND: Final = "state of an own loop of a split network"
_KEPT_EPOCHS: Final = 2
_SHARED, _OWN = "shared/", "own/"


@dataclass(frozen=True)
class LoopState:
    """One party after an epoch: its addends of weights as the protocol has them, and what its code gave `keep`.

    `evaluations` counts the calls of `evaluate`, whose names pads of truncation follow from.
    """

    network: NetworkState = field(repr=False)
    own: Arrays = field(repr=False)
    evaluations: int = 0


class KeptStates:
    """The states in a run's folder; `digest` stands for the arguments that all parties were given."""

    def __init__(self, folder: Path, digest: bytes) -> None:
        self._folder, self._digest = folder / STATE_FOLDER, digest.hex()

    def save(self, party: str, state: LoopState) -> None:
        """Keep the state of a party's last epoch, and the one before. Raises StateError where the disk refuses."""
        network = state.network
        metadata = {
            "arguments": self._digest,
            "epochs": network.epochs_done,
            "finished": network.finished,
            "model": network.model_id,
            "evaluations": state.evaluations,
        }
        arrays = _prefixed(_SHARED, network.arrays) | _prefixed(_OWN, state.own)
        with disk_errors_as_state_errors(f"the state of {party} could not be saved"):
            path = self._path(party, network.epochs_done)
            replace_file(path, encode_arrays(_KIND, metadata, arrays), mode=0o600)
            for epoch in self._epochs_of(party):
                if epoch <= network.epochs_done - _KEPT_EPOCHS:
                    self._path(party, epoch).unlink()

    def load(self, parties: tuple[str, ...]) -> dict[str, LoopState]:
        """The states of all parties after the last epoch that each of them has.

        Raises StateError where there is none, or a file is damaged; InputError where it is of a run with other
        arguments.
        """
        with disk_errors_as_state_errors(f"the states in {self._folder} could not be read"):
            common = set.intersection(*(set(self._epochs_of(party)) for party in parties))
            if not common:
                raise StateError(
                    f"there is nothing to resume in {self._folder.parent}",
                    expected=f"states of one epoch of {', '.join(parties)}",
                    got="none",
                    cure="name the `folder` of a run of the same parties that ended an epoch, or begin anew",
                )
            return {party: self._load(party, max(common)) for party in parties}

    def _load(self, party: str, epoch: int) -> LoopState:
        path = self._path(party, epoch)
        metadata, arrays = decode_arrays(path.read_bytes(), _KIND, str(path))
        if metadata.get("arguments") != self._digest:
            raise InputError(
                f"{path.parent.parent} is the folder of a run with other arguments",
                expected="the same parties, row_count, sizes, epochs, rates, seed, protection and waivers",
                got="others",
                cure="resume with the arguments of the run that stopped, or begin anew",
            )
        network = NetworkState(
            _taken(_SHARED, arrays), int(metadata["epochs"]), bool(metadata["finished"]), model_id=metadata["model"]
        )
        return LoopState(network, _taken(_OWN, arrays), int(metadata["evaluations"]))

    def _path(self, party: str, epoch: int) -> Path:
        return self._folder / f"{party}-epoch-{epoch}.npz"

    def _epochs_of(self, party: str) -> list[int]:
        if not self._folder.is_dir():
            return []
        pattern = re.compile(rf"{re.escape(party)}-epoch-(\d{{1,9}})\.npz")
        return [int(found[1]) for path in self._folder.iterdir() if (found := pattern.fullmatch(path.name))]


def as_own_arrays(party: str, state: Any) -> dict[str, npt.NDArray[Any]]:
    """Copies of the arrays and tensors that a party's code wants to find again. Raises InputError for anything else."""
    if not isinstance(state, Mapping):
        _refuse(party, "a mapping of names to arrays or tensors", type(state).__name__)
    found = {}
    for name, value in state.items():
        if not isinstance(name, str):
            _refuse(party, "names that are texts", type(name).__name__)
        check_array_name(name)
        if is_torch_tensor(value):
            value = value.detach().cpu()
            value = value.numpy() if str(value.dtype) != "torch.bfloat16" else value
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "biuf":
            _refuse(party, f"an array or tensor of numbers under {name!r}", type(value).__name__)
        found[name] = np.array(value)
    return found


def _refuse(party: str, expected: str, got: str) -> None:
    raise InputError(
        f"party {party}: what it gave cannot be kept",
        expected=expected,
        got=got,
        cure="give a flat mapping, such as module.state_dict(), with tensors of an optimiser under names of their own",
    )


def _prefixed(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    return {prefix + name: values for name, values in arrays.items()}


def _taken(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
