"""What gives the sensitivities of rows: a PyTorch module with its rows, or a model that computes them itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from hekat.privacy.sensitivity.directions import Directions

AnyFloats = npt.NDArray[np.floating[Any]]
Places = npt.NDArray[np.int64]


class SensitivitySource(Protocol):
    """Rows of one data set, whose sensitivities add up by tensor."""

    @property
    def row_count(self) -> int:
        """The rows that can be chosen from."""
        ...

    @property
    def embeddings(self) -> tuple[str, ...]:
        """Names of the weights that are tables of embeddings."""
        ...

    @property
    def output_axis(self) -> int:
        """The axis of a layer's weight along which its outputs lie."""
        ...

    @property
    def held_bytes(self) -> int:
        """The most bytes of sums and gradients that a map holds beside the weights; activations come on top."""
        ...

    def add_rows(self, places: Places) -> None:
        """Add the sensitivities of the rows at `places` to the sums. Raises InputError."""
        ...

    def sums(self) -> dict[str, AnyFloats]:
        """The sums so far, non-negative, of the shapes of the weights; after the last row the caller's to write to."""
        ...


@runtime_checkable
class MappedModel(Protocol):
    """A model that is no PyTorch module, but knows the sensitivities of its weights."""

    def sensitivity_source(
        self, params: Mapping[str, Any], rows: Any, labels: Any, directions: Directions
    ) -> SensitivitySource:
        """The source at the weights `params`. Raises InputError for rows or labels that do not fit."""
        ...
