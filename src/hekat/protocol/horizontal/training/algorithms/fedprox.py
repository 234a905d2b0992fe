"""FedProx: local steps with a proximal term, which pulls them towards the model at the round's start."""

from __future__ import annotations

from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalSettings, LocalTask, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import take_local_steps


class FedProx(Algorithm):
    """Source: Li et al. 2020, Algorithm 2 with local SGD; mu is `proximal_mu`."""

    name = "fedprox"

    def check(self, training: LocalSettings) -> None:
        return None

    def work(self, task: LocalTask) -> LocalWork:
        mu, start = task.training.proximal_mu, task.parameters
        return take_local_steps(task, lambda name, gradient, current: gradient + mu * (current - start[name]))
