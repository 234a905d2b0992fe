"""The noise that a host adds to its weights' gradient, and accumulates in its addend of the weights.

FATE draws each weight's noise from 2^10 either way, a real number, in every step. So the guest's sum of gradient and
noise is not uniform: with odds of the gradient's step over 2^11 a weight's noise lies so near its edge that the sum
rules out steps that were possible.

Source: FATE, `federatedml/nn/hetero_nn/util/random_number_generator.py`, for the range.
"""

from __future__ import annotations

from typing import Final

from hekat.protocol.shares.share_array import RING_BITS, ShareArray, constant, random_shares, shift_right, subtract
from hekat.protocol.vertical_network.fixed_point import SHARE_BITS

NOISE_BITS: Final = 10
"""A step moves a weight by noise of at most 2^NOISE_BITS either way, before momentum."""


def noise_bits(rate_units: int) -> int:
    """Noise of a gradient lies in [-2^b, 2^b) for this b: times `rate_units` it is below 2^NOISE_BITS at 2^-64."""
    return NOISE_BITS + SHARE_BITS - rate_units.bit_length()


def draw_noise(shape: tuple[int, ...], rate_units: int) -> ShareArray:
    """Fresh uniform integers of [-2^b, 2^b), b = noise_bits(rate_units), from the operating system's randomness."""
    bits = noise_bits(rate_units)
    return subtract(shift_right(random_shares(shape), RING_BITS - bits - 1), constant(1 << bits))
