"""How products are opened: masked by the asking party, divided by Delta by the key's holder, unmasked again.

`product_layout` says why that tells nobody else anything.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hekat.engine.interface import IndexArray
from hekat.engine.ring.interface import RingEngine
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv.ciphertexts import draw_small
from hekat.scheme.bfv.elements import (
    Elements,
    add_elements,
    add_residues,
    integers_of_residues,
    join_elements,
    multiply_slots,
    residues_at,
    transform,
    transform_back,
)
from hekat.scheme.bfv.keys import PrivateKey, PublicKey
from hekat.scheme.bfv.product_layout import ProductLayout
from hekat.scheme.bfv.products import POLYNOMIALS_AT_ONCE, Products


@dataclass(frozen=True)
class MaskedProducts:
    """What the key's holder gets. All of c1 (ciphertexts, primes, N), transformed, and the requested coefficients of c0
    (count, primes), each under a mask uniform mod q.
    """

    key: PublicKey
    c1: Elements
    c0: Elements
    holders: IndexArray
    places: IndexArray

    def __post_init__(self) -> None:
        count, degree = len(self.holders), self.key.parameters.degree
        held, at = self.holders, self.places
        shapes = [(x.shape, y.shape) for x, y in zip(self.c1, self.c0, strict=True)]
        fitting = all(
            x == (len(self.c1[0]), len(part.primes), degree) and y == (count, len(part.primes))
            for part, (x, y) in zip(self.key.parameters.parts, shapes, strict=True)
        )
        if not fitting or held.shape != at.shape or held.ndim != 1 or not _within(held, len(self.c1[0])):
            raise InputError("masked products do not fit", expected="each in a ciphertext that is there", got="others")
        if len(np.unique(held)) != len(self.c1[0]):
            raise InputError("masked products do not fit", expected="no ciphertext without a number", got="one")
        for part, x, y in zip(self.key.parameters.parts, self.c1, self.c0, strict=True):
            primes = np.array(part.primes, np.uint64)
            if not ((x < primes[:, np.newaxis]).all() and (y < primes).all()):
                raise InputError("masked products hold a residue that is none", expected="below its prime", got="more")
        if not _within(at, degree):
            raise InputError("masked products do not fit", expected=f"coefficients below {degree}", got="others")

    @property
    def count(self) -> int:
        return len(self.holders)


@dataclass(frozen=True)
class Masks:
    """The integers mod q that the asking party subtracts again; secret."""

    values: tuple[int, ...] = field(repr=False)


def mask_products(
    products: Products, layout: ProductLayout, engine: RingEngine | None = None
) -> tuple[MaskedProducts, Masks]:
    """What to send to the key's holder, and the masks to keep: fresh for every number."""
    engine, key = engine or get_engine(), products.ciphertexts.key
    parameters = key.parameters
    used, holders = np.unique(products.holders, return_inverse=True)
    holders = holders.reshape(-1).astype(np.int64)
    c1: list[Elements] = []
    c0 = residues_at(parameters, [0] * len(holders))
    for start in range(0, len(used), POLYNOMIALS_AT_ONCE):
        here = used[start : start + POLYNOMIALS_AT_ONCE]
        # A view is enough where all ciphertexts are used.
        taken = products.ciphertexts[here if len(used) < products.ciphertexts.count else slice(here[0], here[-1] + 1)]
        # An encryption of zero without e1: the masks alone hide c0.
        v, e2 = (transform(parameters, x, engine) for x in draw_small(parameters, 2, taken.count, engine))
        hidden0, hidden1 = (
            add_elements(parameters, c, multiply_slots(parameters, half, v, engine), engine)
            for c, half in ((taken.c0, key.b), (taken.c1, key.a))
        )
        c1.append(add_elements(parameters, hidden1, e2, engine))
        numbers = np.flatnonzero((holders >= start) & (holders < start + taken.count))
        polynomials = transform_back(parameters, hidden0, engine)
        found = _at_places(polynomials, holders[numbers] - start, products.places[numbers])
        for into, x in zip(c0, found, strict=True):
            into[numbers] = x
    masks = tuple(secrets.randbelow(parameters.modulus) for _ in holders)
    masked = add_residues(parameters, c0, residues_at(parameters, masks))
    return MaskedProducts(key, join_elements(c1), masked, holders, products.places), Masks(masks)


def open_products(
    key: PrivateKey,
    masked: MaskedProducts,
    layout: ProductLayout,
    engine: RingEngine | None = None,
    *,
    cut_bits: int = 0,
) -> list[int]:
    """The quotient of each masked number by Delta 2^cut_bits: below 2^(opened_bits - cut_bits)."""
    if masked.key != key.public:
        raise KeyRefusedError(
            "masked products are under another key",
            expected=f"key {key.public.fingerprint}",
            got=f"key {masked.key.fingerprint}",
            cure="open them with the key they were made under",
        )
    engine, parameters = engine or get_engine(), layout.parameters
    shared = transform_back(parameters, multiply_slots(parameters, masked.c1, key.secret, engine), engine)
    at_places = _at_places(shared, masked.holders, masked.places)
    residues = add_residues(parameters, at_places, masked.c0)
    unit = layout.delta << cut_bits
    return [value // unit for value in integers_of_residues(parameters, residues)]


def unmask_products(opened: Sequence[int], masks: Masks, layout: ProductLayout, *, cut_bits: int = 0) -> list[int]:
    """The products divided by 2^cut_bits, from the opened numbers and the masks; less than one unit off where bits are
    cut.

    Raises InputError where the counts differ, or where a number opens to a value beyond every product.
    """
    if len(opened) != len(masks.values):
        raise InputError("opened numbers and masks do not fit", expected=str(len(masks.values)), got=str(len(opened)))
    return [_unmask(quotient, mask, layout, cut_bits) for quotient, mask in zip(opened, masks.values, strict=True)]


def _unmask(quotient: int, mask: int, layout: ProductLayout, cut_bits: int) -> int:
    """The m within the bound for which Delta 2^cut_bits m + mask, less q or not, has this quotient by Delta 2^cut_bits.

    Only where bits are cut and m lies within two units of the bound can several m have this quotient.
    """
    modulus, delta = layout.parameters.modulus, layout.delta << cut_bits
    for wrapped in (0, modulus, -modulus):
        value = -((mask - wrapped - quotient * delta) // delta)
        if abs(value) <= (layout.product_bound >> cut_bits) + 1:
            return value
    raise InputError(
        "an opened number is no product under its mask",
        expected="one within the bound that all parties agreed on",
        got="another",
        cure="all parties must run the same job and release",
    )


def _at_places(polynomials: Elements, holders: IndexArray, places: IndexArray) -> Elements:
    """Single coefficients (count, primes) of polynomials (ciphertexts, primes, N)."""
    return tuple(x[holders, :, places] for x in polynomials)


def _within(indices: IndexArray, limit: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < limit)
