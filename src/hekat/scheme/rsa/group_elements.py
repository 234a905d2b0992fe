"""Arrays of residues mod n under one public key, one class for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from hekat.engine.interface import Engine, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.keyed_residues import KeyedResidues
from hekat.scheme.rsa.keys import PublicKey, check_public_key, check_same_key


class GroupElements(KeyedResidues[PublicKey]):
    """Residues mod n of `public`, in any shape; prints none of them."""

    zero_cure: ClassVar[str] = "ask the sender again"

    def __post_init__(self) -> None:
        check_public_key(self.public)
        if not isinstance(self.residues, ResidueArray) or self.residues.modulus is not self.public.n_modulus:
            raise InputError(
                "residues do not belong to this key",
                expected="residues modulo the key's own n_modulus",
                got=repr(self.residues) if isinstance(self.residues, ResidueArray) else type(self.residues).__name__,
                cure=f"load them with {type(self).__name__}.from_limbs(public, limbs)",
            )

    @classmethod
    def from_limbs(cls, public: PublicKey, limbs: LimbArray, engine: Engine | None = None) -> Self:
        """The values that canonical limbs hold, as they come from another party.

        Args:
            public: The key that the values belong to.
            limbs: uint64 limbs, shape (..., limbs).
            engine: Where the values are kept; the selected engine if None.

        Returns:
            An array of this class, of the leading shape.

        Raises:
            InputError: A value is 0, or n or more.
            KeyRefusedError: `public` is no RSA public key.
        """
        engine = engine or get_engine()
        residues = engine.load(limbs, check_public_key(public).n_modulus)
        check_no_zeros(limbs, "a value", cls.zero_cure)
        return cls(public, residues)

    @classmethod
    def concatenate(cls, arrays: Sequence[Self]) -> Self:
        """Arrays of one kind joined along the first axis.

        Args:
            arrays: At least one array, all of one class, key and engine.

        Returns:
            An array of the same class.

        Raises:
            InputError: There is no array, or one is of another class.
            KeyRefusedError: The arrays belong to different keys.
        """
        if not arrays:
            raise InputError("nothing to concatenate", expected="at least one array", got="none")
        for other in arrays:
            check_kind(other, cls)
            check_same_key(arrays[0].public, other.public)
        return cls(arrays[0].public, arrays[0].engine.concatenate([array.residues for array in arrays]))


class HashedItems(GroupElements):
    """Items hashed to Z_n: what is signed. Whoever sees one can confirm a guess of its item.

    Args:
        public: The key that the items were hashed under.
        residues: The hashes, residues modulo the key's own `n_modulus`.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> hekat.rsa.hash_to_group(keys.public, [b"ann", b"bob"]).shape
        (2,)
    """

    zero_cure = "take what hash_to_group makes: under a key of 2048 bits or more it meets no 0"


class BlindedItems(GroupElements):
    """Hashed items times r^e: uniform, whatever the items are.

    Args:
        public: The key of the signer.
        residues: The blinded items, residues modulo the key's own `n_modulus`.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> blinded, state = hekat.rsa.blind(hekat.rsa.hash_to_group(keys.public, [b"ann"]))
        >>> received = hekat.rsa.BlindedItems.from_limbs(keys.public, blinded.to_limbs())
        >>> received.shape
        (1,)
    """


class BlindSignatures(GroupElements):
    """Signatures of blinded items: of use only to the party that blinded them.

    Args:
        public: The key of the signer.
        residues: The signatures, residues modulo the key's own `n_modulus`.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> blinded, state = hekat.rsa.blind(hekat.rsa.hash_to_group(keys.public, [b"ann"]))
        >>> type(hekat.rsa.sign(keys.private, blinded)).__name__
        'BlindSignatures'
    """


class Signatures(GroupElements):
    """Signatures of hashed items, which anybody can verify.

    Args:
        public: The key of the signer.
        residues: The signatures, residues modulo the key's own `n_modulus`.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> hashed = hekat.rsa.hash_to_group(keys.public, [b"ann"])
        >>> hekat.rsa.verify(hashed, hekat.rsa.sign(keys.private, hashed))
        array([ True])
    """


class TextbookCiphertexts(GroupElements):
    """Textbook RSA ciphertexts: deterministic, so that whoever guesses a message can confirm it.

    Args:
        public: The key that the messages were encrypted under.
        residues: The ciphertexts, residues modulo the key's own `n_modulus`.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> keys = hekat.rsa.generate_keys()
        >>> hekat.rsa.encrypt(keys.public, np.array([[6], [7]], np.uint64)).shape
        (2,)
    """


def check_no_zeros(limbs: LimbArray, what: str, cure: str) -> None:
    """Raise InputError where one of the values (..., limbs) is 0, which is no unit and equals each of its powers."""
    if not limbs.any(axis=-1).all():
        raise InputError(f"{what} is 0", expected="values from 1 to n - 1", got="0", cure=cure)


def check_kind(values: object, *kinds: type[GroupElements]) -> None:
    """Raise InputError unless `values` is of one of `kinds`."""
    if not isinstance(values, kinds):
        raise InputError(
            "values of another kind",
            expected=" or ".join(kind.__name__ for kind in kinds),
            got=f"a {type(values).__name__}",
            cure="hash_to_group makes HashedItems, blind makes BlindedItems, sign and unblind make the signatures",
        )


def check_same_shape(a: GroupElements, b: GroupElements) -> None:
    """Raise InputError unless both have the same shape."""
    if a.shape != b.shape:
        raise InputError(
            "arrays of different shape",
            expected=f"shape {a.shape}",
            got=f"shape {b.shape}",
            cure="keep items and signatures in one order, none dropped",
        )
