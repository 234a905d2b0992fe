"""Wire bytes of Paillier keys and ciphertexts.

A public key comes with its maker's proof, and `from_bytes` checks the proof: the key it returns is safe to use.
A ciphertext takes exactly ceil(2 * bits / 8) bytes, little-endian, and stands only for values from 1 to n^2 - 1, so
equal ciphertexts have equal bytes. Each batch names the fingerprint of its key.
"""

from __future__ import annotations

from typing import Any

from hekat.errors import InputError, WireCorruptError
from hekat.scheme.factored_key import check_strength
from hekat.scheme.foreign_modulus import check_foreign_modulus
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey
from hekat.scheme.paillier.keys.parameters import MAX_KEY_BITS, MIN_TEST_KEY_BITS
from hekat.wire.body import pack_body, packed_bytes_length, unpack_body
from hekat.wire.fields import IntField, SequenceField
from hekat.wire.frame import frame_overhead, read_frame
from hekat.wire.kinds import Kind, ReadingContext, register
from hekat.wire.residues import FINGERPRINT_CHARACTERS, ResidueFormat, check_names, integer_items, integers_of

_CIPHERTEXTS = "paillier/ciphertexts"
_PUBLIC_KEY = "public key"
_ROOTS = SequenceField(tuple, IntField())


def ciphertext_bytes(key: PublicKey) -> int:
    """Bytes of one ciphertext under `key` on the wire.

    Args:
        key: a Paillier public key.

    Returns:
        Twice the bytes of n.

    Examples:
        >>> wire.ciphertext_bytes(hekat.paillier.generate_keys(2048).public)
        512
    """
    return _format(key).width_bytes


def written_ciphertexts_bytes(key_bits: int, count: int) -> int:
    """Bytes of `count` ciphertexts in one batch under a key of `key_bits`, frame and all."""
    width = ResidueFormat("ciphertexts", "", 2 * key_bits).width_bytes
    items = {"key": "0" * FINGERPRINT_CHARACTERS, "shape": [count], "residues": b""}
    grown = packed_bytes_length(count * width) - packed_bytes_length(0)
    return frame_overhead(_CIPHERTEXTS) + len(pack_body(items)) + grown


def _format(key: PublicKey) -> ResidueFormat:
    return ResidueFormat("ciphertexts", key.fingerprint, 2 * key.bits)


def _public_key_items(key: PublicKey) -> dict[str, Any]:
    return integer_items(key, _PUBLIC_KEY, ("n",)) | {"roots": _ROOTS.encode(key.roots, _PUBLIC_KEY)}


def _public_key(items: Any, context: ReadingContext) -> PublicKey:
    check_names(items, _PUBLIC_KEY, ("n", "roots"))
    (n,) = integers_of({"n": items["n"]}, _PUBLIC_KEY, ("n",))
    key = PublicKey(n, _ROOTS.decode(items["roots"], f"roots of a {_PUBLIC_KEY}"))
    check_strength(key, context.unsafe_for_benchmark)
    return key


def modulus_without_proof(data: bytes) -> int | None:
    """n of a public key without a proof, as releases before 0.2 wrote it; None for other bytes.

    Raises WireError, and KeyRefusedError for an n that cannot be a key's modulus.
    """
    frame = read_frame(data)
    if (frame.kind, frame.kind_version) != ("paillier/public-key", 1):
        return None
    (n,) = integers_of(unpack_body(frame.body), _PUBLIC_KEY, ("n",))
    check_foreign_modulus(n, MIN_TEST_KEY_BITS, MAX_KEY_BITS)
    return n


def _private_key_items(key: PrivateKey) -> dict[str, Any]:
    return integer_items(key, "private key", ("p", "q"))


def _private_key(items: Any, context: ReadingContext) -> PrivateKey:
    p, q = integers_of(items, "private key", ("p", "q"))
    key = PrivateKey(p, q)
    check_strength(key, context.unsafe_for_benchmark)
    return key


def _ciphertexts_items(ciphertexts: Ciphertexts) -> dict[str, Any]:
    return _format(ciphertexts.public).to_items(ciphertexts.to_limbs())


def _ciphertexts(items: Any, context: ReadingContext) -> Ciphertexts:
    key = context.public_key
    if not isinstance(key, PublicKey):
        raise InputError(
            "ciphertexts cannot be read without their public key",
            expected="from_bytes(data, Ciphertexts, public_key=...)",
            got="no public key" if key is None else "a key of another scheme",
        )
    limbs = _format(key).from_items(items)
    try:
        ciphertexts = Ciphertexts.from_limbs(key, limbs, context.engine)
    except InputError:
        raise WireCorruptError(
            "a ciphertext is out of range", expected="values from 1 to n^2 - 1", got="0, or n^2 or more"
        ) from None
    if not ciphertexts.are_units():
        raise WireCorruptError(
            "a ciphertext shares a factor with its key's modulus",
            expected="units, as encryption makes them",
            got="a batch in which one is none",
            cure="do not go on with its sender: no computation on ciphertexts makes such a number",
        )
    return ciphertexts


register(Kind("paillier/public-key", 2, PublicKey, _public_key_items, _public_key))
register(Kind("paillier/private-key", 1, PrivateKey, _private_key_items, _private_key))
register(Kind(_CIPHERTEXTS, 1, Ciphertexts, _ciphertexts_items, _ciphertexts))
