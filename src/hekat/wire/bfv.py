"""Wire bytes of BFV: a public key in a frame of its own; ciphertexts and masked products as a field of a message.

Fields are as `hekat.wire.integer_planes` says, with residues of six bytes, part after part.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

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
from hekat.wire.integer_planes import INDEX, FieldCursor, write_planes
from hekat.wire.kinds import Kind, ReadingContext, register, withhold
from hekat.wire.residues import check_names

_COUNT: Final = struct.Struct("<I")


def write_ciphertexts(ciphertexts: Ciphertexts) -> bytes:
    """Ciphertexts as `read_ciphertexts` takes them."""
    start = bytes.fromhex(ciphertexts.key.fingerprint) + _COUNT.pack(ciphertexts.count)
    return b"".join((start, _planes(ciphertexts.c0), _planes(ciphertexts.c1)))


def read_ciphertexts(data: bytes, key: PublicKey) -> Ciphertexts:
    """What `write_ciphertexts` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor = FieldCursor(data, "BFV ciphertexts")
    cursor.take_key(key.fingerprint)
    count = cursor.take_count()
    c0, c1 = (_take_elements(cursor, key.parameters, (count,)) for _ in range(2))
    cursor.end()
    try:
        return Ciphertexts(key, c0, c1)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def write_masked(masked: MaskedProducts) -> bytes:
    """Masked products as `read_masked` takes them: how many ciphertexts, how many numbers, where these lie, c0, c1."""
    pieces = [bytes.fromhex(masked.key.fingerprint), _COUNT.pack(len(masked.c1[0])), _COUNT.pack(masked.count)]
    pieces += [indices.astype(INDEX).tobytes() for indices in (masked.holders, masked.places)]
    return b"".join([*pieces, _planes(masked.c0), _planes(masked.c1)])


def read_masked(data: bytes, key: PublicKey) -> MaskedProducts:
    """What `write_masked` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor = FieldCursor(data, "masked BFV products")
    cursor.take_key(key.fingerprint)
    ciphertext_count, count = cursor.take_count(), cursor.take_count()
    holders, places = (cursor.take(INDEX, count).astype(np.int64) for _ in range(2))
    c0 = _take_elements(cursor, key.parameters, (count,), whole=False)
    c1 = _take_elements(cursor, key.parameters, (ciphertext_count,))
    cursor.end()
    try:
        return MaskedProducts(key, c1, c0, holders, places)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def _take_elements(
    cursor: FieldCursor, parameters: BfvParameters, leading: tuple[int, ...], *, whole: bool = True
) -> Elements:
    """Residues (*leading, primes, N), or without N where they are single coefficients."""
    return tuple(
        cursor.take_planes((*leading, len(part.primes), *((part.degree,) if whole else ())))
        for part in parameters.parts
    )


def _planes(elements: Elements) -> bytes:
    return b"".join(map(write_planes, elements))


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
        return PublicKey(parameters, items["seed"], _take_elements(FieldCursor(b, what), parameters, ()))
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


register(Kind("bfv/public-key", 1, PublicKey, _public_key_items, _public_key))
withhold(PrivateKey, "private keys of BFV are", "make a key pair in each run: it takes milliseconds")
