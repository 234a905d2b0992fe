"""What travels to the key's holder beside the masked numbers is an encryption made anew: it shows no plain factor."""

from __future__ import annotations

import numpy as np

from hekat.scheme.bfv import PRODUCTS, encrypt_rows, lay_out_products, mask_products, multiply_columns
from hekat.scheme.bfv.elements import integers_of_residues, transform_back

Q = PRODUCTS.modulus


def c1_of(masked, engine) -> list[int]:
    coefficients = transform_back(PRODUCTS, tuple(x[0] for x in masked.c1), engine)
    return integers_of_residues(PRODUCTS, tuple(np.ascontiguousarray(x.T) for x in coefficients))


def test_c1_is_that_of_a_new_encryption_every_time(pair, engine) -> None:
    """The attack: the holder, who made c1 of the rows, divides by it what comes back and has the columns. Small errors
    added to it would hide nothing: two maskings of one product differ everywhere, and by no small number."""
    rng = np.random.default_rng(7)
    layout = lay_out_products(PRODUCTS, 8 * 50 << 65, 1 << 19, 50, row_addends=2, products=4)
    rows = encrypt_rows(pair.public, rng.integers(-(1 << 45), 1 << 45, size=(50, 1)), layout)
    products = multiply_columns(rng.integers(-(1 << 18), 1 << 18, size=(6, 50)), rows, layout)
    first, second = (c1_of(mask_products(products, layout)[0], engine) for _ in range(2))
    distances = [min((x - y) % Q, (y - x) % Q) for x, y in zip(first, second, strict=True)]
    # Uniform in [0, q/2]: the mean of thousands is within 0.2 q to 0.3 q but for odds far below 2^-64.
    assert 0.2 * Q < sum(distances) / len(distances) < 0.3 * Q
