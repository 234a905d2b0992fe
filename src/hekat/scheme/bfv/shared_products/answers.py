"""What leaves the owner of a plain matrix: answers under masks, their sums, and the share that a mask leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.ring.checks import check_elements
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv.elements import Elements, add_elements
from hekat.scheme.bfv.keys import PublicKey
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.bfv.shared_products.dropped_primes import drop_primes
from hekat.scheme.bfv.shared_products.encoding import Numbers, negate, numbers_of
from hekat.scheme.bfv.shared_products.encrypted_matrix import EncryptedMatrix
from hekat.scheme.bfv.shared_products.layout import MatrixLayout, first_primes
from hekat.scheme.bfv.shared_products.plain_matrix import PlainMatrix
from hekat.scheme.bfv.shared_products.products import Products, multiply_matrices
from hekat.scheme.bfv.shared_products.residues import (
    Residues,
    add,
    check_residues,
    draw_uniform,
    pack,
    round_to,
    unpack,
)
from hekat.scheme.parameter_set import check_same_parameters


@dataclass(frozen=True)
class Answer:
    """c1 of every answer, coefficients (answers, primes, N), and the product's coefficients of c0, each under a mask.

    `primes`: the residues are mod the first so many primes of the set. Raises InputError for another layout and for
    values that are no residues, KeyRefusedError for a key of another set.
    """

    key: PublicKey
    layout: MatrixLayout
    primes: int
    c1: Elements = field(repr=False)
    c0: Residues = field(repr=False)

    def __post_init__(self) -> None:
        check_same_parameters(self.layout.parameters, self.key.parameters, "a BFV key")
        parameters, what = self.parameters, "masked products"
        check_residues(parameters, self.c0, self.layout.numbers, what)
        expected = (self.layout.blocks.answers(self.layout.shape),)
        shapes = {check_elements(part, x, what) for part, x in zip(parameters.parts, self.c1, strict=True)}
        if shapes != {expected}:
            raise InputError(
                f"{what} have the wrong layout",
                expected=f"{expected[0]} ciphertexts",
                got=" and ".join(str(found) for found in sorted(shapes)),
                cure="all parties must run the same job and release",
            )

    @property
    def parameters(self) -> BfvParameters:
        """The ring of the answer's residues."""
        return first_primes(self.layout.parameters, self.primes)


def multiply_masked(
    plain: PlainMatrix, encrypted: EncryptedMatrix, engine: Engine | None = None
) -> tuple[Answer, Numbers]:
    """What the key's holder gets of a product, and the own share of it: numbers mod 2^bits, in the product's shape.

    Both shares add up to the product mod 2^bits, but for one unit with odds of 2^-rounding_bits a number. Raises
    InputError where the matrices do not fit.
    """
    return mask_products(multiply_matrices(plain, encrypted, engine=engine), engine)


def mask_products(products: Products | Answer, engine: Engine | None = None) -> tuple[Answer, Numbers]:
    """Products, or a sum of answers, under a mask uniform mod q, in the fewest primes; and the share that is left.

    The mask r covers all of the ring, so what the key's holder opens is uniform, whatever it has encrypted. The own
    share is -floor(r t / q). Raises InputError for an answer whose primes are dropped already.
    """
    engine, layout = engine or get_engine(), products.layout
    parameters = layout.parameters
    if isinstance(products, Answer) and products.primes != len(parameters.primes):
        raise InputError("an answer cannot be masked", expected="one with all primes", got="one with fewer")
    mask = draw_uniform(parameters, layout.numbers, engine)
    share = negate(_numbers(round_to(parameters, mask, layout.bits, engine), layout), layout.bits)
    masked = pack(parameters, add(parameters, products.c0, mask))
    c0 = unpack(drop_primes(parameters, masked, layout.kept_primes, engine), layout.numbers)
    c1 = drop_primes(parameters, products.c1, layout.kept_primes, engine)
    return Answer(products.key, layout, layout.kept_primes, c1, c0), share


def cover_products(products: Products, masks: Residues) -> Answer:
    """Products under masks of the caller, with all primes: answers that others add up, so that the masks cancel.

    `masks`: numbers mod q in C order, for each part uint64 (primes, rows * columns), uniform to whoever gets the
    answer. Raises InputError for other masks.
    """
    parameters = products.layout.parameters
    check_residues(parameters, masks, products.layout.numbers, "masks")
    covered = add(parameters, products.c0, masks)
    return Answer(products.key, products.layout, len(parameters.primes), products.c1, covered)


def add_answers(answers: Sequence[Answer], engine: Engine | None = None) -> Answer:
    """The sum of answers of one layout. Raises InputError where layouts differ, KeyRefusedError where keys differ."""
    first, engine = answers[0], engine or get_engine()
    for other in answers[1:]:
        if other.key != first.key:
            raise KeyRefusedError(
                "answers are under different keys",
                expected=f"key {first.key.fingerprint}",
                got=f"key {other.key.fingerprint}",
                cure="multiply matrices under one key",
            )
        if (other.layout, other.primes) != (first.layout, first.primes):
            raise InputError(
                "answers do not fit each other",
                expected="one layout and as many primes for all",
                got="others",
                cure="all parties must run the same job and release",
            )
    parameters = first.parameters
    c1 = reduce(lambda a, b: add_elements(parameters, a, b, engine), (answer.c1 for answer in answers))
    c0 = reduce(lambda a, b: add(parameters, a, b), (answer.c0 for answer in answers))
    return Answer(first.key, first.layout, first.primes, c1, c0)


def _numbers(limbs: npt.NDArray[np.uint64], layout: MatrixLayout) -> Numbers:
    return numbers_of(limbs, layout.bits, layout.shape.rows, layout.shape.columns)
