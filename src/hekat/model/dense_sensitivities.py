"""Sensitivities of dense layers' weights, many rows at once: |a|^T |delta| sums a batch, as each row is one vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hekat.model.dense_layers import DenseLayers
from hekat.model.head import ClassHead, SquaredErrorHead
from hekat.model.parameters import Features, Labels, Parameters
from hekat.model.small_products import multiply_columns

if TYPE_CHECKING:
    import numpy.typing as npt

    from hekat.privacy.sensitivity.directions import Directions

# So many rows at once: activations of all rows would be a table as wide as the layers.
_BATCH_ROWS = 1024


class DenseSource:
    """Rows of a model of dense layers, as `hekat.privacy.sensitivity` reads them."""

    embeddings: tuple[str, ...] = ()
    output_axis = 1

    def __init__(
        self,
        dense: DenseLayers,
        head: ClassHead | SquaredErrorHead,
        params: Parameters,
        rows: Features,
        labels: Labels,
        directions: Directions,
    ) -> None:
        self._dense, self._head, self._params = dense, head, params
        self._rows, self._labels, self._directions = rows, labels, directions
        self._sums = {name: np.zeros(shape) for name, shape in dense.shapes.items()}
        self.row_count = int(rows.shape[0])

    @property
    def held_bytes(self) -> int:
        return sum(values.nbytes for values in self._sums.values())

    def add_rows(self, places: npt.NDArray[np.int64]) -> None:
        for start in range(0, len(places), _BATCH_ROWS):
            self._add_batch(places[start : start + _BATCH_ROWS])

    def sums(self) -> dict[str, npt.NDArray[np.floating[Any]]]:
        return dict(self._sums)

    def _add_batch(self, places: npt.NDArray[np.int64]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # divergence shows as a map that is refused
            values = self._dense.forward(self._params, self._rows[places])
            own = self._head.label_direction(values[-1], self._labels[places])
            squares = [np.zeros((len(places), layer.outputs)) for layer in self._dense.layers]
            for direction in self._directions.of_rows(own):
                slope = self._head.label_slope(values[-1], direction)
                for total, delta in zip(squares, self._dense.slopes(self._params, values, slope), strict=True):
                    total += delta**2
            for layer, inputs, total in zip(self._dense.layers, values, squares, strict=False):
                norms = np.sqrt(total)
                self._sums[layer.weight] += multiply_columns(abs(inputs), norms)
                self._sums[layer.bias] += norms.sum(axis=0)
