"""Noise keeps its bounds, the room between plaintexts is used to its end and not beyond, and odds are what they say."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, floor, log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheme.bin_sums.conftest import (
    RANGES,
    centred,
    draw_exchange,
    integers_of,
    layout_of,
    multiply,
    phases_of,
    sum_exchange,
)

from hekat.engine.ring.parameters import Ring
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.bin_sums import BINS, BinSumParameters, SumLayout, generate_keys
from hekat.scheme.bin_sums import keys as keys_module
from hekat.scheme.bin_sums.conceal import randomise, round_elements
from hekat.scheme.bin_sums.noise import TAIL, max_squared_norm, rounding_noise, sum_noise, sum_noise_proxy
from hekat.scheme.bin_sums.opening import quotients

N, Q = BINS.degree, BINS.modulus


def layouts() -> st.SearchStrategy[SumLayout]:
    """Layouts of all widths of answers, near the limits of the room too."""

    def build(window_bits: int, rows: int, low: int, span: int) -> SumLayout:
        return SumLayout(BINS, 1 << window_bits, rows, ((low, low + span),))

    limited = st.tuples(st.integers(1, 2**20), st.integers(1, 2**31)).filter(lambda x: x[0] * x[1] < 2**31)
    return st.builds(
        lambda bits, low, sizes: build(bits, sizes[0], low, sizes[1]),
        st.integers(0, 7),
        st.integers(-(2**20), 2**20),
        limited,
    )


def sent_phase(layout: SumLayout, value: int, flood: int, noise: int, rounding: Fraction) -> int:
    """What a guest has mod 2^w of Delta m + f + noise mod q, with so much rounding beside the exact quotient."""
    bits = layout.sent_bits
    phase = (layout.deltas[0] * value + flood + noise) % Q
    # The integer that is next to the bound, and not beyond it.
    exact = Fraction(phase << bits, Q) + rounding
    return (floor(exact) if rounding > 0 else ceil(exact)) % (1 << bits)


@settings(max_examples=150, deadline=None)
@given(layouts(), st.integers(0, 2**64), st.data())
def test_at_the_bound_of_noise_flooding_and_rounding_every_sum_opens(layout, position, data) -> None:
    low, high = (x * layout.rows for x in layout.ranges[0])
    values = {low, high, low + position % (high - low + 1), max(low, min(high, 0))}
    edge = rounding_noise(N, layout.sent_bits)
    for value in values:
        for flood in (0, layout.floods[0] - 1):
            for noise in (-layout.noise, layout.noise):
                for rounding in (-edge, edge):
                    phase = sent_phase(layout, value, flood, noise, Fraction(rounding))
                    opened = quotients(np.array([phase], np.uint64), layout, 0)
                    assert opened.tolist() == [value]


@settings(max_examples=50, deadline=None)
@given(layouts())
def test_the_room_is_used_up(layout) -> None:
    """All of Delta but the bounds is flood, and flood that leaves no room for them opens to another sum."""
    delta, flood = layout.deltas[0], layout.floods[0]
    edge = rounding_noise(N, layout.sent_bits)
    bounds = 2 * layout.noise + 2 * (edge * Q >> layout.sent_bits)
    # Beside the bounds: a prime, t_c on both sides, and four units of the rounded numbers.
    assert 0 <= delta - flood - bounds <= BINS.ring.primes[1] + 4 * layout.counts[0] + (4 * Q >> layout.sent_bits)
    assert 2 * flood >= delta
    too_high = sent_phase(layout, 0, delta, layout.noise, Fraction(edge))
    assert quotients(np.array([too_high], np.uint64), layout, 0).tolist() != [0]


def test_noise_of_real_sums_keeps_its_bound_and_its_variance(toy, engine) -> None:
    pair = generate_keys(2, toy, engine)
    exchange = draw_exchange(1, [2000], [16], 1)
    layout = layout_of(exchange, 16, toy)
    sums = sum_exchange(pair, exchange, layout, engine)[-1]
    expected = exchange.expected()
    noises = []
    for _ in range(20):
        c1, c0 = randomise(sums.c1[:, 0], sums.c0[:, 0], np.array([16]), pair.public, layout, engine)
        secrets = [integers_of(x, toy.ring) for x in engine.ring_intt(toy.ring, pair.private.secrets)]
        for component, secret in enumerate(secrets):
            shared = multiply(integers_of(c1[0], toy.ring), secret, toy.modulus)
            own = integers_of(np.ascontiguousarray(c0[:, component].T), toy.ring)
            noises += [
                centred(x + y - layout.deltas[component] * int(m), toy.modulus)
                for x, y, m in zip(own, shared, expected[:, component], strict=False)
            ]
    largest, mean_square = max(map(abs, noises)), sum(x * x for x in noises) / len(noises)
    print(f"largest {largest}, bound {layout.noise}, deviation {sqrt(mean_square):.0f}")
    assert largest <= layout.noise
    # Errors of 2000 rows less one in six, and those of the new zero; 640 numbers are within a factor of two of it.
    variance = 10.5 * (2000 * 5 / 6 + 2 * 10.5 * toy.degree)
    assert variance / 2 < mean_square < 2 * variance < 2 * sum_noise_proxy(toy.degree, layout.terms)


@pytest.mark.parametrize("bits", [32, 40, 48])
def test_rounding_keeps_its_bound(pair, engine, bits) -> None:
    """All coefficients of random elements: exact quotients beside what is sent, times a real secret."""
    ring = BINS.ring
    elements = engine.expand_uniform(ring, bytes([bits]) * 32, 0, 2)
    sent = round_elements(ring, elements, bits, engine)
    assert sent.max() < 1 << bits
    exact = [[Fraction(x << bits, Q) for x in integers_of(element, ring)] for element in elements]
    errors = np.array(
        [
            [float((int(x) - y + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)) for x, y in zip(*pairs, strict=True)]
            for pairs in zip(sent, exact, strict=True)
        ]
    )
    assert np.abs(errors).max() <= 0.5 + 2.0 ** (bits - 50)
    # Uniform errors of deviation 1 / sqrt(12), without bias.
    assert abs(errors.mean()) < 0.02
    assert 0.27 < errors.std() < 0.31
    secret = [centred(x, Q) for x in integers_of(engine.ring_intt(ring, pair.private.secrets)[0], ring)]
    spread = np.abs(np.convolve(errors[1], np.array(secret, float))).max()
    assert spread <= rounding_noise(N, bits)


def test_bounds_are_the_printed_ones() -> None:
    """The figures that docs/spec/bin-sums.md prints."""
    assert sum_noise(4096, 30_000 * 8) == 17_881
    assert [rounding_noise(4096, bits) for bits in (32, 40, 48)] == [1054, 1070, 5150]
    layout = SumLayout(BINS, 8, 30_000, RANGES)
    assert (layout.sent_bits, layout.deltas[0].bit_length(), layout.floods[0].bit_length()) == (32, 78, 77)
    assert 65.8 < layout.flood_bits < 65.9
    assert 44.7 < layout.run_bits(2_300_000) < 44.8
    assert 19.2 < layout.opened_bits < 19.3


def test_tails_of_sums_of_errors_are_as_thin_as_the_proof_says() -> None:
    """Exact tails of sums of CBD(21), from the binomial: P(|sum of n| > sqrt(90 proxy)) < 2^-63 for every n."""
    for terms in (1, 2, 5, 20):
        coins = 42 * terms
        limit = sqrt(TAIL * 10.5 * terms)
        tail = sum(comb(coins, k) for k in range(coins + 1) if abs(k - coins // 2) > limit)
        assert Fraction(tail, 2**coins) < Fraction(1, 2**63)


def test_keys_beyond_their_norm_are_drawn_again(engine, monkeypatch) -> None:
    draws = []

    class Wide:
        def sample_cbd(self, key, first, count, degree):
            drawn = engine.sample_cbd(key, first, count, degree)
            draws.append(key)
            if len(draws) == 1:
                drawn[1] = 4
            return drawn

    short = keys_module._draw_short(3, N, Wide())
    assert len(set(draws)) == 2
    assert (np.square(short, dtype=np.int64).sum(axis=1) <= max_squared_norm(N)).all()
    assert max_squared_norm(N) < 16 * N


def test_sums_without_room_are_refused_with_a_cure() -> None:
    with pytest.raises(BoundError, match="no room for sums") as caught:
        SumLayout(BINS, 8, 2**20, ((0, 2**20),))
    assert "gradient_bits" in caught.value.cure
    # The cure works.
    assert SumLayout(BINS, 8, 2**20, ((0, 2**5),)).sent_bits == 40


def test_layouts_of_impossible_facts_are_refused() -> None:
    for window in (0, 3, 8192, -8):
        with pytest.raises(InputError, match="window"):
            SumLayout(BINS, window, 10, RANGES)
    with pytest.raises(InputError, match="rows"):
        SumLayout(BINS, 8, 0, RANGES)
    for ranges in ((), ((1, 1),), ((0, 1), (1, 0))):
        with pytest.raises(InputError, match="ranges"):
            SumLayout(BINS, 8, 10, ranges)


def test_answers_that_show_a_lying_guest_too_much_are_refused() -> None:
    layout = SumLayout(BINS, 32, 30_000, RANGES)
    assert layout.window * layout.components * layout.opened_bits < 2 * N
    with pytest.raises(BoundError, match="lying guest") as caught:
        SumLayout(BINS, 512, 30_000, RANGES)
    assert "smaller window" in caught.value.cure


def test_runs_with_too_large_odds_are_refused_with_a_cure() -> None:
    layout = SumLayout(BINS, 8, 2**19, ((0, 2**11),))
    layout.check_run(2**10)
    with pytest.raises(BoundError, match="noise of sums would show") as caught:
        layout.check_run(2**30)
    assert "gradient_bits" in caught.value.cure
    assert layout.run_bits(2**30) == pytest.approx(layout.flood_bits - 30)
    assert layout.flood_bits == pytest.approx(
        log2(layout.floods[0] / sqrt(10.5 * (2**22 + 24 * N))),
    )


def test_sets_below_the_floor_are_refused() -> None:
    primes = BINS.ring.primes
    with pytest.raises(KeyRefusedError, match="protects too little"):
        BinSumParameters("small", Ring(2048, primes))
    for wrong in (primes[::-1], primes[:1], (1125899906826241, primes[0])):
        with pytest.raises(InputError, match="primes of a ring refused"):
            BinSumParameters("other", Ring(4096, wrong))


def test_noise_holds_one_error_for_every_digit(toy, engine) -> None:
    """Noise grows with the digits of a window, not with rows alone: the bound counts them all."""
    pair = generate_keys(2, toy, engine)
    squares = []
    for columns in (1, 16):
        exchange = draw_exchange(4, [1000], [16], columns)
        layout, found = layout_of(exchange, 16, toy), []
        for _ in range(8):
            sums = sum_exchange(pair, exchange, layout, engine)[-1]
            phases = phases_of(pair, sums, engine)
            for phase, delta, expected in zip(phases, layout.deltas, exchange.expected().T, strict=True):
                found += [centred(x - delta * m, toy.modulus) for x, m in zip(phase, expected.tolist(), strict=False)]
        squares.append(sum(x * x for x in found) / len(found))
        assert max(map(abs, found)) <= layout.noise
    assert 4 < squares[1] / squares[0] < 64
