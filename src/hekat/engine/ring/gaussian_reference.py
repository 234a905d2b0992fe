"""The specification of `sample_discrete_gaussian`: one try after the other, every comparison exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hekat.engine.ring.chacha20 import chacha20_blocks, chacha20_stream
from hekat.engine.ring.gaussian import (
    BASE_BITS,
    BLOCK_NUMBERS,
    Bracket,
    DiscreteGaussian,
    bracket_exp,
    bracket_table,
    is_below,
)
from hekat.engine.ring.interface import NoiseArray

# The first four bytes of a nonce: of a block's tries, and of what follows the first digits of its numbers U and V.
TRIES = (1 << 32) - 2
FURTHER_U = (1 << 32) - 3
FURTHER_V = (1 << 32) - 4
# Blocks of a stream that each try's further digits may take: no two tries meet.
FURTHER_BLOCKS = 1 << 12
# Tries side by side: one for each word of a ChaCha20 block.
GROUP = 8
SIGN_BIT = 63
# What a block of numbers computes ahead.
_GROUPS = 16


def sample_blocks(key: bytes, first_block: int, count: int, gaussian: DiscreteGaussian) -> NoiseArray:
    """`count` numbers, of the blocks from `first_block` on."""
    numbers: list[int] = []
    for block, start in enumerate(range(0, count, BLOCK_NUMBERS), first_block):
        numbers += sample_block(key, block, min(BLOCK_NUMBERS, count - start), gaussian)
    return np.array(numbers, np.int64)


def sample_block(key: bytes, block: int, count: int, gaussian: DiscreteGaussian) -> list[int]:
    """The first `count` numbers of a block of the contract's."""
    numbers: list[int] = []
    for t, (u, v, r) in enumerate(_tries(key, block)):
        x = _try_number(key, block, t, (u, v, r), gaussian)
        if x is not None:
            numbers.append(x)
        if len(numbers) == count:
            break
    return numbers


def _tries(key: bytes, block: int) -> Iterator[tuple[int, int, int]]:
    """The words (u, v, r) of one try after the other: eight tries take three ChaCha20 blocks."""
    counter = 0
    while True:
        data = chacha20_blocks(key, _nonce(TRIES, block), counter, 3 * _GROUPS)
        for words in np.frombuffer(data, "<u8").reshape(_GROUPS, 3, GROUP).tolist():
            yield from zip(*words, strict=True)
        counter += 3 * _GROUPS


def _try_number(key: bytes, block: int, t: int, words: tuple[int, int, int], gaussian: DiscreteGaussian) -> int | None:
    """The number of try `t`, None where it is refused."""
    u, v, r = words
    k = gaussian.doublings

    def further(stream: int) -> Callable[[], Iterator[int]]:
        return lambda: chacha20_stream(key, _nonce(stream, block), t * FURTHER_BLOCKS)

    is_up_to = (is_below(u, further(FURTHER_U), _chance_up_to(j, gaussian)) for j in range(gaussian.base_limit))
    z = next((j for j, found in enumerate(is_up_to) if found), gaussian.base_limit)
    y = r & (1 << k) - 1
    is_kept = is_below(v, further(FURTHER_V), _chance_to_keep(y, z, gaussian))
    x, is_negative = (z << k) + y, r >> SIGN_BIT == 1
    if not is_kept or x > gaussian.limit or (x == 0 and is_negative):
        return None
    return -x if is_negative else x


def _chance_up_to(j: int, gaussian: DiscreteGaussian) -> Callable[[int], Bracket]:
    """C_j."""
    return lambda bits: bracket_table(gaussian.base, bits)[j]


def _chance_to_keep(y: int, z: int, gaussian: DiscreteGaussian) -> Callable[[int], Bracket]:
    """exp(-y (y + 2^(k+1) z) / (2 s^2))."""
    k = gaussian.doublings
    numerator, denominator = y * (y + (z << k + 1)) << BASE_BITS - 1, gaussian.base << 2 * k
    return lambda bits: bracket_exp(numerator, denominator, bits)


def _nonce(stream: int, block: int) -> bytes:
    return stream.to_bytes(4, "little") + block.to_bytes(8, "little")
