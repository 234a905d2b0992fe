"""Blind signatures: the signer signs items it does not see, and nobody else can sign.

The client hashes and blinds (m r^e), the signer signs (m^d r), the client unblinds (m^d) and verifies. Blinded items
are uniform units, whatever the items are.
Source: Chaum 1982; De Cristofaro-Tsudik 2010, FLASH (NSDI 2023), appendix C (set intersection).
"""

from __future__ import annotations

from typing import Any, NoReturn, overload

import numpy as np

from hekat.engine.interface import BoolArray, ResidueArray
from hekat.engine.scheduler import Progress
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.chunks import join_chunks, run_chunks, take_chunk
from hekat.scheme.rsa.group_elements import (
    BlindedItems,
    BlindSignatures,
    HashedItems,
    Signatures,
    check_kind,
    check_no_zeros,
    check_same_shape,
)
from hekat.scheme.rsa.keys import PrivateKey, PublicKey, check_private_key, check_same_key
from hekat.scheme.rsa.private_power import private_power, public_power, random_units


class BlindingState:
    """What the client keeps to unblind: r^-1 and the hashed items. Secret; never printed, pickled or sent.

    `blind` makes it, and `unblind` uses it.

    Args:
        hashed: The items that were blinded.
        inverses: The inverse of each randomiser, residues modulo n.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> blinded, state = hekat.rsa.blind(hekat.rsa.hash_to_group(keys.public, [b"ann", b"bob"]))
        >>> state.shape
        (2,)
    """

    __slots__ = ("_hashed", "_inverses")

    _hashed: HashedItems
    _inverses: ResidueArray

    def __init__(self, hashed: HashedItems, inverses: ResidueArray) -> None:
        object.__setattr__(self, "_hashed", hashed)
        object.__setattr__(self, "_inverses", inverses)

    @property
    def public(self) -> PublicKey:
        """The key it was blinded under."""
        return self._hashed.public

    @property
    def shape(self) -> tuple[int, ...]:
        return self._hashed.shape

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a BlindingState does not change after it is made")

    def __repr__(self) -> str:
        return f"BlindingState(shape {self.shape}, {self.public!r})"

    def __copy__(self) -> BlindingState:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BlindingState:
        return self

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError(
            "what undoes a blinding is not pickled",
            expected="a state that stays where it was made",
            cure="blind anew where it is used",
        )


def blind(hashed: HashedItems, *, progress: Progress | None = None) -> tuple[BlindedItems, BlindingState]:
    """The hashed items times r^e, one fresh uniform unit r for each.

    Args:
        hashed: What `hash_to_group` made of the items.
        progress: Called as `progress(done, total)` after every few thousand items.

    Returns:
        The blinded items, for the signer, and the state that `unblind` needs; both in the shape of `hashed`.

    Raises:
        InputError: `hashed` is no HashedItems, or holds a 0.
        KeyRefusedError: An item shares a factor with n, which no blinding hides; under a sound key this practically
            never happens.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> hashed = hekat.rsa.hash_to_group(keys.public, [b"ann", b"bob"])
        >>> blinded, state = hekat.rsa.blind(hashed)
        >>> signatures = hekat.rsa.unblind(state, hekat.rsa.sign(keys.private, blinded))
        >>> hekat.rsa.verify(hashed, signatures)
        array([ True,  True])
    """
    check_kind(hashed, HashedItems)
    _check_units(hashed)
    public, engine = hashed.public, hashed.engine

    def blind_chunk(chunk: slice) -> tuple[ResidueArray, ResidueArray]:
        values = take_chunk(hashed.residues, chunk)
        r, r_inverse = random_units(public, values.size, engine)
        return engine.mod_mul(values, public_power(public, r)), r_inverse

    blinded, inverses = zip(*run_chunks(blind_chunk, hashed.size, engine, progress), strict=True)
    state = BlindingState(hashed, join_chunks(inverses, hashed.shape))
    return BlindedItems(public, join_chunks(blinded, hashed.shape)), state


@overload
def sign(key: PrivateKey, values: HashedItems, *, progress: Progress | None = None) -> Signatures: ...


@overload
def sign(key: PrivateKey, values: BlindedItems, *, progress: Progress | None = None) -> BlindSignatures: ...


