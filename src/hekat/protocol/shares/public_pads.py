"""Pads that both parties grow from a public seed: they make shares uniform before a truncation, and hide nothing."""

from __future__ import annotations

import hashlib

import numpy as np

from hekat.protocol.shares.share_array import ShareArray


class PublicPads:
    """A stream of numbers uniform in [0, 2^128). Both parties ask it in the same order for the same shapes."""

    def __init__(self, seed: bytes) -> None:
        self._seed, self._calls = seed, 0

    def draw(self, shape: tuple[int, ...]) -> ShareArray:
        """The next ones, uint64 (*shape, 2)."""
        content = self._seed + self._calls.to_bytes(8, "little")
        self._calls += 1
        pad = hashlib.shake_256(content).digest(16 * int(np.prod(shape, dtype=np.int64)))
        return np.frombuffer(pad, "<u8").astype(np.uint64).reshape(*shape, 2)
