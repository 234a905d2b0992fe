"""Hashes of any length; every part before the item is framed by its length, so that no two inputs become the same
bytes.

    seed     domain || |part| || part ... || item      lengths | | in 8 bytes, big-endian
    value    the first ceil((bits + 128) / 8) bytes of SHAKE-256(seed), little-endian

The 128 bits beyond the bits of n leave a bias below 2^-128 where the value is taken mod n.
Source: Bellare-Rogaway 1996 (full-domain hash); the width as in RFC 9380, section 5.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

EXTRA_BITS: Final = 128
LENGTH_BYTES: Final = 8


def frame_hash(domain: bytes, *parts: bytes) -> Any:
    """The state of SHAKE-256 after the domain and the framed parts: items follow."""
    state = hashlib.shake_256(domain)
    for part in parts:
        state.update(len(part).to_bytes(LENGTH_BYTES, "big") + part)
    return state


def expand_item(framed: Any, item: bytes, bits: int) -> bytes:
    """The hash of one item, of `bits` + 128 bits and up to the next byte."""
    state = framed.copy()
    state.update(item)
    expanded: bytes = state.digest(-(-(bits + EXTRA_BITS) // 8))
    return expanded
