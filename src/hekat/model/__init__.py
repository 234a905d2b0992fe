"""Models in NumPy with their losses, gradients, optimisers and metrics."""

from hekat.model.linear import LinearRegression
from hekat.model.logistic import LogisticRegression
from hekat.model.make_optimiser import OPTIMISER_NAMES, make_optimiser
from hekat.model.metrics import evaluate, evaluate_numbers, evaluate_probabilities
from hekat.model.mlp import Mlp
from hekat.model.model import LINEAR_MODELS, MODEL_NAMES, NETWORKS, Model, make_model
from hekat.model.optimisers import Adagrad, Adam, Momentum, Optimiser, OptimiserState, RmsProp, Sgd, Yogi
from hekat.model.parameters import FloatArray, Labels, Parameters

__all__ = [
    "LINEAR_MODELS",
    "MODEL_NAMES",
    "NETWORKS",
    "OPTIMISER_NAMES",
    "Adagrad",
    "Adam",
    "FloatArray",
    "Labels",
    "LinearRegression",
    "LogisticRegression",
    "Mlp",
    "Model",
    "Momentum",
    "Optimiser",
    "OptimiserState",
    "Parameters",
    "RmsProp",
    "Sgd",
    "Yogi",
    "evaluate",
    "evaluate_numbers",
    "evaluate_probabilities",
    "make_model",
    "make_optimiser",
]
