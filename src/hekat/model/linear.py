"""Linear regression by least squares."""

from __future__ import annotations

from hekat.model.dense_layers import Layer
from hekat.model.head import SquaredErrorHead
from hekat.model.network import DenseModel


class LinearRegression(DenseModel):
    """Parameters "weight" (feature_count, 1) and "bias" (1,); the loss is half the mean squared error."""

    def __init__(self, feature_count: int, *, l2: float = 0.0) -> None:
        head = SquaredErrorHead()
        super().__init__("linear", [Layer("weight", "bias", feature_count, head.output_count)], head, l2=l2)
