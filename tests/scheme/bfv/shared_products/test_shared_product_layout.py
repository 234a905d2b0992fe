"""Blocks cost the fewest bytes, layouts bound the noise that products really have, and refuse what has no room."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheme.bfv.conftest import Q, centred

from hekat.errors import BoundError, InputError
from hekat.scheme.bfv import PRODUCTS
from hekat.scheme.bfv.elements import integers_of_residues, multiply_slots, transform, transform_back
from hekat.scheme.bfv.shared_products import (
    Blocks,
    Shape,
    encrypt_matrix,
    lay_out_matrices,
    multiply_matrices,
    prepare_matrix,
)
from hekat.scheme.bfv.shared_products.blocks import choose_blocks
from hekat.scheme.bfv.shared_products.dropped_primes import drop_primes
from hekat.scheme.bfv.shared_products.encoding import encode
from hekat.scheme.bfv.shared_products.layout import first_primes, rounding_noise
from hekat.scheme.bfv.shared_products.places import take_products
from hekat.scheme.bfv.shared_products.residues import add

FACTS = {"bits": 60, "rows": 1024, "inner": 32, "columns": 32, "plain_bound": 1 << 19, "opened": True}


def integers(parameters, residues) -> list[int]:
    """Numbers mod q of residues, (primes of the part, count) a part."""
    if parameters is PRODUCTS:
        return integers_of_residues(PRODUCTS, tuple(np.ascontiguousarray(x.T) for x in residues))
    primes, modulus = parameters.primes, parameters.modulus
    basis = [modulus // p * pow(modulus // p, -1, p) for p in primes]
    return [
        sum(b * r for b, r in zip(basis, row, strict=True)) % modulus for row in np.concatenate(residues).T.tolist()
    ]


@pytest.mark.parametrize(
    ("facts", "inputs", "answers", "primes"),
    [
        pytest.param({}, 8, 16, 2, id="weights-times-activations"),
        pytest.param({"rows": 32, "columns": 1024, "plain_bound": 1 << 59, "uses": 200}, 32, 4, 2, id="kept"),
        pytest.param({"bits": 128, "rows": 32, "inner": 1024, "opened": False}, 8, 16, 3, id="gradient"),
        pytest.param({"bits": 128, "rows": 90, "inner": 90, "columns": 1, "opened": False}, 1, 1, 3, id="model"),
    ],
)
def test_the_products_of_a_split_network_take_as_many_ciphertexts_as_planned(facts, inputs, answers, primes) -> None:
    layout = lay_out_matrices(**FACTS | facts)
    assert (layout.blocks.inputs(layout.shape), layout.blocks.answers(layout.shape)) == (inputs, answers)
    assert layout.kept_primes == primes
    assert layout.input_bytes == inputs * PRODUCTS.polynomial_bytes
    assert layout.answer_bytes == 6 * primes * (answers * PRODUCTS.degree + layout.numbers)


@given(
    shape=st.tuples(*[st.integers(1, 9)] * 3), degree=st.integers(1, 24), weights=st.tuples(*[st.integers(1, 9)] * 2)
)
def test_no_blocks_take_fewer_bytes(shape, degree, weights) -> None:
    shape = Shape(*shape)
    chosen = choose_blocks(degree, shape, input_bytes=weights[0], answer_bytes=weights[1], fits=lambda _: True)

    def bytes_of(blocks: Blocks) -> int:
        return weights[0] * blocks.inputs(shape) + weights[1] * blocks.answers(shape)

    possible = [Blocks(*sizes) for sizes in product(range(1, 10), repeat=3) if sizes[0] * sizes[1] * sizes[2] <= degree]
    assert chosen.rows * chosen.inner * chosen.columns <= degree
    assert chosen.columns % chosen.stride == degree % chosen.stride == 0
    assert bytes_of(chosen) == min(map(bytes_of, possible))


@pytest.mark.parametrize(("bits", "bound"), [(60, 1 << 59), (128, 1 << 27)])
def test_noise_stays_below_its_bound_and_not_far_below(pair, engine, bits, bound) -> None:
    """With the largest plain integers. Errors are random, so a bound for all of them lies above: by 12 bits at most."""
    layout = lay_out_matrices(bits=bits, rows=20, inner=20, columns=5, plain_bound=bound, opened=False)
    rng = np.random.default_rng(21)
    plain, numbers = np.full((20, 20), -bound), rng.integers(0, 1 << 62, (20, 5))
    encrypted = encrypt_matrix(pair.private, numbers, layout, engine)
    products = multiply_matrices(prepare_matrix(plain, layout, engine), encrypted, engine=engine)
    shared = multiply_slots(PRODUCTS, transform(PRODUCTS, products.c1, engine), pair.private.secret, engine)
    at_places = tuple(take_products(x, layout) for x in transform_back(PRODUCTS, shared, engine))
    phases = integers(PRODUCTS, add(PRODUCTS, products.c0, at_places))
    expected = (plain.astype(object).dot(numbers.astype(object)) % (1 << bits)).ravel()
    noise = [abs(centred(x - (Q * y >> bits))) for x, y in zip(phases, expected, strict=True)]
    assert layout.noise_bound >> 12 < max(noise) <= layout.noise_bound


@given(bits=st.sampled_from([1, 31, 32, 33, 60, 64, 65, 96, 127, 128]), data=st.data())
def test_a_number_becomes_the_nearest_integer_to_its_fraction_of_the_modulus(engine, bits, data) -> None:
    t, half = 1 << bits, 1 << (bits - 1)
    values = data.draw(st.lists(st.sampled_from([0, 1, half - 1, half, t - 1]) | st.integers(0, t - 1), min_size=1))
    limbs = np.array([[x & (1 << 64) - 1, x >> 64] for x in values], np.uint64)
    found = integers(PRODUCTS, encode(PRODUCTS, limbs if bits > 64 else limbs[:, 0], bits, engine))
    # t x - q value, from [-t q / 2, t q / 2): at most half of t.
    off = [(t * x - Q * value + t * Q // 2) % (t * Q) - t * Q // 2 for value, x in zip(values, found, strict=True)]
    assert max(map(abs, off)) <= half


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_dropped_primes_leave_the_nearest_number(engine, kept) -> None:
    rng = np.random.default_rng(22)
    small = first_primes(PRODUCTS, kept)
    ends = [0, 1, Q - 1, Q // 2, Q // 2 + 1, small.modulus, Q - Q // small.modulus // 2]
    values = ends + [int.from_bytes(rng.bytes(24), "little") % Q for _ in range(PRODUCTS.degree - len(ends))]
    elements = tuple(
        np.array([[value % prime for value in values] for prime in part.primes], np.uint64)[np.newaxis]
        for part in PRODUCTS.parts
    )
    found = integers(small, tuple(x[0] for x in drop_primes(PRODUCTS, elements, kept, engine)))
    # q x - q' value, from [-q q' / 2, q q' / 2): at most half of q, and what the drops before the last one add.
    whole = Q * small.modulus
    off = [
        (Q * x - small.modulus * value + whole // 2) % whole - whole // 2
        for value, x in zip(values, found, strict=True)
    ]
    assert max(map(abs, off)) <= Q // 2 + (Q >> 46)


def test_a_product_without_room_is_refused_with_what_would_fit() -> None:
    gradient = FACTS | {"bits": 128, "opened": False}
    with pytest.raises(BoundError, match="no room") as refused:
        lay_out_matrices(**gradient | {"plain_bound": 1 << 55})
    assert "bits" in refused.value.expected
    assert "fewer fraction bits" in refused.value.cure
    # What nobody opens may show a noise that would tell too much where somebody opens it.
    assert lay_out_matrices(**gradient).hiding_bits < 40
    with pytest.raises(BoundError):
        lay_out_matrices(**gradient | {"opened": True})
    room = lay_out_matrices(**gradient | {"plain_bound": 1 << 40})
    assert 4 * room.noise_bound < Q >> 128
    with pytest.raises(BoundError):
        lay_out_matrices(**gradient | {"plain_bound": 1 << 40, "addends": 1 << 20})


def test_dropped_primes_show_rarely_where_the_sum_of_shares_is_opened() -> None:
    """The attack: the plain matrix's owner knows what it rounds off. A unit that this adds to an opened number tells
    whether the secret key times a known polynomial is above a known number; thousands of these would tell the key."""
    for bits in (30, 60, 64, 90, 128):
        facts = FACTS | {"bits": bits, "plain_bound": 1, "rows": 1, "inner": 1, "columns": 1}
        layouts = [lay_out_matrices(**facts | {"opened": opened}) for opened in (True, False)]
        assert [
            layout.rounding_bits is None or layout.rounding_bits >= least
            for layout, least in zip(layouts, (20, 4), strict=True)
        ] == [True, True]
    assert [layout.kept_primes for layout in layouts] == [4, 3]


def test_a_bound_leaves_room_for_what_dropped_primes_add() -> None:
    """The last plain bound that is taken and the first that is refused lie one apart: both sides of a quarter."""
    facts = FACTS | {"bits": 128, "opened": False, "rows": 1, "inner": 1, "columns": 1}
    low, high = 1, 1 << 62
    while high - low > 1:
        middle = (low + high) // 2
        try:
            lay_out_matrices(**facts | {"plain_bound": middle})
            low = middle
        except BoundError:
            high = middle
    layout = lay_out_matrices(**facts | {"plain_bound": low})
    dropped = rounding_noise(PRODUCTS.degree) * (Q // layout.kept.modulus)
    assert 0.249 * (Q >> 128) < layout.noise_bound + dropped <= 0.25 * (Q >> 128)


@pytest.mark.parametrize(
    "change",
    [{"bits": 129}, {"plain_bound": 1 << 62}, *({fact: 0} for fact in (*FACTS, "uses", "addends") if fact != "opened")],
)
def test_impossible_facts_are_refused(change) -> None:
    with pytest.raises(InputError, match="product of matrices refused"):
        lay_out_matrices(**FACTS | change)
