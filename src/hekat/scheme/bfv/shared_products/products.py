"""Products of a plain matrix with an encrypted one, hidden in fresh encryptions of zero: by the plain one's owner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.ring.interface import RingArray
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.bfv.elements import Elements
from hekat.scheme.bfv.keys import SEED_BYTES, PublicKey
from hekat.scheme.bfv.shared_products.encoding import encode, take_numbers
from hekat.scheme.bfv.shared_products.encrypted_matrix import EncryptedMatrix
from hekat.scheme.bfv.shared_products.layout import MatrixLayout
from hekat.scheme.bfv.shared_products.places import take_products
from hekat.scheme.bfv.shared_products.plain_matrix import PlainMatrix
from hekat.scheme.bfv.shared_products.residues import Residues, add


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
    numbers, c1 = zip(*_multiply(plain, encrypted, engine), strict=True)
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


def _multiply(plain: PlainMatrix, encrypted: EncryptedMatrix, engine: Engine) -> Iterator[tuple[RingArray, RingArray]]:
    """For each part of the set the product's coefficients of c0, and c1, each answer with a zero of its own."""
    layout, key, degree = plain.layout, encrypted.key, plain.layout.parameters.degree
    count = layout.blocks.answers(layout.shape)
    # v, e1 and e2 of every answer, the same in all parts of the modulus.
    small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, 3 * count, degree).reshape(count, 3, degree)
    second = encrypted.second_halves(engine)
    for part, factors, c0, c1, b, a in zip(
        layout.parameters.parts, plain.elements, encrypted.c0, second, key.b, key.a, strict=True
    ):
        halves = np.stack((c0, c1), axis=2).reshape(len(c0), -1, *part.element_shape)
        sums = engine.ring_dot(part, factors, halves).reshape(count, 2, *part.element_shape)
        fresh = engine.ring_refresh(part, sums, small, np.stack((b, a)))
        yield take_products(fresh[:, 0], layout), np.ascontiguousarray(fresh[:, 1])
