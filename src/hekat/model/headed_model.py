"""The base of all models with a head: losses and predictions follow from the model's outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from hekat.errors import InputError
from hekat.model.check_rows import check_label_count
from hekat.model.head import ClassHead, SquaredErrorHead
from hekat.model.parameters import FloatArray, Labels, Parameters

Task = Literal["classification", "regression"]


class HeadedModel(ABC):
    """A model that computes `outputs` and leaves the rest to its head."""

    name: str
    _head: ClassHead | SquaredErrorHead

    @abstractmethod
    def outputs(self, params: Parameters, X: Any) -> FloatArray:
        """Logits or numbers before the head, shape (rows, output_count). Raises InputError."""

    @abstractmethod
    def _penalty(self, params: Parameters) -> float:
        """The penalty that the weights add to the loss."""

    @property
    def task(self) -> Task:
        return "regression" if isinstance(self._head, SquaredErrorHead) else "classification"

    def loss(self, params: Parameters, X: Any, y: Labels) -> float:
        """The mean loss over the rows, penalty included. Raises InputError."""
        return self.data_loss(params, X, y) + self._penalty(params)

    def data_loss(self, params: Parameters, X: Any, y: Labels) -> float:
        """The mean loss over the rows without the penalty. Raises InputError."""
        self._check_labels(X, y)
        with np.errstate(over="ignore", invalid="ignore"):  # divergence shows as a non-finite loss
            return self._head.loss(self.outputs(params, X), y)

    def predict(self, params: Parameters, X: Any) -> Labels:
        """The class number (int64) or the number (float64) for each row."""
        return self._head.predict(self.outputs(params, X))

    def predict_proba(self, params: Parameters, X: Any) -> FloatArray:
        """Class probabilities, shape (rows, class_count), each row summing to 1. Raises InputError for a regression."""
        if isinstance(self._head, SquaredErrorHead):
            raise InputError(
                f"model '{self.name}' predicts a number and has no class probabilities",
                expected="a classifier",
                got="a regression model",
                cure="use predict, or train a model with classes",
            )
        return self._head.predict_proba(self.outputs(params, X))

    def _check_labels(self, X: Any, y: Labels) -> None:
        check_label_count(X, y)
        self._head.check_labels(y)
