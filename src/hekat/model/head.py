"""Heads turn a model's outputs into a loss, its slope, and predictions: one class per kind of label.

Every head takes `outputs` of shape (rows, output_count), finite or not, and never overflows on finite ones.
Losses are means over rows; slopes are the derivative of that mean by each output.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hekat.errors import InputError
from hekat.model.parameters import FloatArray, Labels


class Head(Protocol):
    """The last step of a model."""

    @property
    def output_count(self) -> int: ...

    def check_labels(self, labels: Labels) -> None:
        """Raise InputError for labels this head has no loss for."""
        ...

    def row_losses(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        """The loss of each row, shape (rows,); `loss` is their mean."""
        ...

    def loss(self, outputs: FloatArray, labels: Labels) -> float: ...

    def loss_and_slope(self, outputs: FloatArray, labels: Labels) -> tuple[float, FloatArray]: ...

    def label_direction(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        """Shape (rows, n): the direction in the space of labels along which `label_slope` gives each row's own slope,
        up to its sign. A class is one of n numbers, a number is one.
        """
        ...

    def label_slope(self, outputs: FloatArray, direction: FloatArray) -> FloatArray:
        """d^2 l / (dy dz) v of each row's loss l, up to its sign: z its outputs, y its label, v its `direction`."""
        ...

    def predict(self, outputs: FloatArray) -> Labels: ...


class ClassHead(Head, Protocol):
    """A head for classes 0 .. class_count - 1."""

    @property
    def class_count(self) -> int: ...

    def predict_proba(self, outputs: FloatArray) -> FloatArray:
        """Probabilities, shape (rows, class_count); each row sums to 1."""
        ...


class BinaryHead:
    """Two classes from one logit z: P(class 1) = 1 / (1 + exp(-z)), with the cross-entropy loss."""

    output_count = 1
    class_count = 2

    def check_labels(self, labels: Labels) -> None:
        _check_classes(labels, 2)

    def row_losses(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        logits = outputs[:, 0]
        # -log P(y) = log(1 + exp(z)) - y z; logaddexp keeps it finite for every finite z.
        return np.asarray(np.logaddexp(0.0, logits) - labels * logits)

    def loss(self, outputs: FloatArray, labels: Labels) -> float:
        return float(np.mean(self.row_losses(outputs, labels)))

    def loss_and_slope(self, outputs: FloatArray, labels: Labels) -> tuple[float, FloatArray]:
        slope = (sigmoid(outputs[:, 0]) - labels) / outputs.shape[0]
        return self.loss(outputs, labels), slope[:, np.newaxis]

    def label_direction(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        return _one_of(labels, 2)

    def label_slope(self, outputs: FloatArray, direction: FloatArray) -> FloatArray:
        # -y_0 log P(0) - y_1 log P(1), derived by z: y_0 P(1) - y_1 P(0).
        logits = outputs[:, 0]
        slope = direction[:, 0] * sigmoid(logits) - direction[:, 1] * sigmoid(-logits)
        return np.asarray(slope[:, np.newaxis])

    def predict(self, outputs: FloatArray) -> Labels:
        return (outputs[:, 0] > 0).astype(np.int64)

    def predict_proba(self, outputs: FloatArray) -> FloatArray:
        return np.column_stack([sigmoid(-outputs[:, 0]), sigmoid(outputs[:, 0])])


class SoftmaxHead:
    """Three or more classes from one logit each: P = softmax, with the cross-entropy loss."""

    def __init__(self, class_count: int) -> None:
        self.class_count = class_count
        self.output_count = class_count

    def check_labels(self, labels: Labels) -> None:
        _check_classes(labels, self.class_count)

    def row_losses(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        return np.asarray(-_log_softmax(outputs)[np.arange(outputs.shape[0]), labels])

    def loss(self, outputs: FloatArray, labels: Labels) -> float:
        return float(np.mean(self.row_losses(outputs, labels)))

    def loss_and_slope(self, outputs: FloatArray, labels: Labels) -> tuple[float, FloatArray]:
        rows = np.arange(outputs.shape[0])
        log_probabilities = _log_softmax(outputs)
        slope = np.exp(log_probabilities)
        slope[rows, labels] -= 1.0
        return float(-np.mean(log_probabilities[rows, labels])), slope / outputs.shape[0]

    def label_direction(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        return _one_of(labels, self.class_count)

    def label_slope(self, outputs: FloatArray, direction: FloatArray) -> FloatArray:
        # -sum y_c log p_c, derived by z: sum(y) p - y. The sum of y is one number that is derived too.
        return np.asarray(direction.sum(axis=1, keepdims=True) * np.exp(_log_softmax(outputs)) - direction)

    def predict(self, outputs: FloatArray) -> Labels:
        return np.asarray(np.argmax(outputs, axis=1), dtype=np.int64)

    def predict_proba(self, outputs: FloatArray) -> FloatArray:
        return np.asarray(np.exp(_log_softmax(outputs)), dtype=np.float64)


class SquaredErrorHead:
    """A number from one output z, with the loss (z - y)^2 / 2."""

    output_count = 1

    def check_labels(self, labels: Labels) -> None:
        if labels.dtype.kind not in "iuf":
            raise InputError("labels are not numbers", expected="float64 labels", got=str(labels.dtype))

    def row_losses(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        return np.asarray(0.5 * (outputs[:, 0] - labels) ** 2)

    def loss(self, outputs: FloatArray, labels: Labels) -> float:
        return float(0.5 * np.mean((outputs[:, 0] - labels) ** 2))

    def loss_and_slope(self, outputs: FloatArray, labels: Labels) -> tuple[float, FloatArray]:
        error = outputs[:, 0] - labels
        return float(0.5 * np.mean(error**2)), (error / outputs.shape[0])[:, np.newaxis]

    def label_direction(self, outputs: FloatArray, labels: Labels) -> FloatArray:
        return np.asarray(outputs - labels[:, np.newaxis], dtype=np.float64)

    def label_slope(self, outputs: FloatArray, direction: FloatArray) -> FloatArray:
        return direction

    def predict(self, outputs: FloatArray) -> Labels:
        return np.array(outputs[:, 0], dtype=np.float64)


def make_class_head(class_count: int) -> ClassHead:
    """The head for `class_count` classes: one logit for two, a softmax for more."""
    return BinaryHead() if class_count == 2 else SoftmaxHead(class_count)


def sigmoid(logits: FloatArray) -> FloatArray:
    """1 / (1 + e^-z) of each logit z."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)), dtype=np.float64)


def _log_softmax(outputs: FloatArray) -> FloatArray:
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), dtype=np.float64)


def _one_of(labels: Labels, class_count: int) -> FloatArray:
    return np.asarray(labels[:, np.newaxis] == np.arange(class_count), dtype=np.float64)


def _check_classes(labels: Labels, class_count: int) -> None:
    if labels.dtype.kind not in "iu":
        raise InputError(
            "labels are not class numbers",
            expected=f"whole numbers from 0 to {class_count - 1} (int64)",
            got=f"an array of {labels.dtype}",
            cure="encode the labels with the job's classes",
        )
    outside = np.flatnonzero((labels < 0) | (labels >= class_count))
    if outside.size:
        raise InputError(
            "a label is no class of this model",
            expected=f"whole numbers from 0 to {class_count - 1}",
            got=f"another number, first in row {int(outside[0]) + 1}",
            cure="name all classes in the job, in the same order at every party",
        )
