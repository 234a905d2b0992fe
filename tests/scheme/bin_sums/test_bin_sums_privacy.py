"""What each side can make of what it gets: attacks that succeed without a rule of the scheme, and fail with it."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from tests.scheme.bin_sums.conftest import (
    RANGES,
    Exchange,
    centred,
    draw_exchange,
    integers_of,
    layout_of,
    sum_exchange,
)

from hekat.errors import KeyRefusedError
from hekat.scheme.bin_sums import (
    BINS,
    Answers,
    BinSummer,
    BinSums,
    SumLayout,
    conceal,
    encrypt_rows,
    generate_keys,
)
from hekat.scheme.bin_sums import rows as rows_module
from hekat.scheme.bin_sums.conceal import flood, randomise
from hekat.scheme.bin_sums.keys import SEED_BYTES
from hekat.scheme.bin_sums.opening import _shared

TRIALS = 64
ROWS, BIN_COUNT = 32_768, 64


@pytest.fixture(scope="module")
def two_binnings(pair, engine) -> tuple[SumLayout, list[BinSums], np.ndarray]:
    """One encryption of equal rows, summed by two binnings with equal histograms, and the sums that both open to."""
    rng = np.random.default_rng(1)
    values = np.tile(np.array([[-3, 5]], np.int64), (ROWS, 1))
    first = rng.integers(0, BIN_COUNT, (1, ROWS)).astype(np.int32)
    binnings = [first, rng.permuted(first, axis=1)]
    layout = SumLayout(BINS, BIN_COUNT, ROWS, RANGES)
    starts, bin_counts = np.array([0, ROWS]), np.array([BIN_COUNT])
    summers = [BinSummer(pair.public, layout, starts, bin_counts, engine) for _ in binnings]
    for start in range(0, ROWS, layout.rows_at_once):
        at = slice(start, start + layout.rows_at_once)
        block = encrypt_rows(pair.private, values[at], layout, engine)
        sums = [summer.add(block, digits[:, at]) for summer, digits in zip(summers, binnings, strict=True)]
    expected = Exchange(values, first, starts, bin_counts).expected()
    assert np.array_equal(expected, Exchange(values, binnings[1], starts, bin_counts).expected())
    assert (binnings[0] != binnings[1]).mean() > 0.9
    return layout, sums, expected


def noise_of(pair, layout: SumLayout, c1, c0, expected: np.ndarray, engine) -> np.ndarray:
    """The phases of c1 (primes, N) and c0 (numbers, C, primes), less Delta times the sums, as the guest computes them
    mod q: (numbers, C)."""
    ring = BINS.ring
    products = engine.ring_mul(ring, engine.ring_ntt(ring, c1), pair.private.secrets)
    shared = engine.ring_intt(ring, products)[..., :BIN_COUNT].transpose(2, 0, 1)
    phases = (c0 + shared) % np.array(ring.primes, np.uint64)
    flat = integers_of(np.ascontiguousarray(phases.reshape(-1, 2).T), ring)
    plain = (int(m) * delta for row in expected for m, delta in zip(row, layout.deltas, strict=True))
    noise = [centred(x - y, BINS.modulus) for x, y in zip(flat, plain, strict=True)]
    return np.array(noise, float).reshape(expected.shape)


def guesses_right(guesses_first: np.ndarray, truth: np.ndarray) -> int:
    return int((guesses_first == (truth == 0)).sum())


def test_a_guest_that_knows_every_error_tells_binnings_apart_only_without_flooding(pair, engine, two_binnings) -> None:
    """The guest holds s and all errors, so it computes the noise that each of two binnings would leave; it guesses the
    one whose noise is nearer to what it sees."""
    layout, sums, expected = two_binnings
    candidates = []
    for one in sums:
        plain = engine.ring_intt(BINS.ring, one.c1[0, 0])
        c0 = one.c0[0, 0, :, :, :BIN_COUNT].transpose(2, 0, 1)
        candidates.append(noise_of(pair, layout, plain, c0, expected, engine))
    apart, middle = candidates[0] - candidates[1], (candidates[0] + candidates[1]) / 2
    truth = np.random.default_rng(2).integers(0, 2, TRIALS)
    without, with_flooding, as_sent = [], [], []
    for binning in truth:
        one = sums[binning]
        c1, c0 = randomise(one.c1[:, 0], one.c0[:, 0], np.array([BIN_COUNT]), pair.public, layout, engine)
        flooded = flood(c0, layout, engine).swapaxes(0, 1).reshape(2, -1)[:, : c0[..., 0].size]
        for numbers, guesses in ((c0, without), (flooded.T.reshape(c0.shape), with_flooding)):
            seen = noise_of(pair, layout, c1[0], numbers, expected, engine) - middle
            centre = 0.0 if guesses is without else np.array(layout.floods) / 2
            guesses.append(float(((seen - centre) * apart).sum()) > 0)
        as_sent.append(float(((sent_noise(pair, conceal(one, layout, engine), expected, engine)) * apart).sum()) > 0)
    right = [guesses_right(np.array(guesses), truth) for guesses in (without, with_flooding, as_sent)]
    print(f"right of {TRIALS}: {right[0]} without flooding, {right[1]} with it, {right[2]} as sent")
    assert right[0] >= TRIALS - 2
    # 8 to 56 of 64 fair coins, but for odds of 2^-30.
    assert all(8 <= count <= TRIALS - 8 for count in right[1:])


def sent_noise(pair, answers: Answers, expected: np.ndarray, engine) -> np.ndarray:
    """What the guest sees beside the sums in what is sent, about its middle, in units of what is sent."""
    layout, bits = answers.layout, answers.layout.sent_bits
    phases = answers.c0 + _shared(pair.private, answers, layout, engine)
    steps = [[int(m) * delta for m, delta in zip(row, layout.deltas, strict=True)] for row in expected]
    plain = np.array([[(x << bits) // BINS.modulus % (1 << bits) for x in row] for row in steps], np.uint64)
    seen = ((phases - plain) & np.uint64((1 << bits) - 1)).astype(float)
    return seen - np.array(layout.floods, float) / 2 * 2.0**bits / BINS.modulus


def test_flooding_is_uniform_to_its_end(pair, engine, two_binnings) -> None:
    """Of thousands of numbers the least and the largest are within a hundredth of the ends, the mean in the middle."""
    layout = two_binnings[0]
    count = 4000
    numbers = np.zeros((count, 2, 2), np.uint64)
    flooded = flood(numbers, layout, engine).swapaxes(0, 1).reshape(2, -1)[:, : 2 * count]
    values = np.array(integers_of(flooded, BINS.ring), object).reshape(count, 2)
    for drawn, bound in zip(values.T, layout.floods, strict=True):
        assert max(drawn) < bound
        share = np.array([float(x / bound) for x in drawn])
        assert (share.min() < 0.01, share.max() > 0.99) == (True, True)
        assert abs(share.mean() - 0.5) < 0.05
        # Low bits as well: f is no multiple of anything.
        assert abs(np.mean([int(x) % 2 for x in drawn]) - 0.5) < 0.08


def test_equal_sums_are_sent_differently_every_time_and_c1_shows_nothing(pair, engine, two_binnings) -> None:
    """The second half would be a known linear function of the digits: a new zero moves every coefficient of it."""
    layout, sums, _ = two_binnings
    sent = [conceal(sums[0], layout, engine) for _ in range(2)]
    distance = (sent[0].c1 - sent[1].c1) & np.uint64((1 << layout.sent_bits) - 1)
    share = distance.astype(float) / 2.0**layout.sent_bits
    # Uniform: the mean of 4096 is within a tenth of the middle, and every tenth is filled, but for tiny odds.
    assert abs(share.mean() - 0.5) < 0.05
    assert np.histogram(share, 10, (0, 1))[0].min() > 200
    assert (sent[0].c0 != sent[1].c0).all()


def test_a_guest_divides_c1_by_its_a_only_where_no_zero_was_added(pair, engine) -> None:
    """c1 of one group is a P: without the new zero the guest reads P, which lists the digit of every row."""
    ring = BINS.ring
    exchange = draw_exchange(9, [500], [8], 1)
    layout = layout_of(exchange, 8)
    block = encrypt_rows(pair.private, exchange.values, layout, engine)
    summer = BinSummer(pair.public, layout, exchange.starts, exchange.bin_counts, engine)
    sums = summer.add(block, exchange.digits)
    a = block.second_halves(engine)[0, 0]
    inverse = np.array([[pow(int(x), -1, p) for x in row] for row, p in zip(a, ring.primes, strict=True)], np.uint64)
    here = np.flatnonzero(exchange.digits[0] >= 0)
    places = exchange.digits[0, here] - 8 * here
    expected = np.zeros(BINS.degree, np.int64)
    expected[places % BINS.degree] = np.where(places < 0, -1, 1)

    def divided(c1: np.ndarray) -> list[int]:
        quotient = engine.ring_intt(ring, engine.ring_mul(ring, c1, inverse))
        return [centred(x, BINS.modulus) for x in integers_of(quotient, ring)]

    assert divided(sums.c1[0, 0]) == expected.tolist()
    c1, _ = randomise(sums.c1[:, 0], sums.c0[:, 0], np.array([8]), pair.public, layout, engine)
    assert min(map(abs, divided(engine.ring_ntt(ring, c1[0])))) > 1


def test_only_the_bins_are_sent(pair, engine) -> None:
    """Other coefficients hold sums of single rows: of the first half one number a bin and component leaves."""
    exchange = draw_exchange(3, [300, 50], [11, 3], 1)
    layout = layout_of(exchange, 8)
    (sums,) = sum_exchange(pair, exchange, layout, engine)
    sent = conceal(sums, layout, engine)
    assert sent.c0.shape == (11 + 3, 2)
    assert sent.c1.shape == (2 + 1, BINS.degree)


def differences(pair, layout: SumLayout, blocks, engine) -> np.ndarray:
    """What anybody computes from two blocks: c0 less c0, and where it is small beside q, the difference of the rows."""
    ring = BINS.ring
    difference = engine.ring_sub(ring, blocks[0].c0, blocks[1].c0)[0]
    places = np.ascontiguousarray(difference[..., :: layout.window])
    found = [
        [round(centred(x, BINS.modulus) / delta) for x in integers_of(part, ring)]
        for part, delta in zip(places, layout.deltas, strict=True)
    ]
    return np.array(found).T


def test_no_two_blocks_share_an_a_and_nobody_can_make_them(pair, engine, monkeypatch) -> None:
    """With one seed for two blocks their difference shows the difference of all gradients, without any key."""
    rng = np.random.default_rng(4)
    layout = SumLayout(BINS, 8, 512, RANGES)
    values = [np.stack([rng.integers(-8, 9, 512), rng.integers(0, 17, 512)], axis=1) for _ in range(2)]
    blocks = [encrypt_rows(pair.private, one, layout, engine) for one in values]
    assert not np.array_equal(differences(pair, layout, blocks, engine), values[0] - values[1])
    many = [encrypt_rows(pair.private, values[0][:1], layout, engine) for _ in range(20)] + blocks
    assert len({block.seed for block in many}) == len({block.c0.tobytes() for block in many}) == 22
    uniform = [x.tobytes() for block in many for x in block.second_halves(engine)[:, 0]]
    assert len({*uniform, pair.public.a.tobytes()}) == len(uniform) + 1
    assert set(inspect.signature(encrypt_rows).parameters) == {"key", "values", "layout", "engine"}

    draws = iter(range(100))

    class Repeating:
        @staticmethod
        def urandom(count: int) -> bytes:
            # Errors first, fresh; then the seed, always the same.
            number = next(draws)
            return bytes([number % 2 and 7]) * (count - 1) + bytes([0 if number % 2 else number])

    monkeypatch.setattr(rows_module, "os", Repeating)
    reused = [encrypt_rows(pair.private, one, layout, engine) for one in values]
    assert reused[0].seed == reused[1].seed
    assert np.array_equal(differences(pair, layout, reused, engine), values[0] - values[1])


def test_no_two_keys_share_a_secret_an_error_or_a_seed(engine) -> None:
    pairs = [generate_keys(2, engine=engine) for _ in range(3)]
    assert len({pair.public.seed for pair in pairs}) == 3
    assert len({x.tobytes() for pair in pairs for x in pair.private.secrets}) == 6
    assert len({x.tobytes() for pair in pairs for x in pair.public.b}) == 6
    assert all(len(pair.public.seed) == SEED_BYTES for pair in pairs)


def test_a_public_pair_holds_small_errors_under_each_secret(pair, engine) -> None:
    ring = BINS.ring
    products = engine.ring_mul(ring, pair.public.a, pair.private.secrets)
    for x in engine.ring_intt(ring, engine.ring_add(ring, pair.public.b, products)):
        errors = [centred(value, BINS.modulus) for value in integers_of(x, ring)]
        assert 0 < max(map(abs, errors)) <= 21


def test_secrets_and_sums_show_and_pickle_nothing(pair, engine, two_binnings) -> None:
    layout, sums, _ = two_binnings
    secret = (pair.private.secrets[0, 0, :8], sums[0].c1[0, 0, 0])
    numbers = {str(int(x)) for hidden in secret for x in hidden}
    shown = repr(pair.private) + repr(pair) + repr(sums[0]) + repr(conceal(sums[0], layout, engine))
    assert not any(number in shown for number in numbers)
    with pytest.raises(KeyRefusedError, match="not pickled"):
        pickle.dumps(pair.private)
    assert pickle.loads(pickle.dumps(pair.public)) == pair.public
