"""FedAvg: every party takes local steps along its own gradient, and sends the change of its weights."""

from __future__ import annotations

from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalSettings, LocalTask, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import refuse_proximal_mu, take_local_steps


class FedAvg(Algorithm):
    """Source: McMahan et al. 2017, Algorithm 1."""

    name = "fedavg"

    def check(self, training: LocalSettings) -> None:
        refuse_proximal_mu(self.name, training)

    def work(self, task: LocalTask) -> LocalWork:
        return take_local_steps(task, lambda name, gradient, current: gradient)
