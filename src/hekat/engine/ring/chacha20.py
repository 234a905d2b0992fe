"""ChaCha20 in NumPy's 32-bit integers, many blocks at once. Source: RFC 8439, sections 2.1 to 2.4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

# What a stream computes ahead.
_STREAM_BLOCKS = 128
_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4")

# One row of the four by four words of the state: words by blocks.
_Row = NDArray[np.uint32]


def chacha20_blocks(key: bytes, nonce: bytes, counter: int, block_count: int) -> bytes:
    """The key stream of `block_count` blocks from block `counter` on, 64 bytes each (section 2.3)."""
    state = np.empty((16, block_count), np.uint32)
    state[0:4] = _CONSTANTS[:, np.newaxis]
    state[4:12] = np.frombuffer(key, "<u4")[:, np.newaxis]
    state[12] = counter + np.arange(block_count)
    state[13:16] = np.frombuffer(nonce, "<u4")[:, np.newaxis]
    a, b, c, d = state.reshape(4, 4, block_count).copy()
    for _ in range(10):
        _quarter_rounds(a, b, c, d)
        # Diagonals become columns, and columns again.
        b, c, d = b[[1, 2, 3, 0]], c[[2, 3, 0, 1]], d[[3, 0, 1, 2]]
        _quarter_rounds(a, b, c, d)
        b, c, d = b[[3, 0, 1, 2]], c[[2, 3, 0, 1]], d[[1, 2, 3, 0]]
    state += np.concatenate((a, b, c, d))
    return state.T.astype("<u4").tobytes()


def chacha20_stream(key: bytes, nonce: bytes, first: int = 0) -> Iterator[int]:
    """The key stream from block `first` on, as 64-bit little-endian words."""
    for counter in range(first, 1 << 32, _STREAM_BLOCKS):
        yield from np.frombuffer(chacha20_blocks(key, nonce, counter, _STREAM_BLOCKS), "<u8").tolist()


def _quarter_rounds(a: _Row, b: _Row, c: _Row, d: _Row) -> None:
    """The quarter round of every column, in place."""
    for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x += y
        z ^= x
        z[:] = z << bits | z >> 32 - bits
