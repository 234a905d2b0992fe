"""The table in which parties add up their categories: an invertible Bloom lookup table over a prime field.

A party adds to five cells, for each category that it offers, r times (1, the category's numbers), with a fresh random
r in 0 .. p-1. A cell in which one category lies, of however many parties, holds R times these, R the sum of their r:
dividing by its first number gives the category, and its check says that no second one lies there. It is taken out of
its other cells, which leaves further cells with one category, until none is left (peeling). R is uniform, of many
parties as of one, so it does not tell how many they are. A category is lost where R is 0, once in 2^24 times: each
party looks whether all of its own were found.

Sums are of whole numbers and not of remainders: a party sends numbers that hide all but their remainders
(`hekat.codec.residues`).

Source: Goodrich and Mitzenmacher, Invertible Bloom Lookup Tables (Allerton 2011), section 2; the factors r stand in
place of its counts.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from hekat.codec.residues import RESIDUE_ROOM, IntArray, hide_residues
from hekat.errors import InputError
from hekat.protocol.horizontal.categories.category_key import (
    CHUNK_COUNT,
    PRIME,
    Category,
    Chunks,
    decode_category,
    encode_category,
    place_category,
)

CELL_NUMBERS = 1 + CHUNK_COUNT
MOST_NUMBER = RESIDUE_ROOM * PRIME - 1
NUMBER_BITS = 32
"""Slots of values of so many bits hold a number in one digit: what is hidden in its size must not open in parts."""
_HASH_COUNT = 5
# At half of the cells peeling ends early in about one of 10^5 tables that are full, at fewer categories far less often.
_CELLS_PER_CATEGORY = 2


def cell_count(most: int) -> int:
    """The cells of a table for `most` categories."""
    return _HASH_COUNT * _part_size(most)


def fill_table(categories: Iterable[Category], most: int, seed: bytes) -> list[int]:
    """One party's numbers, CELL_NUMBERS of each cell after the other, each from 0 to MOST_NUMBER."""
    cells = np.zeros((cell_count(most), CELL_NUMBERS), dtype=np.int64)
    for category in categories:
        chunks = encode_category(category, seed)
        _add(cells, chunks, secrets.randbelow(PRIME), _places(chunks, most, seed))
    return [int(number) for number in hide_residues(cells.ravel(), PRIME)]


def read_table(sums: Sequence[int], own: Iterable[Category], most: int, seed: bytes) -> list[Category]:
    """The categories in the sum of the parties' tables, in their order; `own` are the reader's.

    Raises InputError where not all of it can be read: there are more than about `most`, somebody added no table, or
    one of `own` is not found.
    """
    cells = np.array([number % PRIME for number in sums], dtype=np.int64).reshape(-1, CELL_NUMBERS)
    found: set[Category] = set()
    waiting = deque(range(cell_count(most)))
    while waiting:
        cell = waiting.popleft()
        factor, *numbers = map(int, cells[cell])
        if not factor:
            continue
        inverse = pow(factor, -1, PRIME)
        chunks = tuple(number * inverse % PRIME for number in numbers)
        category = decode_category(chunks, seed)
        if category is None:
            continue
        places = _places(chunks, most, seed)
        if cell not in places or category in found or len(found) == most:
            # One that comes twice was added with different factors, and would come for ever.
            raise _unreadable(most)
        found.add(category)
        _add(cells, chunks, PRIME - factor, places)
        waiting.extend(places)
    if cells.any() or not found.issuperset(own):
        raise _unreadable(most)
    return sorted(found)


def _part_size(most: int) -> int:
    return -(-_CELLS_PER_CATEGORY * most // _HASH_COUNT)


def _places(chunks: Chunks, most: int, seed: bytes) -> tuple[int, ...]:
    return place_category(chunks, seed, hash_count=_HASH_COUNT, part_size=_part_size(most))


def _add(cells: IntArray, chunks: Chunks, factor: int, places: Iterable[int]) -> None:
    # Factor and chunks are below 2^25: their products fit.
    added = np.array((1, *chunks), dtype=np.int64) * factor
    for place in places:
        cells[place] = (cells[place] + added) % PRIME


def _unreadable(most: int) -> InputError:
    return InputError(
        "the categories of all parties cannot be read from their sum (step categories/table)",
        expected=f"at most {most} different ones, and a table of each party",
        got="more, or something else from one of the parties",
        cure="raise min_rows of columns with many categories, or list these in the job; where there are few, run "
        "again, and if it fails again one of the parties does not follow the protocol",
    )
