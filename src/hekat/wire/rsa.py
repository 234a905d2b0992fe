"""Wire bytes of RSA public keys, blinded items, signatures and textbook ciphertexts.

A value takes exactly ceil(bits / 8) bytes, little-endian, and stands only for 1 to n - 1, so equal values have equal
bytes. Each batch names the fingerprint of its key. Private keys, blinding states and hashed items have no wire bytes:
they stay where they were made.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hekat.errors import InputError, WireCorruptError
from hekat.scheme.factored_key import check_strength
from hekat.scheme.rsa.blind_signature import BlindingState
from hekat.scheme.rsa.group_elements import (
    BlindedItems,
    BlindSignatures,
    GroupElements,
    HashedItems,
    Signatures,
    TextbookCiphertexts,
)
from hekat.scheme.rsa.keys import PrivateKey, PublicKey
from hekat.wire.kinds import Kind, ReadingContext, register, withhold
from hekat.wire.residues import ResidueFormat, integer_items, integers_of

E = TypeVar("E", bound=GroupElements)


def signature_bytes(key: PublicKey) -> int:
    """Bytes of one signature, or one blinded item, under `key` on the wire.

    Args:
        key: an RSA public key.

    Returns:
        The bytes of n.

    Examples:
        >>> wire.signature_bytes(rsa.generate_keys(2048).public)
        256
    """
    return _format(key, "signatures").width_bytes


def _format(key: PublicKey, what: str) -> ResidueFormat:
    return ResidueFormat(what, key.fingerprint, key.bits)


def _public_key_items(key: PublicKey) -> dict[str, Any]:
    return integer_items(key, "public key", ("n", "e"))


def _public_key(items: Any, context: ReadingContext) -> PublicKey:
    n, e = integers_of(items, "public key", ("n", "e"))
    key = PublicKey(n, e)
    check_strength(key, context.unsafe_for_benchmark)
    return key


def _register_elements(name: str, cls: type[E]) -> None:
    what = name.replace("-", " ")

    def to_items(elements: E) -> dict[str, Any]:
        return _format(elements.public, what).to_items(elements.to_limbs())

    def from_items(items: Any, context: ReadingContext) -> E:
        key = context.public_key
        if not isinstance(key, PublicKey):
            raise InputError(
                f"{what} cannot be read without their public key",
                expected=f"from_bytes(data, {cls.__name__}, public_key=...) with an RSA key",
                got="no public key" if key is None else "a key of another scheme",
            )
        try:
            return cls.from_limbs(key, _format(key, what).from_items(items), context.engine)
        except InputError:
            raise WireCorruptError(
                f"{what} out of range", expected="values from 1 to n - 1", got="0, or n or more"
            ) from None

    register(Kind(f"rsa/{name}", 1, cls, to_items, from_items))


register(Kind("rsa/public-key", 1, PublicKey, _public_key_items, _public_key))
_register_elements("blinded-items", BlindedItems)
_register_elements("blind-signatures", BlindSignatures)
_register_elements("signatures", Signatures)
_register_elements("textbook-ciphertexts", TextbookCiphertexts)
withhold(PrivateKey, "RSA private keys are", "make a fresh key where it is used: hekat.rsa.generate_keys()")
withhold(HashedItems, "hashed items are", "send them blinded: hekat.rsa.blind(hashed)")
withhold(BlindingState, "what undoes a blinding is", "blind anew where it is used")
