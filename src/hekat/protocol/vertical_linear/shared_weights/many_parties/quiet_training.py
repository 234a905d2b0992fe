"""The training of a party that holds no shares: after the set-up it hears when training ends, and keeps its place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.engine.random_limbs import random_bits
from hekat.protocol.shares.share_array import ShareArray, zero_shares
from hekat.protocol.vertical_linear.columns import Targets
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartState
from hekat.protocol.vertical_linear.shared_weights.gram import kept_error_bound, target_square
from hekat.protocol.vertical_linear.shared_weights.handshake import name_sharing
from hekat.protocol.vertical_linear.shared_weights.residuals import largest_mean_magnitude
from hekat.protocol.vertical_linear.shared_weights.scales import Scales
from hekat.protocol.vertical_linear.shared_weights.training import SHARING, PartyTraining
from hekat.protocol.vertical_linear.trained_part import mixing_array

NOISE_KEY = "noise_key"
NOISE_KEY_BITS = 256
EPOCH_WAIT_S = 86_400.0
"""How long a quiet party waits for an epoch of the holders. A holder that is lost is told of sooner by the channel."""


@dataclass
class QuietTraining(PartyTraining):
    """A quiet party's side of a training, from the set-up to its part of the model."""

    scales: Scales

    epoch_wait_s = EPOCH_WAIT_S
    holds_shares = False

    @property
    def known_square(self) -> float:
        """What a quiet guest adds to the opened mean of d^2: the holders' shares leave its targets' squares out."""
        return 0.0 if self.own.targets is None else target_square(self.own.targets, self.own.batches, self.scales)

    def play_batches(self, epoch: int) -> ShareArray:
        """Nothing: the holders play them. A share of 0."""
        return zero_shares(())

    def error_bound(self) -> float:
        """How far any entry of a mean gradient of this party's columns is off."""
        largest = largest_mean_magnitude(self.own.integers, self.own.batches, self.scales.feature_bits)
        return kept_error_bound(self.scales, largest)

    def state(self, epoch: int, *, finished: bool, losses: tuple[float, ...] = ()) -> PartState:
        """What this party resumes from: the name of the holders' shares, and how its columns are mixed."""
        sharing = name_sharing(self.channel.session_id, epoch)
        return PartState({SHARING: sharing, **mixing_array(self.own.columns)}, epoch, finished, losses)

    def model_part(self, targets: Targets | None) -> ModelPart:
        """This party's part of the trained model: how its columns are prepared, and the secret of its noise."""
        noise_key = random_bits(1, NOISE_KEY_BITS).reshape(-1).astype(np.uint64)
        return self.make_part({NOISE_KEY: noise_key}, targets)
