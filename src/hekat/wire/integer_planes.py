"""Fields of large integers in messages, which need neither checksum nor seal: the message around them has both.

A field is 16 bytes of a key's fingerprint, counts of four bytes each, then integers of four to six bytes in planes: the
low 32 bits of all, then what is above. All little-endian.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from hekat.engine.ring.interface import RingArray
from hekat.errors import WireCorruptError
from hekat.wire.residues import check_fingerprint

FINGERPRINT_BYTES: Final = 16
INDEX: Final = np.dtype("<u4")
_LOW, _LOW_BITS = np.dtype("<u4"), np.uint64(32)
# What is above the low 32 bits, by bytes of an integer.
_HIGH: Final = {4: None, 5: np.dtype("u1"), 6: np.dtype("<u2")}


def write_planes(integers: RingArray, byte_count: int = 6, start: bytes = b"") -> bytes:
    """Integers below 2^(8 byte_count), of 4 to 6 bytes each, as `FieldCursor.take_planes` takes them, after `start`."""
    high_type = _HIGH[byte_count]
    # Without arrays in between: a block has many megabytes, and fresh memory costs more than the numbers.
    low = np.empty(integers.shape, _LOW)
    np.copyto(low, integers, casting="unsafe")
    if high_type is None:
        return b"".join((start, low.data))
    high = np.empty(integers.shape, high_type)
    np.right_shift(integers, _LOW_BITS, out=high, casting="unsafe")
    return b"".join((start, low.data, high.data))


@dataclass
class FieldCursor:
    """Reads a field from front to back; `what` names the field in errors. Raises WireCorruptError, and WireKeyError for
    another key's field.
    """

    data: bytes
    what: str
    at: int = 0

    def take(self, dtype: np.dtype[Any], count: int) -> Any:
        """The next `count` numbers; nothing is made where they are not there."""
        size = dtype.itemsize * count
        if len(self.data) - self.at < size:
            raise self._wrong_size()
        self.at += size
        return np.frombuffer(self.data, dtype, count, self.at - size)

    def take_count(self) -> int:
        """A count of one or more."""
        count = int(self.take(INDEX, 1)[0])
        if count < 1:
            raise WireCorruptError(f"{self.what} count nothing", expected="1 or more")
        return count

    def take_key(self, fingerprint: str) -> None:
        """The fingerprint of the key that the field is under."""
        got = self.take(np.dtype(np.uint8), FINGERPRINT_BYTES).tobytes().hex()
        check_fingerprint(got, fingerprint, self.what)

    def take_planes(self, shape: tuple[int, ...], byte_count: int = 6) -> RingArray:
        """Integers of 4 to 6 bytes each."""
        count, high_type = prod(shape), _HIGH[byte_count]
        low = self.take(_LOW, count)
        if high_type is None:
            return low.astype(np.uint64).reshape(shape)  # type: ignore[no-any-return]
        integers: RingArray = self.take(high_type, count).astype(np.uint64)
        integers <<= _LOW_BITS
        integers |= low
        return integers.reshape(shape)

    def end(self) -> None:
        """Raise WireCorruptError unless all is read."""
        if self.at != len(self.data):
            raise self._wrong_size()

    def _wrong_size(self) -> WireCorruptError:
        return WireCorruptError(
            f"{self.what} have the wrong size", expected="as many bytes as they count", got=f"{len(self.data)} bytes"
        )
