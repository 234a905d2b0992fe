"""Secret noise in whole numbers: fresh draws of a discrete Gaussian, exact and cut at ten standard deviations."""

from __future__ import annotations

import os
from math import prod

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.gaussian import CUT_CHANCE, DiscreteGaussian
from hekat.engine.ring.interface import CHACHA20_KEY_BYTES, RingEngine
from hekat.engine.select import get_engine
from hekat.errors import InputError

__all__ = ["CUT_CHANCE", "DiscreteGaussian", "draw_noise"]

NoiseArray = npt.NDArray[np.int64]


def draw_noise(law: DiscreteGaussian, shape: int | tuple[int, ...], *, engine: RingEngine | None = None) -> NoiseArray:
    """Independent numbers of a discrete Gaussian, under a new key from the operating system.

    Two calls never share numbers, so noise that belongs to one update is drawn once and kept with it.

    Args:
        law: Which discrete Gaussian: `DiscreteGaussian.of_at_least(variance)`; `law.variance` is the exact s^2 that the
            numbers have.
        shape: Of the result.
        engine: None takes `hekat.engine.select.get_engine()`.

    Returns:
        int64 in the shape asked for, from -law.limit to law.limit; secret.

    Raises:
        InputError: The shape is none.

    Examples:
        >>> from fractions import Fraction
        >>> from hekat.privacy.noise import DiscreteGaussian, draw_noise
        >>> law = DiscreteGaussian.of_at_least(Fraction(250))
        >>> noise = draw_noise(law, (3, 5))
        >>> noise.shape, noise.dtype.name, bool(abs(noise).max() <= law.limit)
        ((3, 5), 'int64', True)

    Source: Kairouz, Liu, Steinke 2021, section 2, for what it serves.
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 0 for size in sizes):
        raise InputError("the shape of noise refused", expected="whole numbers from 0", got=str(shape))
    key = bytearray(os.urandom(CHACHA20_KEY_BYTES))
    try:
        numbers = (engine or get_engine()).sample_discrete_gaussian(key, 0, prod(sizes), law)
    finally:
        key[:] = bytes(len(key))
    return numbers.reshape(sizes)
