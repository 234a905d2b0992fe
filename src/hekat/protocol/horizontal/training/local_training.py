"""A party's work in a round, by the algorithm that the job names."""

from __future__ import annotations

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.model import Model
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.algorithms.algorithm import LabelArray, LocalRows, LocalTask, LocalWork
from hekat.protocol.horizontal.training.algorithms.registry import ALGORITHMS
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors


def local_update(
    model: Model,
    parameters: Tensors,
    features: FloatArray,
    labels: LabelArray,
    training: TrainingSettings,
    rng: np.random.Generator,
    *,
    trained: TrainedTensors,
    correction: Tensors | None = None,
) -> LocalWork:
    """The work of one round from the model `parameters`, which are only read.

    `features` are standardised, shape (rows, columns); `correction` is c - c_i for each trained weight (`scaffold`).
    """
    task = LocalTask(model, parameters, LocalRows(features, labels), training, rng, trained, correction)
    return ALGORITHMS[training.algorithm].work(task)
