"""The interface of every model, and a function that makes one by name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from typing import Literal, Protocol

from hekat.errors import InputError
from hekat.model.dense_layers import Activation
from hekat.model.linear import LinearRegression
from hekat.model.logistic import LogisticRegression
from hekat.model.mlp import Mlp
from hekat.model.parameters import Features, FloatArray, Labels, Parameters, Shapes

MODEL_NAMES = ("logistic", "linear", "mlp")
LINEAR_MODELS = ("logistic", "linear")
NETWORKS = ("mlp",)


class Model(Protocol):
    """A trainable model without state: methods take parameters and return results.

    Features are float64 (rows, columns), an array or a scipy.sparse.csr_array; labels are int64 class numbers or
    float64 numbers, shape (rows,).
    `l2` is lambda in: mean loss + lambda / 2 * sum of squared weights (biases are free of it).
    """

    @property
    def name(self) -> str: ...

    @property
    def task(self) -> Literal["classification", "regression"]: ...

    @property
    def l2(self) -> float: ...

    @property
    def parameter_shapes(self) -> Shapes:
        """Name and shape of every tensor of real numbers: weights, frozen weights, statistics."""
        ...

    @property
    def averaged(self) -> frozenset[str]:
        """Names of tensors that are statistics and not weights, such as the running mean of a batch normalisation.

        Their entry in a gradient is (value before - value after): a slope to be taken with step 1.
        """
        ...

    @property
    def frozen(self) -> frozenset[str]:
        """Names of tensors that are part of the model and never trained; their entry in a gradient is zero."""
        ...

    def init(self, seed: int) -> Parameters:
        """The first parameters; the same for the same seed on every machine."""
        ...

    def loss(self, params: Parameters, X: Features, y: Labels) -> float:
        """The mean loss, penalty included."""
        ...

    def data_loss(self, params: Parameters, X: Features, y: Labels) -> float:
        """The mean loss without the penalty."""
        ...

    def loss_and_gradient(self, params: Parameters, X: Features, y: Labels) -> tuple[float, Parameters]:
        """The mean loss, penalty included, and its derivative by every parameter."""
        ...

    def predict(self, params: Parameters, X: Features) -> Labels:
        """One class number or one number a row."""
        ...

    def predict_proba(self, params: Parameters, X: Features) -> FloatArray:
        """Class probabilities, shape (rows, class_count); InputError for a regression model."""
        ...


def make_model(
    name: str,
    feature_count: int,
    class_count: int | None,
    *,
    hidden: Sequence[int] = (),
    l2: float = 0.0,
    activation: Activation = "relu",
) -> Model:
    """The model called `name` ("logistic", "linear", "mlp") for tables of `feature_count` columns.

    `class_count` is None for a regression; `hidden` and `activation` are for "mlp" only. Raises InputError.
    """
    if name not in MODEL_NAMES:
        close = difflib.get_close_matches(name, MODEL_NAMES, n=1, cutoff=0.4)
        raise InputError(
            "there is no such model",
            expected=f"one of {', '.join(MODEL_NAMES)}",
            got=repr(name),
            cure=f"did you mean {close[0]!r}?" if close else "choose one of these",
        )
    _check_sizes(feature_count, class_count, l2)
    if name != "mlp" and hidden:
        raise InputError(
            f"model '{name}' has no hidden layers",
            expected="no hidden sizes",
            got=str(tuple(hidden)),
            cure="remove hidden, or choose model 'mlp'",
        )
    if name == "linear":
        if class_count is not None:
            raise InputError(
                "model 'linear' predicts a number, not a class",
                expected="a job without classes",
                got=f"{class_count} classes",
                cure="choose model 'logistic' or 'mlp', or remove classes",
            )
        return LinearRegression(feature_count, l2=l2)
    if name == "logistic":
        if class_count is None:
            raise InputError(
                "model 'logistic' predicts a class",
                expected="a job with at least 2 classes",
                got="none",
                cure="name the classes in the job, or choose model 'linear'",
            )
        return LogisticRegression(feature_count, class_count, l2=l2)
    return Mlp(feature_count, class_count, hidden=tuple(hidden), l2=l2, activation=activation)


def _check_sizes(feature_count: int, class_count: int | None, l2: float) -> None:
    if feature_count < 1:
        raise InputError("a model without inputs", expected="at least 1 column", got=str(feature_count))
    if class_count is not None and class_count < 2:
        raise InputError(
            "too few classes to tell apart",
            expected="at least 2",
            got=str(class_count),
            cure="name all classes in the job, or none for a regression",
        )
    if not (math.isfinite(l2) and l2 >= 0):
        raise InputError("l2 refused", expected="a finite number >= 0", got=str(l2), cure="correct l2")
