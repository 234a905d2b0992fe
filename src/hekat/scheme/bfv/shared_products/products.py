"""Products of a plain matrix with an encrypted one, hidden in fresh encryptions of zero: by the plain one's owner."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.ring.interface import RingArray
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.bfv.elements import (
    Elements,
    residues_of_small,
)
from hekat.scheme.bfv.keys import SEED_BYTES, PublicKey
from hekat.scheme.bfv.shared_products.encoding import encode, take_numbers
from hekat.scheme.bfv.shared_products.encrypted_matrix import EncryptedMatrix
from hekat.scheme.bfv.shared_products.layout import MatrixLayout
from hekat.scheme.bfv.shared_products.places import take_products
from hekat.scheme.bfv.shared_products.plain_matrix import PlainMatrix
from hekat.scheme.bfv.shared_products.residues import POLYNOMIALS_AT_ONCE, Residues, add, unpack


@dataclass(frozen=True)
class Products:
    """c1 of every answer, coefficients (answers, primes, N), and of c0 the coefficients that hold the product.

    Secret of the plain matrix's owner, who masks them before anything leaves it: the key's holder would open the
    product and its noise.
    """

    key: PublicKey
    layout: MatrixLayout
    c1: Elements = field(repr=False)
    c0: Residues = field(repr=False)


def multiply_matrices(
    plain: PlainMatrix,
    encrypted: EncryptedMatrix,
    *,
    addend: npt.NDArray[Any] | None = None,
    engine: Engine | None = None,
) -> Products:
    """The product of both matrices, and of numbers (rows, columns) mod 2^bits where `addend` gives some.

    Each answer takes an encryption of zero of its own, (b v + e1, a v + e2). Without it c1 would be the plain matrix
    times public polynomials, and the key's holder would divide. Raises InputError where the matrices do not fit.
    """
    layout, key = plain.layout, encrypted.key
    check_fitting(plain, encrypted)
    engine, parameters = engine or get_engine(), layout.parameters
    c0, c1 = _dot(plain, encrypted, engine)
    for start in range(0, layout.blocks.answers(layout.shape), POLYNOMIALS_AT_ONCE):
        some0, some1 = (tuple(x[start : start + POLYNOMIALS_AT_ONCE] for x in half) for half in (c0, c1))
        _hide(key, some0, some1, engine)
    numbers = tuple(take_products(x, layout) for x in c0)
    numbers = add(parameters, numbers, _errors(layout, engine))
    if addend is not None:
        shape = (layout.shape.rows, layout.shape.columns)
        numbers = add(
            parameters,
            numbers,
            encode(parameters, take_numbers(addend, layout.bits, shape), layout.bits, engine),
        )
    return Products(key, layout, c1, numbers)


def check_fitting(plain: PlainMatrix, encrypted: EncryptedMatrix) -> None:
    """Raise InputError unless the encrypted matrix lies as the plain one's layout has it."""
    if not plain.layout.takes(encrypted.layout):
        raise InputError(
            "matrices do not fit each other",
            expected=f"an encrypted matrix laid out for {plain.layout.shape} in {plain.layout.blocks}",
            got=f"{encrypted.layout.shape} in {encrypted.layout.blocks}",
            cure="lay both out by the same facts",
        )


def _dot(plain: PlainMatrix, encrypted: EncryptedMatrix, engine: Engine) -> tuple[Elements, Elements]:
    """Both halves of the product, transformed, (answers, primes, N)."""
    halves: tuple[list[RingArray], list[RingArray]] = ([], [])
    second = encrypted.second_halves(engine)
    for part, factors, c0, a in zip(plain.layout.parameters.parts, plain.elements, encrypted.c0, second, strict=True):
        both = engine.ring_dot(part, factors, np.concatenate((c0, a), axis=1))
        for half, x in zip(halves, np.split(both, 2, axis=1), strict=True):
            half.append(x.reshape(-1, *part.element_shape))
    return tuple(halves[0]), tuple(halves[1])


def _hide(key: PublicKey, c0: Elements, c1: Elements, engine: Engine) -> None:
    """Put coefficients in the place of transformed answers (count, primes, N), with a zero each, but for e1."""
    degree = key.parameters.degree
    # v and e2 of every answer, the same in both parts of the modulus.
    small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, 2 * len(c0[0]), degree).reshape(-1, 2, degree)
    for part, first, second, a, b in zip(key.parameters.parts, c0, c1, key.a, key.b, strict=True):
        plain = engine.ring_intt(part, first)[:, np.newaxis]
        second[:], hidden = engine.ring_add_zeros(part, second, plain, small, np.stack((a, b)))
        first[:] = hidden[:, 0]


def _errors(layout: MatrixLayout, engine: Engine) -> Residues:
    """e1 of the coefficients that are taken of c0."""
    parameters = layout.parameters
    polynomials = -(-layout.numbers // parameters.degree)
    small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, polynomials, parameters.degree)
    return unpack(residues_of_small(parameters, small), layout.numbers)
