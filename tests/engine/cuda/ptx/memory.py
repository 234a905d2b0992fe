"""Memory that PTX reads and writes: buffers far apart, every access within one of them and aligned."""

from __future__ import annotations

from typing import Any

import numpy as np

BUFFER_SHIFT = np.uint64(40)
WARP = np.uint64(32)
NOBODY, SEVERAL = -1, -2


class Memory:
    """Buffers of host memory under addresses of their own; those of shared memory begin at 0."""

    def __init__(self) -> None:
        self._buffers: dict[int, Any] = {}
        self.add_shared(0)

    def add(self, array: Any, offset: int = 0) -> int:
        """The address of a contiguous array: `offset` beyond a boundary of 256 bytes."""
        index = len(self._buffers) + 1
        self._put(index, array, offset)
        return (index << int(BUFFER_SHIFT)) + offset

    def add_shared(self, size: int) -> None:
        self._put(0, np.full(size, 0xA5, np.uint8), 0)
        # Which warp used a byte in which way since the last barrier: NOBODY, one, or SEVERAL.
        self._used_by = {use: np.full(size, NOBODY) for use in ("store", "load", "atomic")}

    def meet(self) -> None:
        """All threads of the block have met at a barrier."""
        for used_by in self._used_by.values():
            used_by[:] = NOBODY

    def _put(self, index: int, array: Any, offset: int) -> None:
        if not array.flags.c_contiguous:
            raise ValueError("a buffer of memory that is not contiguous")
        self._buffers[index] = (array.view(np.ndarray).reshape(-1).view(np.uint8), offset)

    def load(self, addresses: Any, width: int, count: int, threads: Any, use: str = "load") -> list[Any]:
        """`count` words of `width` bits from each address, one for each of `threads`; `use` "atomic" for those."""
        size = width // 8
        buffer, places = self._find(addresses, size * count)
        if buffer is self._buffers[0][0]:
            self._watch(places, size * count, threads // WARP, use)
        columns = [np.zeros(len(addresses), np.uint64) for _ in range(count)]
        for i, column in enumerate(columns):
            for byte in range(size):
                column |= buffer[places + np.uint64(i * size + byte)].astype(np.uint64) << np.uint64(8 * byte)
        return columns

    def store(self, addresses: Any, width: int, values: list[Any], threads: Any, use: str = "store") -> None:
        """One word of `width` bits from each of `values` at each address, one after the other."""
        size = width // 8
        buffer, places = self._find(addresses, size * len(values))
        if len(np.unique(places)) != len(places):
            raise ValueError("two threads store in one place at once")
        if buffer is self._buffers[0][0]:
            self._watch(places, size * len(values), threads // WARP, use)
        for i, column in enumerate(values):
            for byte in range(size):
                buffer[places + np.uint64(i * size + byte)] = (column >> np.uint64(8 * byte)).astype(np.uint8)

    def _watch(self, places: Any, size: int, warps: Any, use: str) -> None:
        """Refuses what another warp has used with no barrier since, unless both read, or both are atomic."""
        warp = warps.astype(np.int64)
        for byte in range(size):
            at = places + np.uint64(byte)
            for other, used_by in self._used_by.items():
                users = used_by[at]
                if (use != other or use == "store") and ((users != NOBODY) & (users != warp)).any():
                    raise ValueError("shared memory that another warp used, and no barrier between")
            own = self._used_by[use]
            before = own[at]
            own[at] = warp
            # Where others used it too, or several of these threads' warps do.
            own[at[((before != NOBODY) & (before != warp)) | (own[at] != warp)]] = SEVERAL

    def _find(self, addresses: Any, size: int) -> tuple[Any, Any]:
        (index, *others) = np.unique(addresses >> BUFFER_SHIFT)
        if others or int(index) not in self._buffers:
            raise ValueError("an access outside of all buffers, or to several at once")
        if (addresses % np.uint64(size)).any():
            raise ValueError(f"an access of {size} bytes that is not aligned")
        buffer, offset = self._buffers[int(index)]
        places = addresses - (index << BUFFER_SHIFT) - np.uint64(offset)
        if (places.view(np.int64) < 0).any() or (places + np.uint64(size) > len(buffer)).any():
            raise ValueError(f"an access of {size} bytes outside of a buffer of {len(buffer)}")
        return buffer, places
