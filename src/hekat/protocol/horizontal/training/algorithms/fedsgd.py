"""FedSGD: every party sends the gradient of one batch, and the server takes the step."""

from __future__ import annotations

from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalSettings, LocalTask, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import refuse_proximal_mu
from hekat.protocol.setting_checks import refuse_setting


class FedSgd(Algorithm):
    """Source: McMahan et al. 2017, section 2."""

    name = "fedsgd"
    averages_changes = False

    def check(self, training: LocalSettings) -> None:
        if training.local_epochs != 1:
            refuse_setting("training.local_epochs", "1, since fedsgd sends one gradient a round", training.local_epochs)
        refuse_proximal_mu(self.name, training)

    def work(self, task: LocalTask) -> LocalWork:
        # A batch of all rows is permuted too: a model's draws by its batch (dropout) then follow from the round, and a
        # resumed run draws like one that went through.
        chosen = task.rng.permutation(len(task.rows))[: task.batch_rows]
        features, labels = task.rows.features[chosen], task.rows.labels[chosen]
        loss, gradient = task.model.loss_and_gradient(task.parameters, features, labels)
        return LocalWork({name: gradient[name] for name in task.trained.names}, loss, task.batch_rows, 1)
