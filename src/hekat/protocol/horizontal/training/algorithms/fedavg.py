"""FedAvg: every party takes local steps along its own gradient, and sends the change of its weights."""

from __future__ import annotations

import numpy as np

from hekat.model import Model
from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalRows, LocalSettings, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import refuse_proximal_mu, take_local_steps
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors


class FedAvg(Algorithm):
    """Source: McMahan et al. 2017, Algorithm 1."""

    name = "fedavg"

    def check(self, training: LocalSettings) -> None:
        refuse_proximal_mu(self.name, training)

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
        return take_local_steps(
            model, parameters, rows, training, rng, trained, lambda name, gradient, current: gradient
        )
