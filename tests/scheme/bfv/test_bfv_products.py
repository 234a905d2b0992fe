"""Products of plain columns with encrypted rows are the integers that they should be, and tell nothing else."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.scheme.bfv.conftest import N, Q, centred, coefficients_of, multiply, phase_of

from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.bfv import (
    PRODUCTS,
    MaskedProducts,
    Masks,
    Products,
    add_products,
    encrypt_rows,
    encrypt_sum,
    generate_keys,
    lay_out_products,
    mask_products,
    multiply_columns,
    open_products,
    unmask_products,
)
from hekat.scheme.bfv import masked_products as masked_module
from hekat.scheme.bfv import products as products_module
from hekat.scheme.bfv.product_layout import MIN_HIDING_BITS, ProductLayout

FEATURE_BITS, VALUE_BITS = 19, 46


def layout_of(rows: int, addends: int = 2, products: int = 4) -> ProductLayout:
    bound = (products * addends * rows) << (FEATURE_BITS + VALUE_BITS)
    return lay_out_products(PRODUCTS, bound, 1 << FEATURE_BITS, rows, row_addends=addends, products=products)


def opened(pair, products: Products, layout: ProductLayout) -> list[int]:
    masked, masks = mask_products(products, layout)
    return unmask_products(open_products(pair.private, masked, layout), masks, layout)


def draw(seed: int, rows: int, columns: int, targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(-(2**FEATURE_BITS), 2**FEATURE_BITS, (columns, rows))
    return x, rng.integers(-(2**VALUE_BITS), 2**VALUE_BITS, (rows, targets))


def exact(x: np.ndarray, d: np.ndarray) -> list[int]:
    return (x.astype(object) @ d.astype(object)).ravel().tolist()


@pytest.mark.parametrize(
    ("rows", "columns", "targets"),
    [(1, 1, 1), (1, N + 3, 1), (20, 5, 3), (1000, 15, 1), (N // 2 + 1, 2, 2), (N, 2, 1), (N + 1, 3, 2), (3 * N, 1, 1)],
)
def test_products_are_exact(pair, rows: int, columns: int, targets: int) -> None:
    x, d = draw(rows, rows, columns, targets)
    layout = layout_of(rows)
    products = multiply_columns(x, encrypt_rows(pair.public, d, layout), layout)
    assert opened(pair, products, layout) == exact(x, d)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_products_of_any_shape_of_extreme_values_and_of_sums_are_exact(pair, data) -> None:
    rows, columns = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 60))
    largest = data.draw(st.integers(rows, 500))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    most = np.array([-(2**FEATURE_BITS), 0, 2**FEATURE_BITS])
    x = rng.choice(most, (columns, rows))
    d = [rng.choice([-(2**VALUE_BITS), 0, 2**VALUE_BITS], (rows, 1)) for _ in range(2)]
    layout = layout_of(largest)
    total = products_module.add([encrypt_rows(pair.public, one, layout) for one in d])
    matrix = csr_array(x) if data.draw(st.booleans()) else x
    products = multiply_columns(matrix, total, layout)
    taken = rng.permutation(columns)[: data.draw(st.integers(1, columns))]
    expected = exact(x, d[0] + d[1])
    assert opened(pair, products.take(taken), layout) == [expected[i] for i in taken]


def test_columns_are_taken_in_pieces_where_there_are_many(pair, monkeypatch) -> None:
    monkeypatch.setattr(products_module, "POLYNOMIALS_AT_ONCE", 3)
    rows = N // 2
    x, d = draw(4, rows, 11, 2)
    layout = layout_of(rows)
    products = multiply_columns(x, encrypt_rows(pair.public, d, layout), layout)
    assert opened(pair, products, layout) == exact(x, d)


def test_single_products_and_sums_of_ones_own_are_added_wherever_they_lie(pair) -> None:
    x, d = draw(5, 30, 300)
    layout = layout_of(30)
    products = multiply_columns(x, encrypt_rows(pair.public, d, layout), layout)
    expected = exact(x, d)
    own = -(3 << 60)
    addends = [products.take(np.array([i])) for i in (299, 0, 150)] + [encrypt_sum(pair.public, own, layout)]
    assert opened(pair, add_products(addends, layout), layout) == [expected[299] + expected[0] + expected[150] + own]
    with pytest.raises(InputError, match="one by one"):
        add_products([products, addends[0]], layout)


@pytest.mark.parametrize("noise_sign", [-1, 0, 1])
def test_a_number_comes_out_of_its_mask_wherever_the_mask_lies(noise_sign: int) -> None:
    layout = layout_of(1024)
    delta, bound = layout.delta, layout.product_bound
    assert delta * bound + layout.noise_bound < Q // 2
    off = 0
    for value in (0, 1, -1, bound, -bound, bound // 3, -(bound // 3)):
        edges = [0, 1, Q - 1, Q // 2, Q - delta, delta, delta - 1, (-value * delta) % Q, (Q - 1 - value * delta) % Q]
        for mask in edges + [secrets.randbelow(Q) for _ in range(200)]:
            masked = (value * delta + noise_sign * layout.noise_bound + mask) % Q
            (got,) = unmask_products([masked // delta], Masks((mask,)), layout)
            assert abs(got - value) <= 1
            # Edges are the multiples of Delta, and q.
            exactly = (value * delta + mask) % Q
            near = min(exactly % delta, delta - exactly % delta, Q - exactly)
            assert got == value or near <= layout.noise_bound
            off += got != value
    # Only masks that were laid at an edge show noise.
    assert off <= 7 * 9
    assert noise_sign or off == 0


@pytest.mark.parametrize("rows", [10, 1000])
def test_noise_keeps_its_bound_where_all_columns_of_a_polynomial_pull_one_way(pair, engine, rows: int) -> None:
    """Columns chosen for the noise of the rows at hand, to the limit of what columns may be: the worst there is."""
    layout = layout_of(rows, addends=1, products=1)
    zero = encrypt_rows(pair.public, np.zeros((rows, 1), np.int64), layout)
    noise = np.array(phase_of(pair, zero, 0, engine))
    # The coefficient at rows - 1 takes that at i times the one at rows - 1 - i, with the sign that comes of Z^N = -1.
    index = rows - 1 - np.arange(N)
    worst = np.zeros(N, np.int64)
    worst[index % N] = np.where(index >= 0, 1, -1) * np.sign(noise).astype(np.int64) * (1 << FEATURE_BITS)
    columns = worst[: layout.columns * rows].reshape(layout.columns, rows)[:, ::-1]
    found = abs(phase_of(pair, multiply_columns(columns, zero, layout).ciphertexts, 0, engine)[rows - 1])
    print(f"noise of {found.bit_length()} bits, bound of {layout.noise_bound.bit_length()}")
    assert layout.noise_bound >> 6 < found <= layout.noise_bound


def test_noise_shows_with_the_odds_that_the_layout_says() -> None:
    layout = layout_of(1024)
    assert layout.noise_bound << layout.hiding_bits <= layout.delta < layout.noise_bound << (layout.hiding_bits + 1)
    assert layout.hiding_bits >= MIN_HIDING_BITS


def test_what_the_keys_holder_opens_is_uniform_and_never_the_same(pair) -> None:
    """One product masked again and again: the quotients fall everywhere, and no part of a message repeats."""
    x, d = draw(6, 50, 1)
    layout = layout_of(50)
    products = multiply_columns(x, encrypt_rows(pair.public, d, layout), layout)
    messages = [mask_products(products, layout) for _ in range(64)]
    found = [open_products(pair.private, masked, layout)[0] * layout.delta / Q for masked, _ in messages]
    # 64 uniform numbers miss a quarter with odds below 10^-7.
    assert all(any(k / 4 <= value < (k + 1) / 4 for value in found) for k in range(4))
    assert len({masked.c1[0].tobytes() for masked, _ in messages}) == len({m.values for _, m in messages}) == 64


def test_only_the_coefficients_asked_for_leave(pair) -> None:
    x, d = draw(7, 50, 40)
    layout = layout_of(50)
    products = multiply_columns(x, encrypt_rows(pair.public, d, layout), layout)
    masked, masks = mask_products(products.take(np.array([3, 30])), layout)
    assert masked.count == len(masks.values) == 2
    assert [c0.shape for c0 in masked.c0] == [(2, 2), (2, 2)]
    assert "values" not in repr(masks)
    assert str(masks.values[0]) not in repr(masks)


def columns_from_ratio(c1_product, c1_rows, engine) -> list[int]:
    """The attack on products that are not re-randomised: the arbiter, or who taps the line, divides c1 X by c1."""
    quotient = tuple(
        np.array(
            [
                [int(a) * pow(int(b), -1, p) % p if b else 0 for a, b in zip(x, y, strict=True)]
                for x, y, p in zip(product[0], rows[0], part.primes, strict=True)
            ],
            np.uint64,
        )
        for product, rows, part in zip(c1_product, c1_rows, PRODUCTS.parts, strict=True)
    )
    return [centred(value) for value in coefficients_of(quotient, engine)]


def test_the_zero_that_is_added_keeps_columns_from_whoever_knows_the_rows_ciphertext(pair, engine) -> None:
    x, d = draw(8, 50, 1)
    layout = layout_of(50)
    rows = encrypt_rows(pair.public, d, layout)
    products = multiply_columns(x, rows, layout)
    bare = columns_from_ratio(products.ciphertexts.c1, rows.c1, engine)
    assert bare[:50] == x[0, ::-1].tolist()
    masked, _ = mask_products(products, layout)
    hidden = columns_from_ratio(masked.c1, rows.c1, engine)
    assert sum(abs(value) < Q >> 20 for value in hidden) < 20


def test_opening_is_that_of_big_integers(pair, engine) -> None:
    x, d = draw(9, 40, 2)
    layout = layout_of(40)
    masked, _ = mask_products(multiply_columns(x, encrypt_rows(pair.public, d, layout), layout), layout)
    shared = multiply(
        coefficients_of(tuple(c[0] for c in masked.c1), engine), coefficients_of(pair.private.secret, engine)
    )
    c0 = masked_module.integers_of_residues(PRODUCTS, masked.c0)
    expected = [(shared[place] + c) % Q // layout.delta for place, c in zip(masked.places, c0, strict=True)]
    assert open_products(pair.private, masked, layout) == expected


def test_what_has_no_room_is_refused_with_the_cure() -> None:
    with pytest.raises(BoundError, match=r"lower fixed_point\.value_bits"):
        lay_out_products(PRODUCTS, 1 << 110, 1 << 30, 1000, row_addends=2, products=30)
    layout = lay_out_products(PRODUCTS, 1 << 60, 1 << 20, 1000, row_addends=2, products=30)
    assert layout.columns == N // 1000


def test_values_beyond_their_bounds_are_refused(pair) -> None:
    layout = layout_of(4)
    with pytest.raises(BoundError, match="2\\^62"):
        encrypt_rows(pair.public, np.full((4, 1), 1 << 62), layout)
    with pytest.raises(BoundError, match="2\\^40"):
        multiply_columns(np.full((1, 4), -(1 << 40)), encrypt_rows(pair.public, np.ones((4, 1), int), layout), layout)
    with pytest.raises(BoundError, match="does not fit"):
        encrypt_sum(pair.public, layout.product_bound + 1, layout)


def test_answers_that_are_no_product_under_their_mask_are_refused(pair) -> None:
    layout = layout_of(4)
    with pytest.raises(InputError, match="do not fit"):
        unmask_products([1, 2], Masks((1,)), layout)
    tight = ProductLayout(PRODUCTS, 4, (1 << 40) + 1, layout.noise_bound)
    with pytest.raises(InputError, match="no product under its mask"):
        unmask_products([Q // 2 // tight.delta], Masks((0,)), tight)


def test_masked_products_that_do_not_fit_are_refused(pair) -> None:
    x, d = draw(10, 20, 2)
    layout = layout_of(20)
    good, _ = mask_products(multiply_columns(x, encrypt_rows(pair.public, d, layout), layout), layout)
    for bad in (
        {"holders": np.array([0, 1])},
        {"places": np.array([0, N])},
        {"places": np.array([-1, 0])},
        {"holders": np.array([0])},
        {"c1": tuple(np.concatenate([c, c]) for c in good.c1)},
        {"c0": tuple(c + np.uint64(2**50) for c in good.c0)},
        {"c1": tuple(c[..., :-1] for c in good.c1)},
    ):
        fields = {name: getattr(good, name) for name in ("key", "c1", "c0", "holders", "places")} | bad
        with pytest.raises(InputError, match="masked products"):
            MaskedProducts(**fields)


@pytest.mark.parametrize("bits", [2, 3, 8, 84])
@pytest.mark.parametrize("above", [-1, 0, 1])
def test_a_carry_at_the_bound_stays_one_unit(bits: int, above: int) -> None:
    bound = (1 << bits) + above
    layout = ProductLayout(PRODUCTS, 4, bound, 1)
    for value, noise in ((bound, 1), (-bound, -1)):
        # The mask that brings the number to the edge of a multiple of Delta.
        mask = ((1 << 100) * layout.delta - value * layout.delta - (noise > 0)) % Q
        (got,) = unmask_products([(value * layout.delta + noise + mask) % Q // layout.delta], Masks((mask,)), layout)
        assert abs(got - value) <= 1


def test_columns_and_keys_that_do_not_belong_to_the_rows_are_refused(pair) -> None:
    layout = layout_of(N)
    rows = encrypt_rows(pair.public, np.ones((N + 5, 1), np.int64), layout)
    three = rows[np.array([0, 1, 1])]
    for columns, others in ((np.ones((1, N + 5), int), three), (np.ones((1, N)), rows), (np.ones((0, N), int), rows)):
        with pytest.raises(InputError, match="columns do not fit encrypted rows"):
            multiply_columns(columns, others, layout)
    masked, _ = mask_products(multiply_columns(np.ones((1, N + 5), int), rows, layout), layout)
    with pytest.raises(KeyRefusedError, match="under another key"):
        open_products(generate_keys().private, masked, layout)


def test_masks_are_laid_in_pieces_where_there_are_many_ciphertexts(pair, monkeypatch) -> None:
    monkeypatch.setattr(masked_module, "POLYNOMIALS_AT_ONCE", 2)
    x, d = draw(11, N // 2, 9)
    layout = layout_of(N // 2)
    products = multiply_columns(x, encrypt_rows(pair.public, d, layout), layout)
    order = np.array([8, 0, 3, 4, 7, 1])
    expected = exact(x, d)
    assert opened(pair, products.take(order), layout) == [expected[i] for i in order]
