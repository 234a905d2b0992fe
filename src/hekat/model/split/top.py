"""The interface of a top: what the guest puts behind the interactive layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from hekat.model.parameters import FloatArray, Parameters

DENSE: Final = "dense"
MODULE: Final = "module"


@dataclass(frozen=True)
class TopTask:
    """What a top is made for: its inputs Z (rows, units), its outputs (rows, output_count), how it trains.

    `seed` is the guest's own and secret.
    """

    units: int
    output_count: int
    learning_rate: float
    seed: int = field(repr=False)


class Top(Protocol):
    """A network from Z, before any activation, to outputs; it keeps of its last `forward` what `backward` needs.

    `kind` names it in a part of a model: DENSE, MODULE, or a name of its maker's own.
    """

    @property
    def kind(self) -> str: ...

    def forward(self, Z: FloatArray) -> FloatArray:
        """The outputs of a batch in training."""
        ...

    def backward(self, slopes: FloatArray) -> tuple[Parameters, FloatArray]:
        """The gradient by every tensor that moves, and by Z (rows, units), from the slopes by the last outputs."""
        ...

    def step(self, gradient: Parameters) -> None:
        """Move the tensors against the gradient."""
        ...

    def evaluate(self, Z: FloatArray) -> FloatArray:
        """The outputs of rows outside training."""
        ...

    def arrays(self) -> Parameters:
        """The tensors."""
        ...

    def state_arrays(self) -> Parameters:
        """The tensors and the optimiser's state."""
        ...

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        """Take over the arrays of an earlier top. Raises InputError for others."""
        ...


TopMaker = Callable[[TopTask], Top]
