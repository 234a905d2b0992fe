"""The table in which parties add up their categories: an invertible Bloom lookup table over a prime field.

A party adds to five cells, for each category that it offers, r times (1, the category's five numbers), with a fresh
random r in 1 .. p-1. A cell in which one category lies, of however many parties, holds R times these, R the sum of
their r: dividing by its first number gives the category, and its check says that no second one lies there. It is taken
out of its other cells, which leaves further cells with one category, until none is left (peeling). R is as random for
many parties as for one, so it does not tell how many they are.

Sums are of whole numbers and not of remainders: their size would tell how many were added. So a party adds to each
number of each cell, also of empty ones, a random multiple of p, below 2^BLIND_BITS of them. Known fault: sums are
opened in digits of 31 bits, whose middle ones tell about how many parties hold each category (decision 0064).

Source: Goodrich and Mitzenmacher, Invertible Bloom Lookup Tables (Allerton 2011), section 2; the factors r stand in
place of its counts.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Sequence

from hekat.errors import InputError
from hekat.protocol.horizontal.categories.category_key import (
    CHUNK_COUNT,
    PRIME,
    Category,
    decode_category,
    encode_category,
    place_category,
)

CELL_NUMBERS = 1 + CHUNK_COUNT
BLIND_BITS = 56
"""What of the sum's size tells the number of parties is hidden but for a distance of parties / 2^56."""
MOST_NUMBER = PRIME * 2**BLIND_BITS - 1
_HASH_COUNT = 5
# At half of the cells peeling ends early in about one of 10^5 tables that are full, at fewer categories far less often.
_CELLS_PER_CATEGORY = 2


def cell_count(most: int) -> int:
    """The cells of a table for `most` categories."""
    return _HASH_COUNT * _part_size(most)


def fill_table(categories: Iterable[Category], most: int, seed: bytes) -> list[int]:
    """One party's numbers, CELL_NUMBERS of each cell after the other, each from 0 to MOST_NUMBER."""
    cells = [0] * (cell_count(most) * CELL_NUMBERS)
    for category in categories:
        chunks = encode_category(category, seed)
        _add(cells, chunks, 1 + secrets.randbelow(PRIME - 1), _places(chunks, most, seed))
    return [number + PRIME * secrets.randbits(BLIND_BITS) for number in cells]


def read_table(sums: Sequence[int], most: int, seed: bytes) -> list[Category]:
    """The categories in the sum of the parties' tables, in their order.

    Raises InputError where not all of it can be read: there are more than about `most`, or somebody added no table.
    """
    cells = [number % PRIME for number in sums]
    found: set[Category] = set()
    waiting = deque(range(cell_count(most)))
    while waiting:
        cell = waiting.popleft()
        factor = cells[cell * CELL_NUMBERS]
        if not factor:
            continue
        inverse = pow(factor, -1, PRIME)
        first = cell * CELL_NUMBERS + 1
        chunks = tuple(number * inverse % PRIME for number in cells[first : first + CHUNK_COUNT])
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
    if any(cells):
        raise _unreadable(most)
    return sorted(found)


def _part_size(most: int) -> int:
    return -(-_CELLS_PER_CATEGORY * most // _HASH_COUNT)


def _places(chunks: tuple[int, ...], most: int, seed: bytes) -> tuple[int, ...]:
    return place_category(chunks, seed, hash_count=_HASH_COUNT, part_size=_part_size(most))


def _add(cells: list[int], chunks: tuple[int, ...], factor: int, places: Iterable[int]) -> None:
    for place in places:
        for number, value in enumerate((1, *chunks), place * CELL_NUMBERS):
            cells[number] = (cells[number] + factor * value) % PRIME


def _unreadable(most: int) -> InputError:
    return InputError(
        "the categories of all parties cannot be read from their sum (step categories/table)",
        expected=f"at most {most} different ones, and a table of each party",
        got="more, or something else from one of the parties",
        cure="raise min_rows of columns with many categories, or list these in the job; where there are few, run "
        "again, and if it fails again one of the parties does not follow the protocol",
    )
