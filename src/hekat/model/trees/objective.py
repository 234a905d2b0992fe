"""The losses that trees lower: squared error, and log-loss of two classes or more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hekat.errors import InputError
from hekat.model.parameters import FloatArray, Labels

_LEAST_PROBABILITY = 1e-15


class Objective(Protocol):
    """A loss with its derivatives by scores; scores and derivatives have shape (tree_count, rows), float64."""

    name: ClassVar[str]
    has_constant_hessian: ClassVar[bool]
    """Whether the second derivative is 1 for every row."""

    @property
    def class_count(self) -> int:
        """How many classes labels have; 0 for a regression."""
        ...

    @property
    def tree_count(self) -> int:
        """How many trees an iteration grows: 1, or one for each of three classes or more."""
        ...

    def check_labels(self, y: Labels) -> None:
        """Raise InputError for labels, shape (rows,), that are missing or do not fit."""
        ...

    def label_sums(self, y: Labels) -> FloatArray:
        """What start scores need of labels, as sums over rows: shape (tree_count,)."""
        ...

    def start_scores(self, label_sums: FloatArray, row_count: int) -> FloatArray:
        """The constant scores of lowest loss, shape (tree_count,)."""
        ...

    def gradients(self, scores: FloatArray, y: Labels) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of each row's loss."""
        ...

    def row_losses(self, scores: FloatArray, y: Labels) -> FloatArray:
        """Each row's loss, shape (rows,): half the squared error, or log-loss in nats."""
        ...

    def predict(self, scores: FloatArray) -> FloatArray:
        """Predicted numbers (rows,), or probabilities (rows, class_count)."""
        ...


@dataclass(frozen=True)
class SquaredError:
    """Half the squared difference of score and target."""

    name: ClassVar[str] = "squared_error"
    has_constant_hessian: ClassVar[bool] = True
    class_count: ClassVar[int] = 0
    tree_count: ClassVar[int] = 1

    def check_labels(self, y: Labels) -> None:
        if y.ndim != 1 or y.dtype.kind not in "fiu" or not np.isfinite(y).all():
            raise InputError(
                "targets refused",
                expected="one finite number for each row",
                got="missing, infinite or other values",
                cure="remove rows without a target",
            )

    def label_sums(self, y: Labels) -> FloatArray:
        return np.array([np.sum(y, dtype=np.float64)])

    def start_scores(self, label_sums: FloatArray, row_count: int) -> FloatArray:
        return label_sums / row_count

    def gradients(self, scores: FloatArray, y: Labels) -> tuple[FloatArray, FloatArray]:
        first: FloatArray = scores - y
        return first, np.ones_like(scores)

    def row_losses(self, scores: FloatArray, y: Labels) -> FloatArray:
        losses: FloatArray = 0.5 * (scores[0] - y) ** 2
        return losses

    def predict(self, scores: FloatArray) -> FloatArray:
        numbers: FloatArray = scores[0]
        return numbers


@dataclass(frozen=True)
class BinaryLogLoss:
    """Log-loss of two classes: the score is the log-odds of class 1."""

    name: ClassVar[str] = "log_loss"
    has_constant_hessian: ClassVar[bool] = False
    class_count: ClassVar[int] = 2
    tree_count: ClassVar[int] = 1

    def check_labels(self, y: Labels) -> None:
        _check_classes(y, 2)

    def label_sums(self, y: Labels) -> FloatArray:
        return np.array([np.sum(y, dtype=np.float64)])

    def start_scores(self, label_sums: FloatArray, row_count: int) -> FloatArray:
        part = np.clip(label_sums / row_count, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
        scores: FloatArray = np.log(part / (1 - part))
        return scores

    def gradients(self, scores: FloatArray, y: Labels) -> tuple[FloatArray, FloatArray]:
        from scipy.special import expit

        probabilities = expit(scores)
        return probabilities - y, probabilities * (1 - probabilities)

    def row_losses(self, scores: FloatArray, y: Labels) -> FloatArray:
        losses: FloatArray = np.logaddexp(0.0, scores[0]) - scores[0] * y
        return losses

    def predict(self, scores: FloatArray) -> FloatArray:
        from scipy.special import expit

        positive = expit(scores[0])
        return np.stack([1 - positive, positive], axis=1)


@dataclass(frozen=True)
class SoftmaxLogLoss:
    """Log-loss of three classes or more, a score for each.

    The second derivative p (1 - p) is taken K / (K - 1) times, since one class follows from the others.
    Source: Friedman 2001, section 4.6.
    """

    class_count: int
    name: ClassVar[str] = "log_loss"
    has_constant_hessian: ClassVar[bool] = False

    @property
    def tree_count(self) -> int:
        return self.class_count

    def check_labels(self, y: Labels) -> None:
        _check_classes(y, self.class_count)

    def label_sums(self, y: Labels) -> FloatArray:
        return np.bincount(y, minlength=self.class_count).astype(np.float64)

    def start_scores(self, label_sums: FloatArray, row_count: int) -> FloatArray:
        return np.log(np.maximum(label_sums / row_count, _LEAST_PROBABILITY))

    def gradients(self, scores: FloatArray, y: Labels) -> tuple[FloatArray, FloatArray]:
        from scipy.special import softmax

        probabilities = softmax(scores, axis=0)
        first = probabilities - (np.arange(self.class_count)[:, None] == y)
        return first, probabilities * (1 - probabilities) * (self.class_count / (self.class_count - 1))

    def row_losses(self, scores: FloatArray, y: Labels) -> FloatArray:
        from scipy.special import logsumexp

        losses: FloatArray = logsumexp(scores, axis=0) - scores[y, np.arange(scores.shape[1])]
        return losses

    def predict(self, scores: FloatArray) -> FloatArray:
        from scipy.special import softmax

        return np.ascontiguousarray(softmax(scores, axis=0).T)


def make_objective(class_count: int) -> Objective:
    """The loss of a regression (0), of two classes, or of more. Raises InputError for one class and for less than 0."""
    if class_count == 0:
        return SquaredError()
    if class_count == 2:
        return BinaryLogLoss()
    if class_count < 2:
        raise InputError("classes refused", expected="two classes or more, or 0 for a regression", got=str(class_count))
    return SoftmaxLogLoss(class_count)


def _check_classes(y: Labels, class_count: int) -> None:
    if y.ndim != 1 or y.dtype.kind not in "iu" or ((y < 0) | (y >= class_count)).any():
        raise InputError(
            "labels refused",
            expected=f"the number of a class, from 0 to {class_count - 1}, for each row",
            got="missing or other values",
            cure="remove rows without a label, and number classes from 0",
        )
