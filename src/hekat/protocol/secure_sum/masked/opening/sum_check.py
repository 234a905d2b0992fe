"""Whether an opened sum is the sum of the uploads that parties signed: inner products with one random vector.

The aggregator commits to the whole sum V, every field of it, before a challenge r follows from its statement of U.
Each party of U gives z_i = r v_i of its own upload v_i, and V is the sum of the uploads unless r (V - sum of v_i)
vanishes by chance. Fields are integers below 2^w; each row of r is of uniform 16-bit words; all is reckoned mod 2^64.
Where a field of V is off by d, 0 < |d| < 2^w, a row vanishes for one residue mod 2^(65 - w) of its word at most, since
2^w does not divide d: with odds of 2^-min(16, 65 - w). There are as many rows as make that 2^-128: 8 to 11 in the
scheme's sets, where w <= 53 up to the most parties that each set takes.

Source: Freivalds 1977 (products checked by random vectors); Fiat and Shamir 1986 (the challenge from a hash).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from hekat.channel.canonical import encode_fields, encode_number
from hekat.engine.ring.interface import RingArray
from hekat.engine.ring.parameters import MaskFormat
from hekat.errors import ProtocolError

SOUNDNESS_BITS = 128
_WORD_BITS = 16
_COMMITMENT_LABEL = b"hekat/lattice/whole-sum/1"
_CHALLENGE_LABEL = b"hekat/lattice/sum-check/1"

Products = npt.NDArray[np.uint64]


def whole_bits(form: MaskFormat, addend_count: int) -> int:
    """w: bits of a field of a sum of so many uploads, with no bits dropped."""
    return (addend_count * ((1 << max(form.field_bits)) - 1)).bit_length()


def row_count(form: MaskFormat, addend_count: int) -> int:
    """Rows of r."""
    bits_a_row = min(_WORD_BITS, 65 - whole_bits(form, addend_count))
    return -(-SOUNDNESS_BITS // bits_a_row)


def write_whole(fields: RingArray, bits: int) -> bytes:
    """Fields below 2^bits: the whole bytes of each, little-endian, then the bits above them, field after field."""
    byte_count, rest = divmod(bits, 8)
    planes = fields.astype("<u8").view(np.uint8).reshape(-1, 8)
    written = planes[:, :byte_count].tobytes()
    if not rest:
        return written
    above = np.unpackbits(planes[:, byte_count : byte_count + 1], axis=1, count=rest, bitorder="little")
    return written + np.packbits(above, bitorder="little").tobytes()


def whole_bytes(field_count: int, bits: int) -> int:
    """Bytes that so many fields take."""
    return field_count * (bits // 8) + -(-field_count * (bits % 8) // 8)


def read_whole(written: bytes, field_count: int, bits: int) -> RingArray:
    """The fields that `write_whole` wrote, uint64. Raises ProtocolError for another length."""
    if len(written) != whole_bytes(field_count, bits):
        raise ProtocolError(
            "a block of the whole sum has the wrong size",
            expected=f"{whole_bytes(field_count, bits)} bytes",
            got=f"{len(written)} bytes",
            cure="run the same release at the aggregator",
        )
    byte_count, rest = divmod(bits, 8)
    data = np.frombuffer(written, np.uint8)
    planes = np.zeros((field_count, 8), np.uint8)
    planes[:, :byte_count] = data[: field_count * byte_count].reshape(field_count, byte_count)
    if rest:
        above = np.unpackbits(data[field_count * byte_count :], count=field_count * rest, bitorder="little")
        planes[:, byte_count : byte_count + 1] = np.packbits(above.reshape(field_count, rest), 1, bitorder="little")
    return planes.view("<u8").reshape(-1).astype(np.uint64)


def commitment_of(block_digests: Iterable[bytes]) -> bytes:
    """SHA-256 over label and the SHA-256 of every written block of V, in order."""
    return hashlib.sha256(encode_fields(_COMMITMENT_LABEL, *block_digests)).digest()


class InnerProducts:
    """r v for a vector v that comes block by block, in the blocks of an upload."""

    def __init__(self, statement_digest: bytes, row_count: int) -> None:
        """`statement_digest` is of the statement that holds the commitment: r follows from it."""
        self._statement_digest, self._block_count = statement_digest, 0
        self._values = np.zeros(row_count, np.uint64)

    def add(self, fields: RingArray) -> None:
        """The next block's fields: r is SHAKE-256 of label, statement and number of the block, row after row."""
        seed = encode_fields(_CHALLENGE_LABEL, self._statement_digest, encode_number(self._block_count))
        stream = hashlib.shake_256(seed).digest(2 * len(self._values) * fields.size)
        words = np.frombuffer(stream, "<u2").reshape(len(self._values), fields.size)
        self._values += np.array([np.dot(row.astype(np.uint64), fields) for row in words])
        self._block_count += 1

    @property
    def values(self) -> Products:
        """One for each row, mod 2^64."""
        return self._values.copy()


def products_agree(whole: Products, parts: Mapping[str, Products]) -> bool:
    """Whether the products of V are the sums of the uploads' products."""
    total = np.zeros_like(whole)
    for part in parts.values():
        total += part
    return bool(np.array_equal(total, whole))
