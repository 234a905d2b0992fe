"""Wire bytes of sums by bins: a public key in a frame of its own; blocks of rows and answers as fields of messages.

Fields are as `hekat.wire.integer_planes` says: of rows their count, their seed and c0, six bytes a residue; of answers
c1 and c0, as many bytes a number as the layout says. The message says beside them what segments these are, and how many
bins each has.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from hekat.engine.interface import IndexArray
from hekat.errors import InputError, WireCorruptError
from hekat.scheme.bin_sums import (
    SETS,
    Answers,
    BinSums,
    EncryptedRows,
    PrivateKey,
    PublicKey,
    SumLayout,
    answer_shapes,
)
from hekat.scheme.bin_sums.keys import SEED_BYTES
from hekat.wire.integer_planes import FieldCursor, write_planes
from hekat.wire.kinds import Kind, ReadingContext, register, withhold
from hekat.wire.residues import check_names

_COUNT: Final = struct.Struct("<I")
_WHAT: Final = "a public key for sums by bins"
# Counts of bins that messages may claim: their sums stay far below 2^63.
MAX_BINS: Final = 1 << 24


def write_rows(block: EncryptedRows) -> bytes:
    """A block of encrypted rows as `read_rows` takes it."""
    start = bytes.fromhex(block.key.fingerprint) + _COUNT.pack(block.row_count) + block.seed
    return write_planes(block.c0, start=start)


def read_rows(data: bytes, key: PublicKey, layout: SumLayout) -> EncryptedRows:
    """What `write_rows` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor = FieldCursor(data, "encrypted rows")
    cursor.take_key(key.fingerprint)
    row_count = cursor.take_count()
    seed = cursor.take(np.dtype(np.uint8), SEED_BYTES).tobytes()
    c0 = cursor.take_planes((layout.groups(row_count), layout.components, *layout.parameters.ring.element_shape))
    cursor.end()
    try:
        return EncryptedRows(key, layout, row_count, seed, c0)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def write_answers(answers: Answers) -> bytes:
    """Answers as `read_answers` takes them."""
    width = answers.layout.sent_bytes
    c1 = write_planes(answers.c1, width, bytes.fromhex(answers.key.fingerprint))
    return c1 + write_planes(answers.c0, width)


def read_answers(data: bytes, key: PublicKey, layout: SumLayout, first_segment: int, bin_counts: IndexArray) -> Answers:
    """What `write_answers` wrote, of segments from `first_segment` on with `bin_counts` bins each.

    Raises WireCorruptError, also for counts that nothing can have, and WireKeyError for another key's answers.
    """
    counts = bin_counts.astype(np.int64)
    if bin_counts.dtype.kind not in "iu" or counts.ndim != 1 or (counts.size and not _within(counts)):
        raise WireCorruptError("bins of segments refused", expected=f"counts from 0 to {MAX_BINS}", got="others")
    cursor = FieldCursor(data, "sums by bins")
    cursor.take_key(key.fingerprint)
    c1, c0 = (cursor.take_planes(shape, layout.sent_bytes) for shape in answer_shapes(layout, counts))
    cursor.end()
    return Answers(key, layout, first_segment, counts, c1, c0)


def _within(counts: IndexArray) -> bool:
    return int(counts.min()) >= 0 and int(counts.max()) <= MAX_BINS


def _public_key_items(key: PublicKey) -> dict[str, Any]:
    return {"parameters": key.parameters.name, "seed": key.seed, "b": write_planes(key.b)}


def _public_key(items: Any, context: ReadingContext) -> PublicKey:
    check_names(items, _WHAT, ("parameters", "seed", "b"))
    name, b = items["parameters"], items["b"]
    parameters = SETS.get(name) if isinstance(name, str) else None
    if parameters is None:
        raise WireCorruptError(f"{_WHAT} of an unknown parameter set", expected=" or ".join(SETS))
    if not isinstance(b, bytes) or not b or len(b) % parameters.polynomial_bytes:
        raise WireCorruptError(f"{_WHAT} has the wrong size", expected="one element a component")
    shape = (len(b) // parameters.polynomial_bytes, *parameters.ring.element_shape)
    try:
        return PublicKey(parameters, items["seed"], FieldCursor(b, _WHAT).take_planes(shape))
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


register(Kind("bin-sums/public-key", 1, PublicKey, _public_key_items, _public_key))
withhold(PrivateKey, "private keys for sums by bins are", "make a key pair for each tree: it takes milliseconds")
withhold(BinSums, "sums that are not concealed are", "send what conceal makes of them")
