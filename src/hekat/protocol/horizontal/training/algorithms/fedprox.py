"""FedProx: local steps that a proximal term draws back to the model of the round's start."""

from __future__ import annotations

import numpy as np

from hekat.model import Model
from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalRows, LocalSettings, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import take_local_steps
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors


class FedProx(Algorithm):
    """Source: Li et al. 2020, Algorithm 2 with local SGD; mu is `proximal_mu`."""

    name = "fedprox"

    def check(self, training: LocalSettings) -> None:
        return None

    def work(
        self,
        model: Model,
        parameters: Tensors,
        rows: LocalRows,
        training: LocalSettings,
        rng: np.random.Generator,
        trained: TrainedTensors,
        correction: Tensors | None,
    ) -> LocalWork:
        mu = training.proximal_mu
        return take_local_steps(
            model,
            parameters,
            rows,
            training,
            rng,
            trained,
            lambda name, gradient, current: gradient + mu * (current - parameters[name]),
        )
