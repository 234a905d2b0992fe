"""A round's update without the values that stay at home, and the mean of all parties' updates with zeros for them.

The weights' values are chosen among; statistics are few, and are always sent whole.
"""

from __future__ import annotations

import numpy as np

from hekat.model import Model
from hekat.privacy.mask import Mask
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.index_sets.agree import IndexSets
from hekat.protocol.secure_sum.index_sets.gather import put_kept, take_kept
from hekat.protocol.secure_sum.streamed_tensor import Tensors


class KeptValues:
    """One party's part in the rounds of a job that sends a part of each update; `take`, then `receive`, each round."""

    def __init__(self, settings: HorizontalSettings, model: Model, trained: TrainedTensors, run: LocalRun) -> None:
        self._sets = IndexSets(settings.sums, run.job_digest, run.digest_key)
        self._weights = trained.weights
        # Zeros that take no memory.
        self._zeros = {name: np.broadcast_to(np.zeros(()), model.parameter_shapes[name]) for name in trained.weights}
        self._mask = Mask.nothing({})

    def take(self, aggregation: Aggregation, step: str, update: Tensors, seen: Tensors) -> Tensors:
        """What is sent of the update, once the parties agreed on it."""
        weights = {name: update[name] for name in self._weights}
        self._mask = self._sets.agree(aggregation, step, weights, seen)
        return take_kept(self._mask, update)

    def receive(self, mean: Tensors, seen: Tensors) -> Tensors:
        """The mean in the tensors' own shapes; noted in `seen`, where the next set depends on it."""
        self._sets.learn(seen, self._mask, mean)
        return self.put_back(mean)

    def put_back(self, kept: Tensors) -> Tensors:
        """Tensors in their own shapes from values that are sent, with zeros for all others."""
        return put_kept(self._mask, kept, self._zeros)

    def put_into(self, whole: Tensors, kept: Tensors) -> Tensors:
        """The whole update as far as it stays at home, and these values where some are sent."""
        return put_kept(self._mask, kept, whole)
