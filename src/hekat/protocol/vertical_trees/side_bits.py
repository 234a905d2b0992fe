"""Sides of rows as packed bits: eight rows a byte, the first row in the highest bit, and zeros behind the last one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError

Bools = npt.NDArray[np.bool_]


def pack_sides(sides: Bools) -> bytes:
    """Pack sides (rows,), True for left."""
    return np.packbits(sides).tobytes()


def read_sides(data: bytes, count: int, sender: str) -> Bools:
    """The sides (count,) in `data`. Raises ProtocolError unless it holds exactly these, with zeros behind."""
    expected = (count + 7) // 8
    if len(data) != expected:
        raise ProtocolError(
            f"{sender} sent sides of another number of rows",
            expected=f"{expected} bytes for {count:,} rows",
            got=f"{len(data)} bytes",
            cure="all parties must run the same job and release, on the same rows",
        )
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    if bits[count:].any():
        raise ProtocolError(
            f"{sender} sent sides of rows that do not exist",
            expected="zeros behind the last row",
            got="ones",
            cure="find out what runs there: this release sends zeros",
        )
    return bits[:count].view(np.bool_)
