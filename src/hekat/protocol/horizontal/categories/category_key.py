"""A category of a column as numbers of a prime field, and back; a check tells it from anything else.

Places and checks depend on the session and on a key of the parties: nobody knows before it begins which categories meet
in a cell, and an aggregator that adds something to the sum cannot place a text of its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from hekat.data.columns.found import MOST_TEXT_BYTES

PRIME = 2**24 + 43
CHUNK_COUNT = 25
# Three bytes are below the prime, whatever they are.
_CHUNK_BYTES = 3
_CHECK_BYTES = 8
_DOMAIN = b"hekat/categories/2"


@dataclass(frozen=True, order=True)
class Category:
    """A text of the column with this number among those whose categories are found."""

    column: int
    text: str


Chunks = tuple[int, ...]


def encode_category(category: Category, seed: bytes) -> Chunks:
    """CHUNK_COUNT numbers below 2^24. The text has at most MOST_TEXT_BYTES bytes."""
    text = category.text.encode()
    body = category.column.to_bytes(2) + len(text).to_bytes(1) + text.ljust(MOST_TEXT_BYTES, b"\0")
    content = _check_of(body, seed) + body
    return tuple(
        int.from_bytes(content[start : start + _CHUNK_BYTES]) for start in range(0, len(content), _CHUNK_BYTES)
    )


def decode_category(chunks: Chunks, seed: bytes) -> Category | None:
    """The category of these numbers; None where they are of none, as where two categories are added up.

    A text may be anything that somebody put there.
    """
    if max(chunks) >= 1 << (8 * _CHUNK_BYTES):
        return None
    content = b"".join(chunk.to_bytes(_CHUNK_BYTES) for chunk in chunks)
    check, body = content[:_CHECK_BYTES], content[_CHECK_BYTES:]
    if check != _check_of(body, seed):
        return None
    size, padded = body[2], body[3:]
    text = padded[:size].decode(errors="replace")
    found = Category(int.from_bytes(body[:2]), text)
    # Other bytes of the same text would be another key for it.
    fits = len(text.encode()) <= MOST_TEXT_BYTES
    return found if fits and encode_category(found, seed) == chunks else None


def place_category(chunks: Chunks, seed: bytes, *, hash_count: int, part_size: int) -> tuple[int, ...]:
    """The cell of the category in each of `hash_count` parts of a table, as numbers over all parts."""
    content = b"".join(chunk.to_bytes(_CHUNK_BYTES) for chunk in chunks)
    digest = hashlib.sha512(_DOMAIN + b"place" + seed + content).digest()
    return tuple(
        part * part_size + int.from_bytes(digest[8 * part : 8 * part + 8]) % part_size for part in range(hash_count)
    )


def _check_of(body: bytes, seed: bytes) -> bytes:
    return hashlib.sha256(_DOMAIN + b"check" + seed + body).digest()[:_CHECK_BYTES]
