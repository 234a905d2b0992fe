"""The memory of an engine's large results: a new result reuses the buffer of one that nobody keeps any more.

Fresh memory from the system costs a page fault for every page, which slows products of ciphertexts. Returned buffers
are kept unchanged, up to a limit, and lent to the next result of about their size, which overwrites them.

So kept buffers hold residues that nobody needs any more, as freed and unwiped memory does, until a result overwrites
them, newer buffers replace them, or the engine goes: ciphertexts, but also randomisers and results modulo secret primes
(SECURITY.md says what follows from them). Integers, among them plaintexts and exponents, never lie here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from typing import Any, Final

import numpy as np

from hekat.engine.aligned import empty_aligned
from hekat.engine.limbs import LIMB_BYTES, LimbArray

# Below this size NumPy's own memory is as fast, because the C library keeps it too.
LEAST_BYTES: Final = 1 << 19


class ResultMemory:
    """Lends memory to results and keeps the newest `limit_bytes` of the memory that came back.

    There is no lock: kept buffers change only by single dictionary operations, and each happens whole or not at all. So
    memory may come back from any thread, in a garbage collection in the middle of anything here, after an interrupt and
    after a fork.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes: Final = limit_bytes
        # (when it came back, words) -> buffer, oldest first.
        self._kept: Final[dict[tuple[int, int], LimbArray]] = {}
        self._moments: Final = itertools.count()

    @property
    def kept_bytes(self) -> int:
        """Bytes that wait for a result."""
        return LIMB_BYTES * sum(words for _, words in list(self._kept))

    def empty(self, shape: tuple[int, ...], limb_count: int) -> LimbArray:
        """Uninitialised limbs, shape (*shape, limb_count), contiguous; their memory comes back with the last view."""
        words = prod(shape) * limb_count
        room = room_for(words)
        if words * LIMB_BYTES < LEAST_BYTES or room * LIMB_BYTES > self.limit_bytes:
            return np.empty((*shape, limb_count), np.uint64)
        buffer = self._find(room)
        if buffer is None:
            buffer = empty_aligned(room)
        return np.asarray(_Loan(buffer, (*shape, limb_count), self._take_back))

    def _find(self, words: int) -> LimbArray | None:
        # The newest first, because most of it is still in the caches.
        for key in reversed(list(self._kept)):
            if key[1] == words:
                buffer = self._kept.pop(key, None)  # None where another thread took it first
                if buffer is not None:
                    return buffer
        return None

    def _take_back(self, buffer: LimbArray) -> None:
        self._kept[next(self._moments), buffer.size] = buffer
        for oldest in list(self._kept):
            if self.kept_bytes <= self.limit_bytes:
                break
            self._kept.pop(oldest, None)


class _Loan:
    """The base of an array on lent memory: every view holds it, and the buffer returns with the last view."""

    __slots__ = ("__array_interface__", "_buffer", "_give_back")

    def __init__(self, buffer: LimbArray, shape: tuple[int, ...], give_back: Callable[[LimbArray], None]) -> None:
        self._buffer = buffer
        self._give_back = give_back
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": shape,
            "typestr": buffer.dtype.str,
            "data": (buffer.ctypes.data, False),
        }

    def __del__(self) -> None:
        self._give_back(self._buffer)


def room_for(words: int) -> int:
    """The words to allocate for `words`: up to an eighth more, so that batches of nearly one size share buffers."""
    step = 1 << max(0, words.bit_length() - 4)
    return -(-words // step) * step
