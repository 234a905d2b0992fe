"""One party's share of all weights of a sealed network, and of their velocity: they move, and never open.

Weights (columns of the guest and of the host, units and the linear one) stand at 2^-64 mod 2^128, and are truncated to
2^-20 before a batch. A gradient comes as shares of the sum over the batch's rows at 2^-37:

    v <- truncate(momentum_units v, 8) + G + penalty_units W'      W <- W - rate_units v

with W' the truncated weights but for the guest's ones, the first row, which no penalty draws to zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import numpy.typing as npt

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
from hekat.protocol.vertical_network.model_part import SEALED_SHARE
from hekat.protocol.vertical_network.network_settings import MOMENTUM_BITS
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING
from hekat.protocol.vertical_network.shared_addend import read_shares

SEALED_VELOCITY: Final = "sealed_velocity"
_PAD_DOMAIN: Final = b"hekat/vertical-network/sealed-pads/1:"


class SharedWeights:
    """The share uint64 (width, units + 1, 2). Pads follow from `origin`, a public name, and the step's name."""

    def __init__(self, origin: str, share: ShareArray, *, is_guest: bool, momentum_units: int = 0) -> None:
        self.share, self.velocity = share, zero_shares(share.shape[:-1])
        self.is_guest, self._momentum_units = is_guest, momentum_units
        self._name = _PAD_DOMAIN + origin.encode() + b"/"

    def begin_step(self, step: str) -> ShareArray:
        """The share of the weights at 2^-20; both parties call it with one name, and no two steps have the same."""
        self._truncation = Truncation(self._seed_of(step), is_guest=self.is_guest)
        self.modular = self.modular_of(step)
        self._used = self._truncation.truncate(self.share, USED_SHIFT)
        return self._used

    def modular_of(self, step: str) -> ModularTruncation:
        """The truncation mod t of a step of this name; by itself for a step that uses no weights."""
        return ModularTruncation(self._seed_of(step), SLOT_RING, is_guest=self.is_guest)

    def move(self, gradient: ShareArray, rate_units: int, penalty_units: int = 0) -> None:
        """Take a step against this party's share of the gradient, after `begin_step`."""
        if penalty_units:
            penalty = multiply(self._used, constant(penalty_units))
            penalty[0] = 0
            gradient = add_shares(gradient, penalty)
        if self._momentum_units:
            carried = multiply(self.velocity, constant(self._momentum_units))
            gradient = add_shares(self._truncation.truncate(carried, MOMENTUM_BITS), gradient)
            self.velocity = gradient
        self.share = subtract(self.share, multiply(gradient, constant(rate_units)))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The share, under its name in a part of the model."""
        return {SEALED_SHARE: self.share.copy()}

    def state_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The share and the velocity, which is 0 throughout without momentum."""
        return self.arrays() | {SEALED_VELOCITY: self.velocity.copy()}

    def begin_from(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over `arrays()` (the velocity begins anew) or `state_arrays()`. Raises StateError for others."""
        self.share = read_shares(arrays, SEALED_SHARE, self.share.shape)
        if SEALED_VELOCITY in arrays:
            self.velocity = read_shares(arrays, SEALED_VELOCITY, self.share.shape)

    def _seed_of(self, step: str) -> bytes:
        return hashlib.sha256(self._name + step.encode()).digest()
