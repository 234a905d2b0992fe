"""Groups of residues to multiply together, for engines that plan on the host."""

from __future__ import annotations

from math import prod

import numpy as np

from hekat.engine.interface import IndexArray


def axis_groups(shape: tuple[int, ...], axis: int) -> tuple[IndexArray, IndexArray]:
    """The flat (C order) indices of an array's members along `axis`, group after group, and where each group begins.

    Group i is members[offsets[i]:offsets[i + 1]]; `axis` is counted from the front.
    """
    members = np.moveaxis(np.arange(prod(shape), dtype=np.int64).reshape(shape), axis, -1).ravel()
    group_count = prod(shape[:axis] + shape[axis + 1 :])
    return members, np.arange(group_count + 1, dtype=np.int64) * shape[axis]


def segment_groups(
    segments: IndexArray, segment_count: int, members: IndexArray | None = None
) -> tuple[IndexArray, IndexArray]:
    """As `axis_groups`, for segments, each in the order of its members; an empty segment is an empty group.

    `members`: the index that each entry of `segments` stands for, its own place if None.
    """
    # In as few bits as the segments need, because NumPy sorts 8 and 16 bits by radix.
    order = np.argsort(segments.astype(np.min_scalar_type(max(segment_count - 1, 0))), kind="stable")
    return order if members is None else members[order], offsets_of(np.bincount(segments, minlength=segment_count))


def offsets_of(lengths: IndexArray) -> IndexArray:
    """Where each group of these lengths begins, followed by the end of the last one."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def groups_of_members(offsets: IndexArray) -> IndexArray:
    """For each member the number of its group."""
    return np.repeat(np.arange(offsets.size - 1, dtype=np.int64), np.diff(offsets))


def renumber(numbers: IndexArray, count: int) -> tuple[IndexArray, IndexArray]:
    """The distinct `numbers`, all in [0, count), ascending; and for each number its place among them.

    As np.unique, without sorting.
    """
    is_there = np.zeros(count, np.bool_)
    is_there[numbers] = True
    places = np.cumsum(is_there, dtype=np.int64) - 1
    return np.flatnonzero(is_there).astype(np.int64, copy=False), places[numbers]
