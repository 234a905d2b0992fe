"""Shares of a product add up to the product, unit for unit, whatever the shapes, blocks, bits and numbers are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheme.bfv.shared_products.conftest import (
    draw_matrices,
    exact_product,
    integers_of,
    misses_of,
    share_product,
)

from hekat.errors import BoundError, InputError
from hekat.scheme.bfv import PRODUCTS
from hekat.scheme.bfv.shared_products import (
    MatrixLayout,
    add_to_matrix,
    centre,
    encrypt_matrix,
    lay_out_matrices,
    mask_products,
    multiply_masked,
    multiply_matrices,
    open_share,
    prepare_matrix,
)
from hekat.scheme.bfv.shared_products.blocks import Blocks, Shape

Q = PRODUCTS.modulus


def layout_of(bits: int, rows: int, inner: int, columns: int, bound: int, **facts) -> MatrixLayout:
    return lay_out_matrices(
        bits=bits, rows=rows, inner=inner, columns=columns, plain_bound=bound, opened=False, **facts
    )


def assert_adds_up(own, theirs, expected, bits: int) -> None:
    """But for two numbers that are one unit off: one is with odds of at most 2^-12 a test, a third with 2^-38."""
    misses = misses_of(own, theirs, expected, bits)
    assert abs(misses).max() <= 1
    assert np.count_nonzero(misses) <= 2


@pytest.mark.parametrize(
    ("bits", "rows", "inner", "columns", "bound"),
    [
        pytest.param(60, 1, 1, 1, 1 << 59, id="one-number"),
        pytest.param(60, 1, 50, 1, 1 << 19, id="one-row-one-column"),
        pytest.param(60, 257, 1, 3, 1 << 19, id="one-inner"),
        pytest.param(60, 200, 13, 32, 1 << 19, id="activations"),
        pytest.param(60, 32, 10, 200, 1 << 59, id="uniform-shares"),
        pytest.param(128, 10, 300, 32, 1 << 19, id="gradient"),
        pytest.param(128, 95, 95, 2, 1 << 27, id="model"),
        pytest.param(1, 7, 40, 9, 1, id="one-bit"),
        pytest.param(64, 9, 5, 11, 1 << 40, id="whole-limb"),
        pytest.param(65, 9, 5, 11, 1 << 40, id="limb-and-a-bit"),
        pytest.param(100, 3, 9, 70, 1 << 40, id="hundred-bits"),
    ],
)
def test_shares_of_ragged_matrices_add_up_exactly(pair, engine, bits, rows, inner, columns, bound) -> None:
    """With all primes an unequal unit has odds below 2^-20 a number."""
    layout = layout_of(bits, rows, inner, columns, bound, drop_primes=False)
    plain, numbers = draw_matrices(layout, np.random.default_rng(11))
    _, own, theirs = share_product(pair, layout, plain, numbers, engine)
    assert_adds_up(own, theirs, exact_product(plain, numbers, bits), bits)
    assert max(integers_of(own, bits).max(), integers_of(theirs, bits).max()) < 1 << bits


@settings(max_examples=12)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_any_blocks_give_the_same_product(pair, engine, data, seed) -> None:
    shape = Shape(*(data.draw(st.integers(1, 13), name) for name in ("rows", "inner", "columns")))
    rows, inner, groups = (data.draw(st.integers(1, size), "block") for size in shape)
    stride = data.draw(st.sampled_from([1, 2, 4] + [8] * (rows * inner * groups <= 1024)), "stride")
    blocks = Blocks(rows, inner, stride * groups, stride)
    layout = layout_of(60, *shape, 1 << 59, drop_primes=False)
    laid = MatrixLayout(PRODUCTS, 60, shape, blocks, 1 << 59, 4, layout.noise_bound)
    plain, numbers = draw_matrices(laid, np.random.default_rng(seed))
    _, own, theirs = share_product(pair, laid, plain, numbers, engine)
    assert not misses_of(own, theirs, exact_product(plain, numbers, 60), 60).any()


@pytest.mark.parametrize(("bits", "bound", "odds"), [(60, 1 << 19, 2**-20), (128, 1 << 19, 2**-4)])
def test_dropped_primes_cost_at_most_a_unit_as_rarely_as_the_layout_says(pair, engine, bits, bound, odds) -> None:
    layout = layout_of(bits, 64, 32, 64, bound)
    assert layout.kept_primes < len(PRODUCTS.primes)
    assert 2.0**-layout.rounding_bits <= odds
    plain, numbers = draw_matrices(layout, np.random.default_rng(12))
    _, own, theirs = share_product(pair, layout, plain, numbers, engine)
    misses = misses_of(own, theirs, exact_product(plain, numbers, bits), bits)
    assert abs(misses).max() <= 1
    # Two more, since of numbers with odds of 2^-24 one may be off.
    assert np.count_nonzero(misses) <= layout.numbers * odds + 2


def test_numbers_at_the_ends_of_their_range_are_multiplied_exactly(pair, engine) -> None:
    ends = np.array([0, 1, (1 << 59) - 1, 1 << 59, (1 << 60) - 1], np.uint64)
    layout = layout_of(60, 5, 5, 5, 1 << 59, drop_primes=False)
    plain = np.broadcast_to(centre(ends, 60), (5, 5)).copy()
    assert plain.min() == -(1 << 59)
    numbers = np.broadcast_to(ends[:, np.newaxis], (5, 5)).copy()
    _, own, theirs = share_product(pair, layout, plain, numbers, engine)
    assert not misses_of(own, theirs, exact_product(plain, numbers, 60), 60).any()


@pytest.mark.parametrize("bits", [60, 128])
def test_int64_counts_negative_numbers_mod_the_ring(pair, engine, bits) -> None:
    layout = layout_of(bits, 2, 3, 4, 1 << 20, drop_primes=False)
    plain, numbers = np.array([[1, -2, 3], [0, 5, -(1 << 20)]]), np.arange(-6, 6).reshape(3, 4)
    _, own, theirs = share_product(pair, layout, plain, numbers, engine)
    assert not misses_of(own, theirs, plain.astype(object).dot(numbers.astype(object)), bits).any()


def test_an_encrypted_matrix_meets_plain_matrices_of_any_number_of_rows(pair, engine) -> None:
    """One encryption goes to several parties, and each of them has its own number of columns."""
    layout = layout_of(60, 40, 30, 6, 1 << 19)
    plain, numbers = draw_matrices(layout, np.random.default_rng(13))
    encrypted = encrypt_matrix(pair.private, numbers, layout, engine)
    for rows in (1, 7, 40):
        answer, own = multiply_masked(prepare_matrix(plain[:rows], layout.with_rows(rows), engine), encrypted, engine)
        theirs = open_share(pair.private, answer, engine)
        assert_adds_up(own, theirs, exact_product(plain[:rows], numbers, 60), 60)


@pytest.mark.parametrize("bits", [60, 128])
def test_numbers_are_added_to_products_and_to_encrypted_matrices(pair, engine, bits) -> None:
    layout, rng = layout_of(bits, 6, 5, 3, 1 << 27, drop_primes=False), np.random.default_rng(14)
    plain, numbers = draw_matrices(layout, rng)
    _, others = draw_matrices(layout, rng)
    _, addend = draw_matrices(layout_of(bits, 1, 6, 3, 1), rng)
    encrypted = add_to_matrix(encrypt_matrix(pair.private, numbers, layout, engine), others, engine)
    products = multiply_matrices(prepare_matrix(plain, layout, engine), encrypted, addend=addend, engine=engine)
    answer, own = mask_products(products, engine)
    expected = exact_product(plain, numbers, bits) + exact_product(plain, others, bits) + integers_of(addend, bits)
    assert not misses_of(own, open_share(pair.private, answer, engine), expected, bits).any()


def test_matrices_that_do_not_fit_are_refused(pair, engine) -> None:
    layout = layout_of(60, 4, 3, 2, 100)
    encrypted = encrypt_matrix(pair.private, np.ones((3, 2), np.int64), layout, engine)
    with pytest.raises(BoundError, match="passes its bound"):
        prepare_matrix(np.full((4, 3), -101), layout, engine)
    with pytest.raises(BoundError, match="passes its bound"):
        prepare_matrix(np.full((4, 3), np.iinfo(np.int64).min), layout, engine)
    for values in (np.ones((3, 4), np.int64), np.ones((4, 3))):
        with pytest.raises(InputError, match="plain matrix refused"):
            prepare_matrix(values, layout, engine)
    for values in (np.ones((2, 3), np.int64), np.ones((3, 2)), np.ones((3, 2, 2), np.uint64)):
        with pytest.raises(InputError, match="matrix refused"):
            encrypt_matrix(pair.private, values, layout, engine)
    other = layout_of(60, 4, 3, 3, 100)
    with pytest.raises(InputError, match="do not fit each other"):
        multiply_masked(prepare_matrix(np.ones((4, 3), np.int64), other, engine), encrypted, engine)
