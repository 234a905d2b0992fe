"""The interface of a bottom: what one party puts between its columns and the layer that all parties share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hekat.errors import InputError
from hekat.model.dense_layers import Activation
from hekat.model.parameters import FloatArray, Parameters


@dataclass(frozen=True)
class BottomTask:
    """What a bottom is made for: rows as the party prepared them, and what the job says of it.

    `features` (rows, columns) are the rows that train; a fixed map may be fitted to them. A bottom that `trains` moves
    by Adam at `learning_rate`. `seed` is the party's own and secret.
    """

    features: FloatArray = field(repr=False)
    width: int
    trains: bool
    seed: int = field(repr=False)
    learning_rate: float = 0.005
    hidden: tuple[int, ...] = ()
    activation: Activation = "relu"

    @property
    def column_count(self) -> int:
        return int(self.features.shape[1])


class Bottom(Protocol):
    """A map from columns (rows, columns) to features (rows, width), float64.

    `kind` names it in a part of a model. One that `trains` keeps of its last `forward` what `backward` needs.
    """

    @property
    def kind(self) -> str: ...

    @property
    def width(self) -> int: ...

    @property
    def trains(self) -> bool: ...

    def forward(self, X: FloatArray) -> FloatArray:
        """The features of a batch in training. Raises InputError for NaN, infinity, or another width."""
        ...

    def backward(self, slopes: FloatArray) -> Parameters:
        """The gradient by every tensor that moves, from the slopes (rows, width) of the last `forward`'s features."""
        ...

    def step(self, gradient: Parameters) -> None:
        """Move the tensors against the gradient, by the optimiser."""
        ...

    def evaluate(self, X: FloatArray) -> FloatArray:
        """The features of rows outside training; nothing is kept of them. Raises as `forward`."""
        ...

    def arrays(self) -> Parameters:
        """The tensors, as a part of a model keeps them."""
        ...

    def state_arrays(self) -> Parameters:
        """The tensors and the optimiser's state."""
        ...

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        """Take over `arrays()` or `state_arrays()` of an earlier one. Raises InputError for others."""
        ...


BottomMaker = Callable[[BottomTask], Bottom]


def refuse_training(kind: str) -> InputError:
    """The error of a fixed map that is asked to train."""
    return InputError(
        f"a bottom of {kind} does not train",
        expected="one whose tensors move, such as a dense network",
        got="a fixed map",
        cure="use protection.host_bottom = 'frozen', or another bottom",
    )
