"""One party's addend of a host's weights in the interactive layer, and of their velocity: it moves, and never opens.

W_h = U + V mod 2^128 at 2^-64, U at the host and V at the guest. Before a batch both truncate their addend to 2^-20;
the pads of truncation follow from the name of the training's first session and the step, so that a resumed run
truncates as the run before it would have. A gradient comes as shares of the sum over the batch's rows at 2^-40:

    direction = G + l2_units W', with momentum v <- truncate(momentum_units v, 8) + G + l2_units W'
    W <- W - rate_units direction

with W' the truncated weights. No product is truncated here but the velocity's by momentum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.errors import StateError
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    constant,
    from_integers,
    multiply,
    shift_left,
    subtract,
    zero_shares,
)
from hekat.protocol.shares.truncation import Truncation
from hekat.protocol.vertical_network.fixed_point import (
    GRADIENT_BITS,
    SHARE_BITS,
    USED_SHIFT,
    WEIGHT_BITS,
    Residues,
    reduce,
)
from hekat.protocol.vertical_network.model_part import SHARE
from hekat.protocol.vertical_network.network_settings import MOMENTUM_BITS, NetworkTraining

VELOCITY: Final = "velocity/"
_DRAWN_BITS: Final = 40
_PAD_DOMAIN: Final = b"hekat/vertical-network/pads/1:"


class SharedAddend:
    """The addend of one host's weights, uint64 (m, k, 2), at the host itself or at the guest."""

    def __init__(
        self,
        origin: str,
        host: str,
        addend: ShareArray,
        *,
        is_guest: bool,
        training: NetworkTraining | None = None,
    ) -> None:
        """Pads follow from `origin`, a public name; `training` says how the weights move; without it they stay."""
        self._training, self._is_guest, self.host = training, is_guest, host
        self._name = _PAD_DOMAIN + f"{origin}/{host}/".encode()
        self.addend = addend
        self.velocity = zero_shares(addend.shape[:-1])
        self._used = addend
        self._truncation = self._truncation_at("")

    @property
    def used(self) -> Residues:
        """The addend of the weights as the last `use` left it, mod 2^60 at 2^-20, (m, k)."""
        return reduce(self._used[..., 0])

    def use(self, step: str) -> Residues:
        """Truncate the addend for a step; both parties call it with the same name, and no two steps have one name."""
        self._truncation = self._truncation_at(step)
        self._used = self._truncation.truncate(self.addend, USED_SHIFT)
        return self.used

    def rate_units(self, row_count: int) -> int:
        """What `move` multiplies the summed gradient of so many rows with."""
        assert self._training is not None
        return self._training.rate_units(row_count)

    def move(self, gradient: ShareArray, row_count: int) -> None:
        """Take a step against this party's share of the summed gradient of `row_count` rows, after `use`."""
        training = self._training
        assert training is not None
        rate = training.rate_units(row_count)
        penalty_of_rows = round(training.l2 * row_count * 2 ** (GRADIENT_BITS - WEIGHT_BITS))
        direction = add_shares(gradient, multiply(self._used, constant(penalty_of_rows)))
        if training.momentum_units:
            carried = multiply(self.velocity, constant(training.momentum_units))
            self.velocity = add_shares(self._truncation.truncate(carried, MOMENTUM_BITS), direction)
            direction = self.velocity
        self.addend = subtract(self.addend, multiply(direction, constant(rate)))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The addend, under the host's name."""
        return {SHARE + self.host: self.addend.copy()}

    def state_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The addend and the velocity, which is 0 throughout without momentum."""
        return self.arrays() | {VELOCITY + self.host: self.velocity.copy()}

    def begin_from(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over `arrays()` (the velocity begins anew) or `state_arrays()`. Raises StateError for others."""
        self.addend = read_shares(arrays, SHARE + self.host, self.addend.shape)
        if VELOCITY + self.host in arrays:
            self.velocity = read_shares(arrays, VELOCITY + self.host, self.addend.shape)

    def _truncation_at(self, step: str) -> Truncation:
        return Truncation(hashlib.sha256(self._name + step.encode()).digest(), is_guest=self._is_guest)


def read_shares(arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...]) -> ShareArray:
    """A copy of the shares called `name`. Raises StateError where there are none of that shape."""
    found = arrays.get(name)
    if found is None or found.shape != shape or found.dtype != np.uint64:
        raise StateError(
            f"there are no such shares to go on from: {name}",
            expected=f"uint64 of shape {shape}",
            got="none" if found is None else f"shape {found.shape} of {found.dtype}",
            cure="resume or start all parties from the parts of one training by this release, or begin anew",
        )
    return found.copy()


def first_addend(generator: np.random.Generator, width: int, units: int, variance: float) -> ShareArray:
    """Normal weights of that variance (width, units) at 2^-64, to 2^-40."""
    values = np.rint(np.ldexp(generator.normal(scale=variance**0.5, size=(width, units)), _DRAWN_BITS))
    return shift_left(from_integers(values.astype(np.int64)), SHARE_BITS - _DRAWN_BITS)
