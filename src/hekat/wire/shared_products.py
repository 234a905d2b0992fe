"""Wire bytes of products left in shares: encrypted matrices and masked answers, as fields of messages.

Fields are as `hekat.wire.integer_planes` says, with residues of six bytes, part after part: of a matrix its seed and
c0, of an answer c1 and c0. Their sizes follow from the layout, which both parties know. The key has a frame of its own
in `hekat.wire.bfv`.
"""

from __future__ import annotations

import numpy as np

from hekat.errors import InputError, WireCorruptError
from hekat.scheme.bfv import Elements, PublicKey
from hekat.scheme.bfv.keys import SEED_BYTES
from hekat.scheme.bfv.shared_products import (
    Answer,
    EncryptedMatrix,
    MatrixLayout,
    PlainMatrix,
    Products,
    first_primes,
)
from hekat.wire.integer_planes import FieldCursor, write_planes
from hekat.wire.kinds import withhold


def write_matrix(encrypted: EncryptedMatrix) -> bytes:
    """An encrypted matrix as `read_matrix` takes it."""
    start = bytes.fromhex(encrypted.key.fingerprint) + encrypted.seed
    return b"".join((start, *map(write_planes, encrypted.c0)))


def read_matrix(data: bytes, key: PublicKey, layout: MatrixLayout) -> EncryptedMatrix:
    """What `write_matrix` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor, shape = FieldCursor(data, "an encrypted matrix"), layout.shape
    cursor.take_key(key.fingerprint)
    seed = cursor.take(np.dtype(np.uint8), SEED_BYTES).tobytes()
    counts = layout.blocks.inner_count(shape), layout.blocks.column_count(shape)
    c0 = tuple(cursor.take_planes((*counts, *part.element_shape)) for part in layout.parameters.parts)
    cursor.end()
    try:
        return EncryptedMatrix(key, layout, seed, c0)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def write_answer(answer: Answer) -> bytes:
    """An answer as `read_answer` takes it."""
    return b"".join((bytes.fromhex(answer.key.fingerprint), *map(write_planes, (*answer.c1, *answer.c0))))


def read_answer(data: bytes, key: PublicKey, layout: MatrixLayout, *, whole: bool = False) -> Answer:
    """What `write_answer` wrote; `whole`: with all primes, as it is before answers are added and masked.

    Raises WireCorruptError, and WireKeyError for another key's.
    """
    primes = len(layout.parameters.primes) if whole else layout.kept_primes
    parts = first_primes(layout.parameters, primes).parts
    cursor = FieldCursor(data, "masked products")
    cursor.take_key(key.fingerprint)
    count = layout.blocks.answers(layout.shape)
    c1: Elements = tuple(cursor.take_planes((count, *part.element_shape)) for part in parts)
    c0 = tuple(cursor.take_planes((len(part.primes), layout.numbers)) for part in parts)
    cursor.end()
    try:
        return Answer(key, layout, primes, c1, c0)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


withhold(Products, "products that are not masked are", "send what mask_products or cover_products makes of them")
withhold(PlainMatrix, "plain matrices are", "send the answer that multiply_masked makes with it")
