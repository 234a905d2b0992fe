"""Labels that a host with gradients may learn only by odds: flipped once, the same in every run."""

from hekat.protocol.vertical_network.label_privacy.label_flips import LabelFlips, LabelQuestion
from hekat.protocol.vertical_network.label_privacy.randomised_response import MAX_EPSILON, RandomisedResponse

__all__ = ["MAX_EPSILON", "LabelFlips", "LabelQuestion", "RandomisedResponse"]
