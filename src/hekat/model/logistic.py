"""Logistic regression: one logit column for two classes, a softmax for more."""

from __future__ import annotations

from hekat.model.dense_layers import Layer
from hekat.model.head import make_class_head
from hekat.model.network import DenseModel


class LogisticRegression(DenseModel):
    """Parameters "weight" (feature_count, k) and "bias" (k,): k = 1 for two classes, k = class_count for more."""

    def __init__(self, feature_count: int, class_count: int = 2, *, l2: float = 0.0) -> None:
        head = make_class_head(class_count)
        super().__init__("logistic", [Layer("weight", "bias", feature_count, head.output_count)], head, l2=l2)
