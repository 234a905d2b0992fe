"""A party's state as a checkpoint has it, of protocols whose steps may be judged by rows held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]
_VALIDATION_LOSSES: Final = "state/validation_losses"
_MODEL_ID: Final = "state/model_id"


class TrainedState(Protocol):
    """What one party carries from step to step."""

    @property
    def arrays(self) -> Arrays: ...

    @property
    def finished(self) -> bool: ...

    @property
    def losses(self) -> tuple[float, ...]: ...

    @property
    def validation_losses(self) -> tuple[float, ...]: ...

    @property
    def model_id(self) -> str: ...


@dataclass(frozen=True)
class SavedState:
    """The state of a party that a step ended with: all that is no loss of training rows is among its arrays."""

    arrays: Arrays = field(repr=False)
    steps_done: int
    finished: bool
    losses: tuple[float, ...]

    @classmethod
    def of(cls, state: TrainedState, steps_done: int) -> SavedState:
        more: dict[str, npt.NDArray[Any]] = {
            _VALIDATION_LOSSES: np.asarray(state.validation_losses, np.float64),
            _MODEL_ID: np.frombuffer(state.model_id.encode(), np.uint8),
        }
        return cls({**state.arrays, **more}, steps_done, state.finished, state.losses)

    def restore(self) -> dict[str, Any]:
        """What the protocol's own state is made of, beside the number of its steps; with arrays of its own, which a
        party changes by itself."""
        arrays = {name: values.copy() for name, values in self.arrays.items()}
        validation_losses = tuple(arrays.pop(_VALIDATION_LOSSES, np.zeros(0)).tolist())
        model_id = arrays.pop(_MODEL_ID, np.zeros(0, np.uint8)).tobytes().decode("ascii", "replace")
        return {
            "arrays": arrays,
            "finished": self.finished,
            "losses": self.losses,
            "validation_losses": validation_losses,
            "model_id": model_id,
        }


def is_number(values: npt.NDArray[Any]) -> bool:
    """Whether an array holds finite float64, or whole numbers."""
    return values.dtype.kind in "iub" or (values.dtype == np.float64 and bool(np.isfinite(values).all()))
