"""A matrix under its owner's key: symmetric encryption, the uniform half sent as a seed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.ring.checks import check_elements
from hekat.engine.ring.interface import RingEngine
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.bfv.elements import (
    Elements,
    add_elements,
    multiply_slots,
    residues_of_small,
    scale_elements,
    transform,
)
from hekat.scheme.bfv.keys import SEED_BYTES, PrivateKey, PublicKey
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.bfv.shared_products.encoding import Numbers, encode, take_numbers
from hekat.scheme.bfv.shared_products.layout import MatrixLayout
from hekat.scheme.bfv.shared_products.places import add_encrypted
from hekat.scheme.parameter_set import check_same_parameters

MATRIX_DOMAIN: Final = b"hekat/bfv/a-of-matrix/1:"


@dataclass(frozen=True)
class EncryptedMatrix:
    """Ciphertexts with c0 + a s = q x / t + noise: c0 transformed, (inner blocks, column blocks, primes, N).

    The a follow from `seed`. Raises InputError for another layout and for values that are no residues, KeyRefusedError
    for a key of another set.
    """

    key: PublicKey
    layout: MatrixLayout
    seed: bytes
    c0: Elements = field(repr=False)

    def __post_init__(self) -> None:
        parameters, blocks, shape = self.layout.parameters, self.layout.blocks, self.layout.shape
        check_same_parameters(parameters, self.key.parameters, "a BFV key")
        if not isinstance(self.seed, bytes) or len(self.seed) != SEED_BYTES:
            raise InputError("seed of an encrypted matrix refused", expected=f"{SEED_BYTES} bytes", got="others")
        expected = (blocks.inner_count(shape), blocks.column_count(shape))
        what = "an encrypted matrix"
        shapes = {check_elements(part, x, what) for part, x in zip(parameters.parts, self.c0, strict=True)}
        if shapes != {expected}:
            raise InputError(
                f"{what} has the wrong layout",
                expected=f"{expected[0]} x {expected[1]} ciphertexts",
                got=" and ".join(str(found) for found in sorted(shapes)),
                cure="all parties must run the same job and release",
            )

    def second_halves(self, engine: RingEngine | None = None) -> Elements:
        """The a, transformed, in the shape of `c0`; expanded anew by every call."""
        blocks, shape = self.layout.blocks, self.layout.shape
        a = expand(self.layout.parameters, self.seed, blocks.inputs(shape), engine or get_engine())
        return tuple(x.reshape(y.shape) for x, y in zip(a, self.c0, strict=True))


def encrypt_matrix(
    key: PrivateKey, values: npt.NDArray[Any], layout: MatrixLayout, engine: Engine | None = None
) -> EncryptedMatrix:
    """A matrix (inner, columns) of numbers mod 2^bits, as `take_numbers` takes it, under its owner's key.

    The seed of the uniform halves and the key of the errors are drawn here from the operating system, and nobody can
    pass them: no two matrices share an a. Raises InputError for another shape or type.
    """
    parameters, engine = layout.parameters, engine or get_engine()
    check_same_parameters(parameters, key.public.parameters, "a BFV key")
    numbers = take_numbers(values, layout.bits, (layout.shape.inner, layout.shape.columns))
    count = layout.blocks.inputs(layout.shape)
    errors = engine.sample_cbd(os.urandom(SEED_BYTES), 0, count, parameters.degree)
    noisy = _placed(residues_of_small(parameters, errors), numbers, layout, engine)
    seed = os.urandom(SEED_BYTES)
    minus_secret = scale_elements(parameters, key.secret, -1, engine)
    shared = multiply_slots(parameters, expand(parameters, seed, count, engine), minus_secret, engine)
    c0 = add_elements(parameters, transform(parameters, noisy, engine), shared, engine)
    return EncryptedMatrix(key.public, layout, seed, _in_blocks(c0, layout))


def add_to_matrix(
    encrypted: EncryptedMatrix, values: npt.NDArray[Any], engine: Engine | None = None
) -> EncryptedMatrix:
    """The encrypted sum of a matrix and of numbers in the clear, as `encrypt_matrix` takes them.

    Whoever has both ciphertexts reads the numbers. The layout's noise has room for one such sum on each matrix.
    """
    layout, engine = encrypted.layout, engine or get_engine()
    parameters, shape = layout.parameters, layout.shape
    numbers = take_numbers(values, layout.bits, (shape.inner, shape.columns))
    count = layout.blocks.inputs(shape)
    zeros = tuple(np.zeros((count, *part.element_shape), np.uint64) for part in parameters.parts)
    added = _in_blocks(transform(parameters, _placed(zeros, numbers, layout, engine), engine), layout)
    return EncryptedMatrix(encrypted.key, layout, encrypted.seed, add_elements(parameters, encrypted.c0, added, engine))


def expand(
    parameters: BfvParameters, seed: bytes, count: int, engine: RingEngine, domain: bytes = MATRIX_DOMAIN
) -> Elements:
    """`count` uniform elements of a public seed, transformed: its maker picks among hashes, not among elements."""
    key = hashlib.sha256(domain + parameters.identity + seed).digest()
    # No two parts share a stream.
    return tuple(engine.expand_uniform(part, key, i * count, count) for i, part in enumerate(parameters.parts))


def _placed(elements: Elements, numbers: Numbers, layout: MatrixLayout, engine: Engine) -> Elements:
    """Coefficients (ciphertexts, primes, N), the encoded numbers added to them in place."""
    residues = encode(layout.parameters, numbers, layout.bits, engine)
    for part, x, y in zip(layout.parameters.parts, _in_blocks(elements, layout), residues, strict=True):
        add_encrypted(x, part.primes, y, layout)
    return elements


def _in_blocks(elements: Elements, layout: MatrixLayout) -> Elements:
    """Elements (ciphertexts, primes, N) as (inner blocks, column blocks, primes, N)."""
    blocks, shape = layout.blocks, layout.shape
    counts = blocks.inner_count(shape), blocks.column_count(shape)
    return tuple(x.reshape(*counts, *x.shape[1:]) for x in elements)
