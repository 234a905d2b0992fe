"""Uninitialised words that begin at a cache line, so that no row of residues touches one line more than it needs."""

from __future__ import annotations

import numpy as np

from hekat.engine.limbs import LIMB_BYTES, LimbArray

LINE_WORDS = 8  # a cache line is 64 bytes


def empty_aligned(words: int) -> LimbArray:
    """`words` uninitialised words, shape (words,), from the start of a cache line."""
    memory = np.empty(words + LINE_WORDS, np.uint64)
    skipped = -memory.ctypes.data // LIMB_BYTES % LINE_WORDS
    return memory[skipped : skipped + words]
