"""Products X^T d of plain columns with encrypted rows, opened under masks: `product_layout` says how and why."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.engine.ring_interface import RingArray, RingEngine
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.bfv.ciphertexts import Ciphertexts, add, draw_small, encrypt, join, multiply_plain
from hekat.scheme.bfv.elements import (
    INT64_LIMIT,
    SMALL_LIMIT,
    Elements,
    add_elements,
    add_residues,
    integers_of_residues,
    multiply_slots,
    residues_at,
    residues_of_integers,
    residues_of_small,
    scale_elements,
    transform,
    transform_back,
)
from hekat.scheme.bfv.keys import PrivateKey, PublicKey
from hekat.scheme.bfv.parameters import check_same_parameters
from hekat.scheme.bfv.product_layout import ProductLayout

IndexArray = npt.NDArray[np.int64]
# Polynomials of columns that are held at a time: some 64 MiB with their products.
POLYNOMIALS_AT_ONCE: Final = 64


@dataclass(frozen=True)
class Products:
    """Numbers at coefficients `places` (count,) of the ciphertexts `holders` (count,)."""

    ciphertexts: Ciphertexts
    holders: IndexArray
    places: IndexArray

    def take(self, indices: IndexArray) -> Products:
        """Those at `indices`, in that order."""
        return replace(self, holders=self.holders[indices], places=self.places[indices])


@dataclass(frozen=True)
class MaskedProducts:
    """What the key's holder gets: c1 whole (ciphertexts, primes, N), transformed, and of c0 the coefficients asked for,
    (count, primes), each under a mask uniform mod q."""

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
    """The integers mod q that whoever asks takes away again; secret."""

    values: tuple[int, ...] = field(repr=False)


def encrypt_rows(
    key: PublicKey, rows: npt.NDArray[np.int64], layout: ProductLayout, engine: RingEngine | None = None
) -> Ciphertexts:
    """Integers (rows, K), magnitudes below 2^62, as ciphertexts (K * groups), the groups of one of the K together.

    Raises BoundError for a larger one, without it.
    """
    check_same_parameters(layout.parameters, key.parameters, "a BFV key")
    engine, parameters = engine or get_engine(), layout.parameters
    row_count, target_count = rows.shape
    groups = layout.groups(row_count)
    lines = np.zeros((target_count, groups * layout.block), np.int64)
    lines[:, :row_count] = rows.T
    _check_range(lines, INT64_LIMIT)
    coefficients = np.zeros((target_count * groups, parameters.degree), np.int64)
    coefficients[:, : layout.block] = lines.reshape(-1, layout.block)
    residues = residues_of_integers(parameters, coefficients, engine)
    return encrypt(key, scale_elements(parameters, residues, layout.delta, engine), engine)


def encrypt_sum(key: PublicKey, value: int, layout: ProductLayout, engine: RingEngine | None = None) -> Products:
    """One integer where the first product of a ciphertext is. Raises BoundError beyond the products' bound."""
    if abs(value) > layout.product_bound:
        raise BoundError("a sum does not fit its ciphertext", expected="one within the products' bound", got="more")
    parameters, place = layout.parameters, layout.block - 1
    scaled = tuple(np.zeros((1, len(part.primes), part.degree), np.uint64) for part in parameters.parts)
    for x, residues in zip(scaled, residues_at(parameters, [value * layout.delta]), strict=True):
        x[0, :, place] = residues[0]
    return place_sum(encrypt(key, scaled, engine), layout)


def place_sum(ciphertexts: Ciphertexts, layout: ProductLayout) -> Products:
    """The number of `encrypt_sum`, from its ciphertext."""
    return Products(ciphertexts, np.zeros(1, np.int64), np.full(1, layout.block - 1, np.int64))


