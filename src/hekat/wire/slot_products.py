"""Wire bytes of products of slots left in shares: encrypted vectors and masked answers, as fields of messages.

Fields are as `hekat.wire.integer_planes` says, with residues of six bytes, part after part: of a vector its seed and
c0, of an answer c1 and c0. Their sizes follow from the layout, which both parties know. The key has a frame of its own
in `hekat.wire.bfv`.
"""

from __future__ import annotations

import numpy as np

from hekat.errors import InputError, WireCorruptError
from hekat.scheme.bfv import Elements, PublicKey
from hekat.scheme.bfv.keys import SEED_BYTES
from hekat.scheme.bfv.slot_products import EncryptedSlots, PlainSlots, SlotAnswer, SlotSums, SlotVector
from hekat.wire.integer_planes import FieldCursor, write_planes
from hekat.wire.kinds import withhold


def write_slots(encrypted: EncryptedSlots) -> bytes:
    """An encrypted vector as `read_slots` takes it."""
    start = bytes.fromhex(encrypted.key.fingerprint) + encrypted.seed
    return b"".join((start, *map(write_planes, encrypted.c0)))


def read_slots(data: bytes, key: PublicKey, vector: SlotVector) -> EncryptedSlots:
    """What `write_slots` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor = FieldCursor(data, "an encrypted vector")
    cursor.take_key(key.fingerprint)
    seed = cursor.take(np.dtype(np.uint8), SEED_BYTES).tobytes()
    c0 = tuple(cursor.take_planes((vector.blocks, *part.element_shape)) for part in vector.parameters.parts)
    cursor.end()
    try:
        return EncryptedSlots(key, vector, seed, c0)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def write_slot_answer(answer: SlotAnswer) -> bytes:
    """An answer as `read_slot_answer` takes it."""
    return b"".join((bytes.fromhex(answer.key.fingerprint), *map(write_planes, (*answer.c1, *answer.c0))))


def read_slot_answer(data: bytes, key: PublicKey, layout: SlotSums) -> SlotAnswer:
    """What `write_slot_answer` wrote. Raises WireCorruptError, and WireKeyError for another key's."""
    cursor = FieldCursor(data, "masked products of slots")
    cursor.take_key(key.fingerprint)
    halves: list[Elements] = [
        tuple(cursor.take_planes((layout.sums.blocks, *part.element_shape)) for part in layout.kept.parts)
        for _ in range(2)
    ]
    cursor.end()
    try:
        return SlotAnswer(key, layout, *halves)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


withhold(PlainSlots, "plain vectors are", "send the answer that multiply_slots_masked makes with it")
