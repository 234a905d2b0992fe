"""The message that carries an encrypted array: ciphertexts, and what everybody may see about them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hekat.encrypted_array.encoding import Encoding
from hekat.encrypted_array.fixed_point import scale_bound
from hekat.encrypted_array.packing import SlotPacking
from hekat.encrypted_array.values import Array, EncryptedValues
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError, WireCorruptError
from hekat.scheme.paillier import Ciphertexts, PublicKey, rerandomise
from hekat.wire import ciphertext, message, public
from hekat.wire import from_bytes as read_message
from hekat.wire import to_bytes as write_message

MAX_AXES = 32
MAX_SIZE = 1 << 40


@message("array/encrypted", version=1)
@dataclass(frozen=True)
class EncryptedArrayMessage:
    """One encrypted array; `lanes` and `lane_bits` are 0 where every value has its own ciphertext."""

    shape: list[int] = public()
    scale_bits: int = public()
    is_real: bool = public()
    scaled_bound: int = public()
    lanes: int = public()
    lane_bits: int = public()
    ciphertexts: bytes = ciphertext(under="the key the array was encrypted with")


def to_bytes(x: EncryptedValues, bound: int | float | None) -> bytes:
    """The message of `x`; see EncryptedArray.to_bytes."""
    packing = x.encoding.packing
    leaving = x.ciphertexts if x.is_fresh else rerandomise(x.ciphertexts)
    content = EncryptedArrayMessage(
        shape=list(x.shape),
        scale_bits=x.scale_bits,
        is_real=x.encoding.is_real,
        scaled_bound=_bound_to_send(x, bound),
        lanes=packing.slots if packing else 0,
        lane_bits=packing.slot_bits if packing else 0,
        ciphertexts=write_message(leaving.reshape((leaving.size,))),
    )
    return write_message(content)


def _bound_to_send(x: EncryptedValues, bound: int | float | None) -> int:
    limit = x.encoding.limit(x.key.plaintext_space)
    if bound is None:
        return x.scaled_bound if x.bound_is_public else limit
    stated = scale_bound(bound, x.scale_bits)
    if not x.scaled_bound <= stated <= limit:
        raise BoundError(
            "this bound cannot be stated for the array",
            expected="a public number that its values cannot pass and that the key (or slot) can hold",
            got="one below what the values may reach" if stated < x.scaled_bound else "one beyond the key (or slot)",
            cure="state a larger one" if stated < x.scaled_bound else "state a smaller one, or leave bound= out",
        )
    return stated


def from_bytes(cls: type[Array], data: bytes, key: PublicKey, engine: str | None) -> Array:
    """The array in `data`; see EncryptedArray.from_bytes. Its bound is the sender's claim: decryption checks it."""
    holder = get_engine(engine)
    content = read_message(data, EncryptedArrayMessage)
    try:
        shape, encoding = _read_form(content, key)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None
    ciphertexts = read_message(content.ciphertexts, Ciphertexts, public_key=key, engine=holder)
    cipher_shape = encoding.cipher_shape(shape)
    if ciphertexts.size != math.prod(cipher_shape):
        raise WireCorruptError(
            "shape and ciphertexts of an encrypted array do not agree",
            expected=f"{math.prod(cipher_shape)} ciphertexts for shape {shape}",
            got=str(ciphertexts.size),
        )
    return cls(ciphertexts.reshape(cipher_shape), shape, encoding, content.scaled_bound)


def _read_form(content: EncryptedArrayMessage, key: PublicKey) -> tuple[tuple[int, ...], Encoding]:
    """Shape and encoding, checked. Raises InputError for what no array of this key has."""
    shape = tuple(content.shape)
    # An empty array still has a shape that NumPy can hold: zeros count as ones.
    if len(shape) > MAX_AXES or min(shape, default=0) < 0 or math.prod(max(n, 1) for n in shape) >= MAX_SIZE:
        raise InputError(
            "an encrypted array has a shape out of range", expected=f"at most {MAX_AXES} axes and {MAX_SIZE} values"
        )
    encoding = Encoding(content.scale_bits, content.is_real)
    if content.lanes or content.lane_bits:
        room = key.plaintext_space.bits + 1
        if not shape or content.lanes < 1 or content.lane_bits < 2 or content.lanes * content.lane_bits > room:
            raise InputError("slots of an encrypted array do not fit its key", expected=f"at most {room} bits in all")
        encoding = replace(encoding, packing=SlotPacking(content.lanes, content.lane_bits))
    if not 0 < content.scaled_bound <= encoding.limit(key.plaintext_space):
        raise InputError("bound of an encrypted array is out of range", expected="what its key or slots can hold")
    if content.scale_bits and not content.is_real:
        raise InputError("an encrypted array of integers has a scale", expected="scale_bits 0", got="another")
    return shape, encoding
