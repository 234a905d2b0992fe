"""One party's share of all weights of a sealed network, and of their velocity: they move, and never open.

Weights (columns of the guest and of the host, units and the linear one) stand at 2^-64 mod 2^128, and are truncated to
2^-20 before a batch. A gradient comes as shares of the sum over the batch's rows at 2^-37:

    v <- truncate(momentum_units v, 8) + G      W <- W - rate_units v
"""

from __future__ import annotations

import hashlib
from typing import Final

from hekat.protocol.shares.modular_truncation import ModularTruncation
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    constant,
    multiply,
    subtract,
    zero_shares,
)
from hekat.protocol.shares.truncation import Truncation
from hekat.protocol.vertical_network.fixed_point import USED_SHIFT
from hekat.protocol.vertical_network.network_settings import MOMENTUM_BITS
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING

_PAD_DOMAIN: Final = b"hekat/vertical-network/sealed-pads/1:"


class SharedWeights:
    """The share uint64 (width, units + 1, 2). Pads follow from `origin`, a public name, and the step's name."""

    def __init__(self, origin: str, share: ShareArray, *, is_guest: bool, momentum_units: int = 0) -> None:
        self.share, self.velocity = share, zero_shares(share.shape[:-1])
        self.is_guest, self._momentum_units = is_guest, momentum_units
        self._name = _PAD_DOMAIN + origin.encode() + b"/"

    def begin_step(self, step: str) -> ShareArray:
        """The share of the weights at 2^-20; both parties call it with one name, and no two steps have the same."""
        seed = hashlib.sha256(self._name + step.encode()).digest()
        self._truncation = Truncation(seed, is_guest=self.is_guest)
        self.modular = ModularTruncation(seed, SLOT_RING, is_guest=self.is_guest)
        return self._truncation.truncate(self.share, USED_SHIFT)

    def move(self, gradient: ShareArray, rate_units: int) -> None:
        """Take a step against this party's share of the gradient, after `begin_step`."""
        if self._momentum_units:
            carried = multiply(self.velocity, constant(self._momentum_units))
            gradient = add_shares(self._truncation.truncate(carried, MOMENTUM_BITS), gradient)
            self.velocity = gradient
        self.share = subtract(self.share, multiply(gradient, constant(rate_units)))