def sign(
    key: PrivateKey, values: HashedItems | BlindedItems, *, progress: Progress | None = None
) -> Signatures | BlindSignatures:
    """The values to the power d: blind signatures of blinded items, signatures of hashed ones.

    A party that may ask for signatures gets the power d of anything it likes: sign with a key that does nothing else.

    Args:
        key: The signer's private key.
        values: Blinded or hashed items under that key.
        progress: Called as `progress(done, total)` after every few thousand values.

    Returns:
        The signatures, in the shape of `values`.

    Raises:
        InputError: `values` is of another kind.
        KeyRefusedError: The values belong to another key, or `key` is no private key.
        FaultError: A signature fails s^e = m; nothing is returned.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> hashed = hekat.rsa.hash_to_group(keys.public, [b"ann"])
        >>> hekat.rsa.sign(keys.private, hashed).shape
        (1,)
    """
    check_private_key(key)
    check_kind(values, HashedItems, BlindedItems)
    powers = private_power(key, values, progress)
    if isinstance(values, HashedItems):
        return Signatures(values.public, powers)
    return BlindSignatures(values.public, powers)


def unblind(state: BlindingState, blind_signatures: BlindSignatures, *, progress: Progress | None = None) -> Signatures:
    """The signatures of the items that were blinded, each verified.

    Args:
        state: What `blind` gave beside the blinded items.
        blind_signatures: The signer's answer, in the order and shape of the blinded items.
        progress: Called as `progress(done, total)` after every few thousand signatures.

    Returns:
        The signatures, in the shape of the items.

    Raises:
        InputError: A signature does not hold, or shape or kind differ; nothing is returned.
        KeyRefusedError: The signatures belong to another key.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> blinded, state = hekat.rsa.blind(hekat.rsa.hash_to_group(keys.public, [b"ann"]))
        >>> hekat.rsa.unblind(state, hekat.rsa.sign(keys.private, blinded)).shape
        (1,)
    """
    if not isinstance(state, BlindingState):
        raise InputError("nothing to unblind with", expected="a BlindingState", got=f"a {type(state).__name__}")
    check_kind(blind_signatures, BlindSignatures)
    check_same_key(state.public, blind_signatures.public)
    check_same_shape(state._hashed, blind_signatures)
    engine = blind_signatures.engine
    signatures = Signatures(state.public, engine.mod_mul(blind_signatures.residues, state._inverses))
    holds = verify(state._hashed, signatures, progress=progress)
    if not holds.all():
        raise InputError(
            "blind signatures do not hold: nothing of the batch is returned",
            expected=f"{holds.size} signatures of what was blinded, in the same order",
            got=f"{np.count_nonzero(~holds)} others",
            cure="do not go on with this signer; a fault, another order or a wrong key look the same",
        )
    return signatures


def verify(hashed: HashedItems, signatures: Signatures, *, progress: Progress | None = None) -> BoolArray:
    """Whether each signature holds: s^e = m mod n.

    Args:
        hashed: The hashed items.
        signatures: Their signatures, in the same shape.
        progress: Called as `progress(done, total)` after every few thousand signatures.

    Returns:
        Booleans, in the shape of both.

    Raises:
        InputError: Shape or kind differ.
        KeyRefusedError: The two belong to different keys.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> ann, bob = (hekat.rsa.hash_to_group(keys.public, [name]) for name in (b"ann", b"bob"))
        >>> hekat.rsa.verify(bob, hekat.rsa.sign(keys.private, ann))
        array([False])
    """
    check_kind(hashed, HashedItems)
    check_kind(signatures, Signatures)
    check_same_key(hashed.public, signatures.public)
    check_same_shape(hashed, signatures)

    def verify_chunk(chunk: slice) -> BoolArray:
        powers = public_power(signatures.public, take_chunk(signatures.residues, chunk))
        expected = hashed.engine.store(take_chunk(hashed.residues, chunk))
        holds: BoolArray = (signatures.engine.store(powers) == expected).all(axis=-1)
        return holds

    parts = run_chunks(verify_chunk, signatures.size, signatures.engine, progress)
    return np.concatenate(parts).reshape(signatures.shape)


def _check_units(hashed: HashedItems) -> None:
    """Raise InputError or KeyRefusedError unless all are units; the check costs one product for each item."""
    engine = hashed.engine
    product = engine.mod_product(engine.reshape(hashed.residues, (hashed.size,)))
    try:
        engine.mod_inv(product)
    except InputError:
        check_no_zeros(hashed.to_limbs(), "a hash", HashedItems.zero_cure)
        raise KeyRefusedError(
            f"an item shares a factor with n of key {hashed.public.fingerprint}",
            expected="the product of two large primes",
            got="an n with small factors",
            cure="do not blind anything under this key: its maker could see through it",
        ) from None
