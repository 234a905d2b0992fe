"""Products X^T d of plain columns with encrypted rows: `product_layout` says how they lie in polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import IndexArray
from hekat.engine.ring.interface import RingEngine
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError
from hekat.scheme.bfv.ciphertexts import Ciphertexts, add, encrypt, join, multiply_plain
from hekat.scheme.bfv.elements import (
    INT64_LIMIT,
    SMALL_LIMIT,
    Elements,
    residues_at,
    residues_of_integers,
    residues_of_small,
    scale_elements,
    transform,
)
from hekat.scheme.bfv.keys import PublicKey
from hekat.scheme.bfv.product_layout import ProductLayout
from hekat.scheme.parameter_set import check_same_parameters

# Polynomials of columns in memory at a time: some 64 MiB with their products.
POLYNOMIALS_AT_ONCE: Final = 64


@dataclass(frozen=True)
class Products:
    """Numbers at coefficients `places` (count,) of the ciphertexts `holders` (count,)."""

    ciphertexts: Ciphertexts
    holders: IndexArray
    places: IndexArray

    def take(self, indices: IndexArray) -> Products:
        """The numbers at `indices`, in that order."""
        return replace(self, holders=self.holders[indices], places=self.places[indices])


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
    """One integer, encrypted at a ciphertext's first place. Raises BoundError for one beyond the bound."""
    if abs(value) > layout.product_bound:
        raise BoundError("a sum does not fit its ciphertext", expected="one within the products' bound", got="more")
    parameters, place = layout.parameters, layout.block - 1
    scaled = tuple(np.zeros((1, len(part.primes), part.degree), np.uint64) for part in parameters.parts)
    for x, residues in zip(scaled, residues_at(parameters, [value * layout.delta]), strict=True):
        x[0, :, place] = residues[0]
    return place_sum(encrypt(key, scaled, engine), layout)


def place_sum(ciphertexts: Ciphertexts, layout: ProductLayout) -> Products:
    """The number that `encrypt_sum` put into its ciphertext."""
    return Products(ciphertexts, *layout.positions(1, 1))


def multiply_columns(
    columns: Any, rows: Ciphertexts, layout: ProductLayout, engine: RingEngine | None = None
) -> Products:
    """Products columns (m, rows) @ rows (rows, K), dense or sparse as SciPy's, in C order of shape (m, K).

    Open them only under masks: see `mask_products`. Raises BoundError for an entry of 2^40 or more, without it,
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
    of_targets: list[list[Ciphertexts]] = [[] for _ in range(target_count)]
    for start in range(0, polynomial_count, at_once):
        taken = columns[start * layout.columns : (start + at_once) * layout.columns]
        factors = _factors(taken, layout, engine)
        for k, parts in enumerate(of_targets):
            parts.append(_products_of(factors, rows[k * groups : (k + 1) * groups], engine))
    holders, places = layout.positions(column_count, target_count)
    return Products(join([part for parts in of_targets for part in parts]), holders, places)


def add_products(addends: Sequence[Products], layout: ProductLayout, engine: RingEngine | None = None) -> Products:
    """The sum of single numbers, at the place of a ciphertext's first product. Raises InputError where one has several.

    The place does not show which columns and rows a product came from.
    """
    if any(len(addend.places) != 1 for addend in addends):
        raise InputError("sums of products are made one by one", expected="single numbers", got="several")
    moved = [_moved(addend, layout.block - 1, engine) for addend in addends]
    return place_sum(add(moved, engine), layout)


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
