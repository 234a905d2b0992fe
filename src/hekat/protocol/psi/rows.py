"""Arrays of 32 bytes a row: sorted, shuffled and matched as whole rows."""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

Digests = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]


def sort_rows(rows: Digests) -> Positions:
    """The order (rows,) in which rows (rows, 32) ascend byte by byte; equal ones stay as they are."""
    words = np.ascontiguousarray(rows).view(">u8").astype(np.uint64)
    return np.lexsort(words.T[::-1]).astype(np.int64, copy=False)


def match_rows(ours: Digests, theirs: Digests) -> tuple[Positions, Positions]:
    """Where a row of `ours` equals one of `theirs`: both positions, by ascending rows. Each holds a row once."""
    joined = np.concatenate([ours, theirs])
    order = sort_rows(joined)
    equal = (joined[order[1:]] == joined[order[:-1]]).all(axis=1)
    # Equal rows stay in order, so that ours comes before theirs.
    return order[:-1][equal], order[1:][equal] - len(ours)


def count_repeats(rows: Digests) -> int:
    """How many rows (rows, 32) are equal to another one that was counted before."""
    order = sort_rows(rows)
    return int((rows[order[1:]] == rows[order[:-1]]).all(axis=1).sum())


def draw_order(count: int) -> Positions:
    """A uniform order of `count` things from the operating system's randomness, shape (count,).

    It sorts random 64-bit keys; that two of them are equal, which alone would favour an order, has odds below 2^-20
    for 4 million things.
    """
    keys = np.frombuffer(secrets.token_bytes(8 * count), np.uint64)
    return np.argsort(keys).astype(np.int64, copy=False)


def random_rows(count: int) -> Digests:
    """`count` rows of the operating system's randomness, shape (count, 32)."""
    return np.frombuffer(secrets.token_bytes(32 * count), np.uint8).reshape(count, 32)
