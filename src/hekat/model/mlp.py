"""The multi-layer perceptron: dense hidden layers before a classification or regression head."""

from __future__ import annotations

import difflib

from hekat.errors import InputError
from hekat.model.dense_layers import Activation, name_layers
from hekat.model.head import SquaredErrorHead, make_class_head
from hekat.model.network import DenseModel
from hekat.model.parameters import Parameters

_ACTIVATIONS = ("relu", "tanh")


class Mlp(DenseModel):
    """Parameters "layer_1.weight" (feature_count, hidden[0]), "layer_1.bias", and so on to the head's layer.

    `class_count` None makes a regression with half the mean squared error.
    """

    def __init__(
        self,
        feature_count: int,
        class_count: int | None,
        *,
        hidden: tuple[int, ...],
        l2: float = 0.0,
        activation: Activation = "relu",
    ) -> None:
        _check_hidden(hidden)
        _check_activation(activation)
        head = SquaredErrorHead() if class_count is None else make_class_head(class_count)
        layers = name_layers((feature_count, *hidden, head.output_count))
        super().__init__("mlp", layers, head, l2=l2, activation=activation)

    def init(self, seed: int) -> Parameters:
        """Zero biases and uniform weights of variance 2 / inputs (relu) or 2 / (inputs + outputs) (tanh, last layer).

        Source: He et al. 2015, Eq. 10; Glorot and Bengio 2010, Eq. 16.
        """
        return self._dense.draw(seed)


def _check_hidden(hidden: tuple[int, ...]) -> None:
    if not hidden or min(hidden) < 1:
        raise InputError(
            "hidden sizes refused",
            expected="at least one whole number, each >= 1",
            got=str(hidden) if hidden else "none",
            cure="set model.hidden, for example [16]",
        )


def _check_activation(activation: str) -> None:
    if activation not in _ACTIVATIONS:
        close = difflib.get_close_matches(activation, _ACTIVATIONS, n=1, cutoff=0.4)
        raise InputError(
            "there is no such activation",
            expected=" or ".join(_ACTIVATIONS),
            got=repr(activation),
            cure=f"did you mean {close[0]!r}?" if close else "choose one of these",
        )
