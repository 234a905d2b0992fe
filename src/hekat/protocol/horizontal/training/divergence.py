"""Finds updates that must not be averaged: NaN, infinity, or values beyond every clipping bound."""

from __future__ import annotations

import numpy as np

from hekat.errors import DivergedError
from hekat.protocol.horizontal.settings import MAX_LOSS
from hekat.protocol.secure_sum.settings import MAX_ALPHA
from hekat.protocol.secure_sum.streamed_tensor import Tensors

_CURE = "lower training.learning_rate, set training.standardise = true, or give labels a smaller unit"
_CURE_NAN = f"look for a loss of the model's own that divides by zero or takes the log of it; else {_CURE}"


def check_finite(party: str, number: int, update: Tensors, loss: float) -> None:
    """Raise DivergedError that names the first tensor with NaN or infinity, or an invalid loss; shows no value."""
    for name, values in update.items():
        if not np.isfinite(values).all():
            is_nan = bool(np.isnan(values).any())
            raise DivergedError(
                f"{'NaN' if is_nan else 'infinity'} in tensor {name} at party {party} in round {number}",
                expected="finite numbers in every update",
                got=f"{np.count_nonzero(~np.isfinite(values))} of {values.size} that are not",
                cure=_CURE_NAN if is_nan else _CURE,
            )
    if not 0 <= loss <= MAX_LOSS:
        raise DivergedError(
            f"training diverged at party {party} in round {number}",
            expected="a loss that stays small",
            got="a loss beyond every bound",
            cure=_CURE,
        )


def check_magnitude(party: str, number: int, scaled: Tensors) -> None:
    """Raise DivergedError where a scaled update passes the largest clipping bound: clipping would hide that."""
    for name, values in scaled.items():
        if values.size and max(values.max(), -values.min()) > MAX_ALPHA:
            raise DivergedError(
                f"the update explodes in tensor {name} at party {party} in round {number}",
                expected="magnitudes up to 2^40, the largest clipping bound",
                got="a larger one",
                cure=_CURE,
            )
