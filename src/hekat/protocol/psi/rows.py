"""Arrays with 32 bytes in a row: sorted, shuffled and matched by whole rows."""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

Digests = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]


def sort_rows(rows: Digests) -> Positions:
    """The order (rows,) in which rows (rows, 32) ascend byte by byte; equal rows keep their order."""
    words = np.ascontiguousarray(rows).view(">u8").astype(np.uint64)
    return np.lexsort(words.T[::-1]).astype(np.int64, copy=False)


def match_rows(ours: Digests, theirs: Digests) -> tuple[Positions, Positions]:
    """Where a row of `ours` equals a row of `theirs`: both positions, by ascending rows. Neither may repeat a row."""
    joined = np.concatenate([ours, theirs])
    order = sort_rows(joined)
    equal = (joined[order[1:]] == joined[order[:-1]]).all(axis=1)
    # Equal rows keep their order, so that ours comes before theirs.
    return order[:-1][equal], order[1:][equal] - len(ours)


def count_repeats(rows: Digests) -> int:
    """How many rows (rows, 32) repeat an earlier row."""
    order = sort_rows(rows)
    return int((rows[order[1:]] == rows[order[:-1]]).all(axis=1).sum())


def draw_order(count: int) -> Positions:
    """Draw a uniform order of `count` things, shape (count,), from the operating system's randomness.

    The order sorts random 64-bit keys. Only two equal keys would favour an order; for 4 million things the odds of that
    are below 2^-20.
    """
    keys = np.frombuffer(secrets.token_bytes(8 * count), np.uint64)
    return np.argsort(keys).astype(np.int64, copy=False)


def random_rows(count: int) -> Digests:
    """`count` rows of the operating system's randomness, shape (count, 32)."""
    return np.frombuffer(secrets.token_bytes(32 * count), np.uint8).reshape(count, 32)
