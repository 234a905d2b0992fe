"""A party's shares of the weights that a sealed network begins with: nobody knows the sum."""

from __future__ import annotations

from typing import Final

import numpy as np

from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.handshake import split_weights, take_addend
from hekat.protocol.vertical_network.own_features import draw_seed
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.sealed.scales import SealedShape
from hekat.protocol.vertical_network.sealed.shared_weights import SharedWeights
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import first_addend

ADDEND_VARIANCE: Final = 0.25
"""Of one party's addends to the first weights of a unit, summed over all columns."""
_PURPOSE = 3


def begin_weights(
    channel: RecordedChannel, settings: VerticalNetworkSettings, run: NetworkRun, shape: SealedShape, origin: str
) -> SharedWeights:
    """The run's weights so far; else each party draws a matrix of half the variance, and the host splits its own.

    The weights of one unit have a variance of a half together, so that squares begin small. Raises ProtocolError for
    another addend, StateError for other shares to go on from.
    """
    is_guest = channel.party == settings.guest
    generator = np.random.default_rng(draw_seed(run, _PURPOSE))
    drawn = first_addend(generator, shape.width, shape.units + 1, ADDEND_VARIANCE / shape.width)
    if run.begins_with is None:
        if is_guest:
            drawn = take_addend(channel, settings.hosts[0], drawn)
        else:
            drawn = split_weights(channel, settings.guest, drawn)
    momentum = settings.training.momentum_units
    weights = SharedWeights(origin, drawn, is_guest=is_guest, momentum_units=momentum)
    if run.begins_with is not None:
        weights.begin_from(run.begins_with)
    return weights