def multiply_columns(
    columns: Any, rows: Ciphertexts, layout: ProductLayout, engine: RingEngine | None = None
) -> Products:
    """Products columns (m, rows) @ rows (rows, K), dense or sparse as SciPy's, in C order of shape (m, K).

    Not to be opened but under masks: see `mask_products`. Raises BoundError for an entry of 2^40 or more, without it,
    InputError for columns that cannot belong to these rows.
    """
    engine = engine or get_engine()
    column_count, row_count = columns.shape
    groups = layout.groups(row_count)
    if not column_count or columns.dtype.kind != "i" or rows.count % groups:
        raise InputError(
            "columns do not fit encrypted rows",
            expected=f"at least one column of integers, and whole rows of {groups} ciphertexts each",
            got=f"{column_count} columns of {columns.dtype}, {rows.count} ciphertexts",
        )
    target_count = rows.count // groups
    polynomial_count = -(-column_count // layout.columns)
    at_once = max(1, POLYNOMIALS_AT_ONCE // groups)
    parts = []
    for start in range(0, polynomial_count, at_once):
        taken = columns[start * layout.columns : (start + at_once) * layout.columns]
        factors = _factors(taken, layout, engine)
        parts += [_products_of(factors, rows[k * groups : (k + 1) * groups], engine) for k in range(target_count)]
    # By chunks of polynomials, in these by k: where the products of column i with the k-th of rows lie.
    i, k = (part.ravel() for part in np.indices((column_count, target_count)))
    polynomial = i // layout.columns
    chunk, inside = np.divmod(polynomial, at_once)
    chunk_size = np.minimum(at_once, polynomial_count - chunk * at_once)
    holders = chunk * at_once * target_count + k * chunk_size + inside
    places = (i % layout.columns + 1) * layout.block - 1
    return Products(join(parts), holders, places)


def add_products(addends: Sequence[Products], engine: RingEngine | None = None) -> Products:
    """The sum of single numbers, each moved to the place of the first. Raises InputError where one has several."""
    if any(len(addend.places) != 1 for addend in addends):
        raise InputError("sums of products are made one by one", expected="single numbers", got="several")
    place = int(addends[0].places[0])
    moved = [_moved(addend, place, engine) for addend in addends]
    return Products(add(moved, engine), np.zeros(1, np.int64), np.full(1, place, np.int64))


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
        # Where all are used a view of them is enough.
        taken = products.ciphertexts[here if len(used) < products.ciphertexts.count else slice(here[0], here[-1] + 1)]
        # An encryption of zero less its e1: the masks hide c0 alone.
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
    whole = tuple(np.concatenate(x) for x in zip(*c1, strict=True)) if len(c1) > 1 else c1[0]
    return MaskedProducts(key, whole, masked, holders, products.places), Masks(masks)


def open_products(
    key: PrivateKey, masked: MaskedProducts, layout: ProductLayout, engine: RingEngine | None = None
) -> list[int]:
    """How often Delta goes into each masked number: below 2^opened_bits."""
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
    return [value // layout.delta for value in integers_of_residues(parameters, residues)]


def unmask_products(opened: Sequence[int], masks: Masks, layout: ProductLayout) -> list[int]:
    """The products, from what was told and the masks.

    Raises InputError where there are not as many of both, or one opens to what no product reaches.
    """
    if len(opened) != len(masks.values):
        raise InputError("opened numbers and masks do not fit", expected=str(len(masks.values)), got=str(len(opened)))
    return [_unmask(quotient, mask, layout) for quotient, mask in zip(opened, masks.values, strict=True)]


def _unmask(quotient: int, mask: int, layout: ProductLayout) -> int:
    """The m within the bound for which Delta m + mask, less q or not, has this quotient by Delta."""
    modulus, delta = layout.parameters.modulus, layout.delta
    for wrapped in (0, modulus, -modulus):
        value = -((mask - wrapped - quotient * delta) // delta)
        if abs(value) <= layout.product_bound + 1:
            return value
    raise InputError(
        "an opened number is no product under its mask",
        expected="one within the bound that all parties agreed on",
        got="another",
        cure="all parties must run the same job and release",
    )


def _factors(columns: Any, layout: ProductLayout, engine: RingEngine) -> Elements:
    """Columns (m, rows) as elements (polynomials, groups, primes, N), transformed."""
    dense = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns)
    column_count, row_count = dense.shape
    groups, polynomial_count = layout.groups(row_count), -(-column_count // layout.columns)
    _check_range(dense, SMALL_LIMIT)
    padded = np.zeros((polynomial_count * layout.columns, groups * layout.block), np.int64)
    padded[:column_count, :row_count] = dense
    blocks = padded.reshape(polynomial_count, layout.columns, groups, layout.block)[..., ::-1].swapaxes(1, 2)
    coefficients = np.zeros((polynomial_count, groups, layout.parameters.degree), np.int64)
    coefficients[..., : layout.columns * layout.block] = blocks.reshape(polynomial_count, groups, -1)
    return transform(layout.parameters, residues_of_small(layout.parameters, coefficients), engine)


def _products_of(factors: Elements, rows: Ciphertexts, engine: RingEngine) -> Ciphertexts:
    """Ciphertexts (polynomials): the sum over groups of factors (polynomials, groups) times rows (groups)."""
    return add(
        [
            multiply_plain(rows[group : group + 1], tuple(x[:, group] for x in factors), engine)
            for group in range(rows.count)
        ],
        engine,
    )


def _at_places(polynomials: Elements, holders: IndexArray, places: IndexArray) -> Elements:
    """Single coefficients (count, primes) of polynomials (ciphertexts, primes, N)."""
    return tuple(x[holders, :, places] for x in polynomials)


def _moved(addend: Products, place: int, engine: RingEngine | None) -> Ciphertexts:
    """The addend's ciphertext with its number at `place`: times Z^shift, which is -Z^(N + shift) for a negative one."""
    holder = int(addend.holders[0])
    ciphertext = addend.ciphertexts[holder : holder + 1]
    shift = place - int(addend.places[0])
    if shift == 0:
        return ciphertext
    engine, parameters = engine or get_engine(), ciphertext.key.parameters
    monomial = np.zeros((1, parameters.degree), np.int64)
    monomial[0, shift % parameters.degree] = 1 if shift > 0 else -1
    return multiply_plain(ciphertext, transform(parameters, residues_of_small(parameters, monomial), engine), engine)


def _check_range(values: npt.NDArray[np.int64], limit: int) -> None:
    if values.size and max(int(values.max()), -int(values.min())) >= limit:
        expected = f"magnitudes below 2^{limit.bit_length() - 1}"
        raise BoundError("an integer passes its bound", expected=expected, got="a larger one")


def _within(indices: RingArray | IndexArray, limit: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < limit)
