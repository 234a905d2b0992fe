"""FedSGD: every party sends the gradient of one batch, and the server takes the step."""

from __future__ import annotations

import numpy as np

from hekat.model import Model
from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalRows, LocalSettings, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import batch_rows_of, refuse_proximal_mu
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors
from hekat.protocol.setting_checks import refuse_setting


class FedSgd(Algorithm):
    """Source: McMahan et al. 2017, section 2."""

    name = "fedsgd"
    averages_changes = False

    def check(self, training: LocalSettings) -> None:
        if training.local_epochs != 1:
            refuse_setting("training.local_epochs", "1, since fedsgd sends one gradient a round", training.local_epochs)
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
        batch_rows = batch_rows_of(len(rows), training)
        # A batch of all rows is permuted too: what a model draws by its batch (dropout) then follows from the round,
        # and a run that is resumed draws as one that went through.
        chosen = rng.permutation(len(rows))[:batch_rows]
        loss, gradient = model.loss_and_gradient(parameters, rows.features[chosen], rows.labels[chosen])
        return LocalWork({name: gradient[name] for name in trained.names}, loss, batch_rows, 1)
