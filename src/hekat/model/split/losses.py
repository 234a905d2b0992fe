"""Mean losses by targets: numbers that stand for labels, also where these are known with a probability only.

A head of `hekat.model.head` takes labels; here a target may be any number, as unbiased targets of replaced labels are.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hekat.model.head import sigmoid
from hekat.model.parameters import FloatArray


class TargetLoss(Protocol):
    """A loss of outputs (rows, K) by targets (rows, K)."""

    def loss(self, outputs: FloatArray, targets: FloatArray) -> float:
        """The mean over rows."""
        ...

    def slopes(self, outputs: FloatArray, targets: FloatArray) -> FloatArray:
        """The derivative of each row's loss by its outputs, (rows, K): of the loss itself, not of the mean."""
        ...


class BinaryLoss:
    """log(1 + e^z) - t z for the logit z and t, 1 or 0 for a known label."""

    def loss(self, outputs: FloatArray, targets: FloatArray) -> float:
        return float(np.mean(np.logaddexp(0.0, outputs) - targets * outputs))

    def slopes(self, outputs: FloatArray, targets: FloatArray) -> FloatArray:
        return sigmoid(outputs) - targets


class SoftmaxLoss:
    """-sum_k t_k log p_k with p the softmax of the logits; targets of a row sum to 1."""

    def loss(self, outputs: FloatArray, targets: FloatArray) -> float:
        shifted = outputs - outputs.max(axis=1, keepdims=True)
        total = np.log(np.exp(shifted).sum(axis=1))
        return float(np.mean(total - (targets * shifted).sum(axis=1)))

    def slopes(self, outputs: FloatArray, targets: FloatArray) -> FloatArray:
        exponentials = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True) - targets)


class NumberLoss:
    """(z - t)^2 / 2."""

    def loss(self, outputs: FloatArray, targets: FloatArray) -> float:
        return float(0.5 * np.mean((outputs - targets) ** 2))

    def slopes(self, outputs: FloatArray, targets: FloatArray) -> FloatArray:
        return outputs - targets


def make_loss(class_count: int | None) -> TargetLoss:
    """The loss for `class_count` classes; None: for numbers."""
    if class_count is None:
        return NumberLoss()
    return BinaryLoss() if class_count == 2 else SoftmaxLoss()
