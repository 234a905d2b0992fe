"""Secret uniform words: for coins and for the dither of rounding, never from a generator that others could run."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

_COUNTER_AND_NONCE = bytes(16)


def draw_words(count: int) -> npt.NDArray[np.uint64]:
    """`count` uniform 64-bit words of a ChaCha20 stream under a new key of the operating system's randomness."""
    # A key is used once, so the stream may begin at 0.
    stream = Cipher(ChaCha20(os.urandom(32), _COUNTER_AND_NONCE), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * count)), np.uint64)


def draw_coins(count: int, chance: float) -> npt.NDArray[np.bool_]:
    """Independent secret coins, true with `chance` (0 to 1, below 1) rounded down to a multiple of 2^-64."""
    return draw_words(count) < np.uint64(int(chance * 2**64))
