"""Wire bytes of BFV: a public key in a frame of its own; ciphertexts and masked products as a field of a message.

These fields are large and need neither checksum nor seal, because the message around them has both. A field is 16 bytes
of the key's fingerprint, counts of four bytes each, then residues of 48 bits, part after part: the low 32 bits of all,
then the high 16. All little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hekat.engine.ring.interface import RingArray
from hekat.engine.ring.parameters import Ring
from hekat.errors import InputError, WireCorruptError
from hekat.scheme.bfv import (
    RESIDUE_BYTES,
    SETS,
    BfvParameters,
    Ciphertexts,
    Elements,
    MaskedProducts,
    PrivateKey,
    PublicKey,
)
from hekat.scheme.bfv.keys import FINGERPRINT_BYTES
from hekat.wire.kinds import Kind, ReadingContext, register, withhold
from hekat.wire.residues import check_fingerprint, check_names

_COUNT: Final = struct.Struct("<I")
_INDEX: Final = np.dtype("<u4")
_LOW, _HIGH, _LOW_BITS = np.dtype("<u4"), np.dtype("<u2"), np.uint64(32)


def write_ciphertexts(ciphertexts: Ciphertexts) -> bytes:
    """Ciphertexts as `read_ciphertexts` takes them."""
    start = bytes.fromhex(ciphertexts.key.fingerprint) + _COUNT.pack(ciphertexts.count)
    return b"".join((start, _planes(ciphertexts.c0), _planes(ciphertexts.c1)))


def read_ciphertexts(data: bytes, key: PublicKey) -> Ciphertexts:
    """What `write_ciphertexts` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor = _Cursor(data, "BFV ciphertexts")
    cursor.take_key(key)
    count = cursor.take_count()
    c0, c1 = (cursor.take_planes(key.parameters, (count,)) for _ in range(2))
    cursor.end()
    try:
        return Ciphertexts(key, c0, c1)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def write_masked(masked: MaskedProducts) -> bytes:
    """Masked products as `read_masked` takes them: how many ciphertexts, how many numbers, where these lie, c0, c1."""
    pieces = [bytes.fromhex(masked.key.fingerprint), _COUNT.pack(len(masked.c1[0])), _COUNT.pack(masked.count)]
    pieces += [indices.astype(_INDEX).tobytes() for indices in (masked.holders, masked.places)]
    return b"".join([*pieces, _planes(masked.c0), _planes(masked.c1)])


def read_masked(data: bytes, key: PublicKey) -> MaskedProducts:
    """What `write_masked` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor = _Cursor(data, "masked BFV products")
    cursor.take_key(key)
    ciphertext_count, count = cursor.take_count(), cursor.take_count()
    holders, places = (cursor.take(_INDEX, count).astype(np.int64) for _ in range(2))
    c0 = cursor.take_planes(key.parameters, (count,), whole=False)
    c1 = cursor.take_planes(key.parameters, (ciphertext_count,))
    cursor.end()
    try:
        return MaskedProducts(key, c1, c0, holders, places)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


@dataclass
class _Cursor:
    """Reads a field from front to back; `what` names the field in errors."""

    data: bytes
    what: str
    at: int = 0

    def take(self, dtype: np.dtype[Any], count: int) -> Any:
        size = dtype.itemsize * count
        if len(self.data) - self.at < size:
            raise self._wrong_size()
        self.at += size
        return np.frombuffer(self.data, dtype, count, self.at - size)

    def take_count(self) -> int:
        count = int(self.take(_INDEX, 1)[0])
        if count < 1:
            raise WireCorruptError(f"{self.what} count nothing", expected="1 or more")
        return count

    def take_key(self, key: PublicKey) -> None:
        fingerprint = self.take(np.dtype(np.uint8), FINGERPRINT_BYTES).tobytes().hex()
        check_fingerprint(fingerprint, key.fingerprint, self.what)

    def take_planes(self, parameters: BfvParameters, leading: tuple[int, ...], *, whole: bool = True) -> Elements:
        """Residues (*leading, primes, N), or without N where they are single coefficients."""
        return tuple(
            self._take_part(part, (*leading, len(part.primes), *((part.degree,) if whole else ())))
            for part in parameters.parts
        )

    def _take_part(self, part: Ring, shape: tuple[int, ...]) -> RingArray:
        count = 1
        for length in shape:
            count *= length
        low, high = self.take(_LOW, count), self.take(_HIGH, count)
        residues: RingArray = high.astype(np.uint64)
        residues <<= _LOW_BITS
        residues |= low
        return residues.reshape(shape)

    def end(self) -> None:
        if self.at != len(self.data):
            raise self._wrong_size()

    def _wrong_size(self) -> WireCorruptError:
        return WireCorruptError(
            f"{self.what} have the wrong size", expected="as many bytes as they count", got=f"{len(self.data)} bytes"
        )


def _planes(elements: Elements) -> bytes:
    pieces = []
    for x in elements:
        pieces += [x.astype(_LOW).tobytes(), (x >> _LOW_BITS).astype(_HIGH).tobytes()]
    return b"".join(pieces)


def _public_key_items(key: PublicKey) -> dict[str, Any]:
    return {"parameters": key.parameters.name, "seed": key.seed, "b": _planes(key.b)}


def _public_key(items: Any, context: ReadingContext) -> PublicKey:
    what = "a BFV public key"
    check_names(items, what, ("parameters", "seed", "b"))
    name, b = items["parameters"], items["b"]
    parameters = SETS.get(name) if isinstance(name, str) else None
    if parameters is None:
        raise WireCorruptError(f"{what} of an unknown parameter set", expected=" or ".join(SETS))
    if not isinstance(b, bytes) or len(b) != RESIDUE_BYTES * len(parameters.primes) * parameters.degree:
        raise WireCorruptError(f"{what} has the wrong size", expected="one element")
    try:
        return PublicKey(parameters, items["seed"], _Cursor(b, what).take_planes(parameters, ()))
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


register(Kind("bfv/public-key", 1, PublicKey, _public_key_items, _public_key))
withhold(PrivateKey, "private keys of BFV are", "make a key pair in each run: it takes milliseconds")
