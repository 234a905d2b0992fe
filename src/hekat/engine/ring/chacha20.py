"""ChaCha20 in Python integers. Source: RFC 8439, sections 2.1 to 2.4."""

from __future__ import annotations

from collections.abc import Iterator

_MASK = (1 << 32) - 1
_CONSTANTS = [int.from_bytes(b"expand 32-byte k"[i : i + 4], "little") for i in range(0, 16, 4)]
_COLUMNS = [(i, 4 + i, 8 + i, 12 + i) for i in range(4)]
_DIAGONALS = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]


def chacha20_block(key: bytes, nonce: bytes, counter: int) -> bytes:
    """The 64 bytes of key stream of one block (section 2.3)."""
    start = [*_CONSTANTS, *_words(key), counter, *_words(nonce)]
    state = start.copy()
    for _ in range(10):
        for a, b, c, d in _COLUMNS + _DIAGONALS:
            _quarter_round(state, a, b, c, d)
    return b"".join((x + y & _MASK).to_bytes(4, "little") for x, y in zip(state, start, strict=True))


def chacha20_stream(key: bytes, nonce: bytes) -> Iterator[int]:
    """The key stream from block 0 on, as 64-bit little-endian words."""
    for counter in range(1 << 32):
        block = chacha20_block(key, nonce, counter)
        for i in range(0, 64, 8):
            yield int.from_bytes(block[i : i + 8], "little")


def _quarter_round(state: list[int], a: int, b: int, c: int, d: int) -> None:
    for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[x] = state[x] + state[y] & _MASK
        mixed = state[z] ^ state[x]
        state[z] = mixed << bits & _MASK | mixed >> 32 - bits


def _words(data: bytes) -> list[int]:
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
