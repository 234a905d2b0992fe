"""L-BFGS: every party sends the gradient of all its rows, and the common step looks for a lower loss."""

from __future__ import annotations

from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalSettings, LocalTask, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import refuse_proximal_mu
from hekat.protocol.horizontal.training.gram import GRAM_STEPS


class Lbfgs(Algorithm):
    """Source: Nocedal and Wright 2006, Algorithm 7.4; the step itself is in `line_search.py`."""

    name = "lbfgs"
    averages_changes = False
    searches_line = True
    steps_before_rounds = GRAM_STEPS

    def check(self, training: LocalSettings) -> None:
        refuse_proximal_mu(self.name, training)

    def work(self, task: LocalTask) -> LocalWork:
        loss, gradient = task.model.loss_and_gradient(task.parameters, task.rows.features, task.rows.labels)
        return LocalWork({name: gradient[name] for name in task.trained.names}, loss, len(task.rows), 1)
