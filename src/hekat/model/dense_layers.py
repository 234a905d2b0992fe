"""Dense layers one after another, forward and backward: what models with a loss and halves of split networks share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hekat.model.parameters import Features, FloatArray, Parameters, Shapes
from hekat.model.small_products import multiply_columns, multiply_rows

Activation = Literal["relu", "tanh"]


@dataclass(frozen=True)
class Layer:
    """Parameter names and sizes of x -> x @ weight + bias; weight has shape (inputs, outputs)."""

    weight: str
    bias: str
    inputs: int
    outputs: int


def name_layers(sizes: Sequence[int]) -> tuple[Layer, ...]:
    """Layers "layer_1.weight", "layer_1.bias" and so on between so many values each."""
    return tuple(
        Layer(f"layer_{number}.weight", f"layer_{number}.bias", inputs, outputs)
        for number, (inputs, outputs) in enumerate(itertools.pairwise(sizes), start=1)
    )


@dataclass(frozen=True)
class DenseLayers:
    """Layers with the activation between them, and after the last one where `activates_last`."""

    layers: tuple[Layer, ...]
    activation: Activation = "relu"
    activates_last: bool = False

    @property
    def shapes(self) -> Shapes:
        """Name and shape of every parameter, in the order of the layers."""
        shapes: Shapes = {}
        for layer in self.layers:
            shapes[layer.weight] = (layer.inputs, layer.outputs)
            shapes[layer.bias] = (layer.outputs,)
        return shapes

    def draw(self, seed: int) -> Parameters:
        """Zero biases and uniform weights of variance 2 / inputs (before relu) or 2 / (inputs + outputs) (else).

        Source: He et al. 2015, Eq. 10; Glorot and Bengio 2010, Eq. 16.
        """
        rng = np.random.default_rng(seed)
        params: Parameters = {}
        for layer in self.layers:
            is_before_relu = self.activation == "relu" and (self.activates_last or layer is not self.layers[-1])
            spread = 2.0 / layer.inputs if is_before_relu else 2.0 / (layer.inputs + layer.outputs)
            limit = math.sqrt(3.0 * spread)
            params[layer.weight] = rng.uniform(-limit, limit, size=(layer.inputs, layer.outputs))
            params[layer.bias] = np.zeros(layer.outputs)
        return params

    def forward(self, params: Parameters, X: Features) -> list[Features]:
        """The input of each layer, then the outputs."""
        values = [X]
        for number, layer in enumerate(self.layers):
            output = multiply_rows(values[-1], params[layer.weight]) + params[layer.bias]
            is_last = number == len(self.layers) - 1
            values.append(output if is_last and not self.activates_last else activate(output, self.activation))
        return values

    def backward(
        self, params: Parameters, values: Sequence[Features], slope: FloatArray, *, to_inputs: bool = False
    ) -> tuple[Parameters, FloatArray | None]:
        """The derivative by every parameter, and by the inputs where asked, from the slope by the outputs.

        `values` are what `forward` gave.
        """
        gradient: Parameters = {}
        slopes = self.slopes(params, values, slope)
        for layer, inputs, own in zip(self.layers, values, slopes, strict=False):
            gradient[layer.weight] = multiply_columns(inputs, own)
            gradient[layer.bias] = own.sum(axis=0)
        return gradient, multiply_rows(slopes[0], params[self.layers[0].weight].T) if to_inputs else None

    def slopes(self, params: Parameters, values: Sequence[Features], slope: FloatArray) -> list[FloatArray]:
        """The slope by each layer's sums, before its activation, from the slope by the outputs."""
        if self.activates_last:
            slope = slope * activation_slope(values[-1], self.activation)
        slopes = [slope]
        for number in range(len(self.layers) - 1, 0, -1):
            to_values = multiply_rows(slopes[0], params[self.layers[number].weight].T)
            slopes.insert(0, to_values * activation_slope(values[number], self.activation))
        return slopes

    def row_norms(
        self, params: Parameters, values: Sequence[Features], slope: FloatArray, names: Collection[str]
    ) -> FloatArray:
        """The L2 norm of each row's own derivative by the named parameters, shape (rows,), without making any of them.

        `slope` is each row's own, by the outputs. A row's derivative by a weight is the product of its input a and the
        slope behind it, whose norm is |a| |slope|. Source: Goodfellow 2015 (Efficient per-example gradient
        computations).
        """
        squares = np.zeros(slope.shape[0])
        if self.activates_last:
            slope = slope * activation_slope(values[-1], self.activation)
        for number in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[number]
            inputs = squared_rows(values[number]) if layer.weight in names else np.zeros(slope.shape[0])
            squares += np.einsum("ij,ij->i", slope, slope) * (inputs + (layer.bias in names))
            if number:
                to_values = multiply_rows(slope, params[layer.weight].T)
                slope = to_values * activation_slope(values[number], self.activation)
        return np.asarray(np.sqrt(squares))


def squared_rows(values: Features) -> FloatArray:
    """The squared L2 norm of each row, shape (rows,)."""
    if isinstance(values, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", values, values))
    return np.asarray(values.multiply(values).sum(axis=1)).ravel()


def activate(values: FloatArray, activation: Activation) -> FloatArray:
    """The activation of each value."""
    return np.maximum(values, 0.0) if activation == "relu" else np.tanh(values)


def activation_slope(activated: Features, activation: Activation) -> FloatArray:
    """The activation's derivative, told from its result; 0 for relu at 0."""
    if activation == "relu":
        return (activated > 0).astype(np.float64)
    return np.asarray(1.0 - activated**2)
