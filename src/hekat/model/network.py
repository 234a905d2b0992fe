"""Dense layers with their loss and gradient: the base of the linear models (no hidden layer) and the MLP."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from hekat.model.check_rows import check_features
from hekat.model.dense_layers import Activation, DenseLayers, Layer
from hekat.model.dense_sensitivities import DenseSource
from hekat.model.head import ClassHead, SquaredErrorHead
from hekat.model.headed_model import HeadedModel
from hekat.model.parameters import Features, FloatArray, Labels, Parameters, Shapes, check_same_shapes
from hekat.privacy.sensitivity.directions import Directions


class DenseModel(HeadedModel):
    """loss = mean loss of the head + l2 / 2 * sum of squared weights; biases carry no penalty.

    Features are float64 of shape (rows, feature_count), an array or a scipy.sparse.csr_array, which stays sparse;
    labels have shape (rows,). Parameters are only read.
    """

    averaged: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()

    def __init__(
        self,
        name: str,
        layers: Sequence[Layer],
        head: ClassHead | SquaredErrorHead,
        *,
        l2: float,
        activation: Activation = "relu",
    ) -> None:
        self.name = name
        self.l2 = l2
        self.feature_count = layers[0].inputs
        self._layers = tuple(layers)
        self._dense = DenseLayers(self._layers, activation)
        self._head = head

    @property
    def parameter_shapes(self) -> Shapes:
        """Name and shape of every parameter, in the order of the layers."""
        return self._dense.shapes

    def init(self, seed: int) -> Parameters:
        """Zeros: these losses have one valley, so every start is as good (the MLP draws its own)."""
        return {name: np.zeros(shape) for name, shape in self.parameter_shapes.items()}

    def loss_and_gradient(self, params: Parameters, X: Features, y: Labels) -> tuple[float, Parameters]:
        """The mean loss, penalty included, and its derivative by every parameter. Raises InputError."""
        self._check_inputs(params, X)
        self._check_labels(X, y)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._dense.forward(params, X)
            loss, slope = self._head.loss_and_slope(values[-1], y)
            gradient, _ = self._dense.backward(params, values, slope)
            if self.l2:
                for layer in self._layers:
                    gradient[layer.weight] += self.l2 * params[layer.weight]
            return loss + self._penalty(params), gradient

    def sum_clipped_rows(
        self,
        params: Parameters,
        X: Features,
        y: Labels,
        factors_of: Callable[[FloatArray], FloatArray],
        names: Collection[str],
    ) -> tuple[FloatArray, Parameters]:
        """As `row_sums.RowModel.sum_clipped_rows`."""
        self._check_inputs(params, X)
        self._check_labels(X, y)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._dense.forward(params, X)
            _, slope = self._head.loss_and_slope(values[-1], y)
            slope = slope * X.shape[0]
            factors = factors_of(self._dense.row_norms(params, values, slope, names))
            losses = self._head.row_losses(values[-1], y)
            good = factors > 0
            if not good.all():  # a norm beyond floats: nothing times infinity is no number
                values, slope, factors = [part[good] for part in values], slope[good], factors[good]
            gradient, _ = self._dense.backward(params, values, slope * factors[:, np.newaxis])
        return losses, {name: gradient[name] for name in self.parameter_shapes if name in names}

    def penalty_slope(self, params: Parameters) -> Parameters:
        """The derivative of the penalty by every parameter that it is on; {} without one."""
        return {layer.weight: self.l2 * params[layer.weight] for layer in self._layers} if self.l2 else {}

    def outputs(self, params: Parameters, X: Features) -> FloatArray:
        """Logits or numbers before the head, shape (rows, output_count)."""
        self._check_inputs(params, X)
        return self._dense.forward(params, X)[-1]

    def sensitivity_source(
        self, params: Parameters, rows: Features, labels: Labels, directions: Directions
    ) -> DenseSource:
        """What `hekat.privacy.sensitivity` reads the weights' sensitivities from. Raises InputError."""
        self._check_inputs(params, rows)
        self._check_labels(rows, labels)
        return DenseSource(self._dense, self._head, params, rows, labels, directions)

    def rescale_outputs(self, params: Parameters, mean: float, spread: float) -> Parameters:
        """Parameters by which the outputs are `spread` times the outputs by `params`, and `mean` more."""
        last = self._layers[-1]
        moved = {last.weight: spread * params[last.weight], last.bias: spread * params[last.bias] + mean}
        return {name: moved.get(name, values) for name, values in params.items()}

    def _penalty(self, params: Parameters) -> float:
        if self.l2 == 0.0:
            return 0.0
        with np.errstate(over="ignore"):
            return 0.5 * self.l2 * sum(float(np.sum(params[layer.weight] ** 2)) for layer in self._layers)

    def _check_inputs(self, params: Parameters, X: Features) -> None:
        check_same_shapes("parameters", params, self.parameter_shapes)
        check_features(X, self.feature_count)
