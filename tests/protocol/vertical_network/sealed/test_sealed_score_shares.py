"""Scores of a sealed network: what opens is the score to a told unit, and nothing finer however often it is asked."""

from __future__ import annotations

import numpy as np
import pytest
from tests.protocol.vertical_network.sealed.conftest import make_products, opened_modular, play
from tests.protocol.vertical_network.sealed.test_sealed_batch import SHAPES, draw_columns, share_weights

from hekat.errors import DivergedError
from hekat.protocol.shares.modular_truncation import ModularTruncation
from hekat.protocol.shares.share_array import random_shares
from hekat.protocol.vertical_network.sealed.batch import SealedBatch
from hekat.protocol.vertical_network.sealed.prediction.score_shares import (
    MAGNITUDE_BITS,
    OPENED_BITS,
    SCORE_SHIFT,
    TOLD_BITS,
    add_noise,
    cut_share,
    open_scores,
)
from hekat.protocol.vertical_network.sealed.scales import SCORE_BITS, SLOT_RING, SealedShape

UNIT = 2.0**-TOLD_BITS


def score_turn(senders: tuple[bool, ...]):
    """Cut shares of scores, with the noise of the `senders`, and shares of the exact ones."""

    def turn(batch: SealedBatch, used: np.ndarray, is_guest: bool):
        exact = batch.scores(batch.forward(used))
        noisy = add_noise(exact, batch._columns, used) if is_guest in senders else exact
        return cut_share(noisy, batch._truncation), exact

    return turn


def float_scores(shape: SealedShape, columns: list[np.ndarray], values: np.ndarray) -> np.ndarray:
    units = np.concatenate(columns, axis=1) / 2**16 @ values
    return (units[:, :-1] ** 2) @ np.array(shape.signs) / 4 + units[:, -1]


@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("name", SHAPES)
def test_what_opens_is_the_score_to_a_told_unit(name, protection) -> None:
    shape, rng = SHAPES[name], np.random.default_rng(101)
    columns, values = draw_columns(shape, rng), rng.normal(scale=0.3, size=(shape.width, shape.units + 1))
    weights = share_weights(values)
    (guest, exact), (host, other) = play(
        shape, make_products(protection), columns, weights, "step", score_turn((False,))
    )
    scores = open_scores(guest, host)
    exact = opened_modular((exact, other)).astype(float) / 2.0**SCORE_BITS
    # Half a unit of noise and less than one of truncation.
    assert abs(scores - exact).max() < 1.5 * UNIT
    assert abs(exact - float_scores(shape, columns, values)).max() < 0.05
    assert max(int(guest.max()), int(host.max())) < 1 << OPENED_BITS


def share_scores(values: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Integers at 2^-SCORE_BITS in shares mod t."""
    own = np.stack([rng.integers(0, prime, values.shape, dtype=np.uint64) for prime in SLOT_RING.primes])
    return own, SLOT_RING.subtract(SLOT_RING.from_integers(values), own)


def cut_both(shares: tuple[np.ndarray, np.ndarray], seed: bytes) -> tuple[np.ndarray, np.ndarray]:
    guest, host = (
        cut_share(x, ModularTruncation(seed, SLOT_RING, is_guest=is_guest))
        for x, is_guest in zip(shares, (True, False), strict=True)
    )
    return guest, host


@pytest.mark.parametrize("with_noise", [False, True])
def test_asking_again_tells_nothing_below_the_noise_of_a_row(with_noise) -> None:
    """The mean of 4,000 answers about a row finds its score to a hundredth of a unit, and with noise another number."""
    rng = np.random.default_rng(102)
    score = np.full(4000, round(0.3 * 2**SCORE_BITS) + (1 << SCORE_SHIFT) // 3)
    guest, host = share_scores(score, rng)
    if with_noise:
        row = rng.integers(-(2**16), 2**16, (1, 3))
        host = add_noise(host, np.repeat(row, len(score), axis=0), rng.integers(0, 2**64, (3, 4, 2), np.uint64))
    answers = open_scores(*cut_both((guest, host), b"seed"))
    missed = abs(answers.mean() - score[0] / 2.0**SCORE_BITS) / UNIT
    print(f"seed 102: the mean misses by {missed:.3f} units")
    assert (missed > 0.05) == with_noise
    assert len(set(answers)) == 2


def test_noise_is_the_same_for_a_row_and_another_for_other_rows_and_secrets() -> None:
    rng = np.random.default_rng(103)
    columns, secret, zeros = rng.integers(-9, 9, (50, 3)), random_shares((3, 4)), np.zeros((2, 50), np.uint64)
    noise = opened_modular((add_noise(zeros, columns, secret), zeros))
    again = opened_modular((add_noise(zeros, columns, secret), zeros))
    other = opened_modular((add_noise(zeros, columns, random_shares((3, 4))), zeros))
    assert (noise == again).all()
    assert (noise == other).sum() < 5
    half = 1 << (SCORE_SHIFT - 1)
    assert (noise >= -half).all()
    assert (noise < half).all()
    assert abs(noise).max() > half // 2


@pytest.mark.parametrize("sign", [1, -1])
def test_a_score_out_of_range_shows_and_does_not_wrap(sign) -> None:
    rng = np.random.default_rng(104)
    most = (1 << (MAGNITUDE_BITS + SCORE_BITS)) - (1 << SCORE_SHIFT)
    fits = open_scores(*cut_both(share_scores(np.array([sign * most]), rng), b"seed"))
    assert abs(fits[0] - sign * most / 2.0**SCORE_BITS) < 2 * UNIT
    for whole in (2**MAGNITUDE_BITS + 1, 2**14, 256 * 64 + 16):
        with pytest.raises(DivergedError, match="out of range"):
            open_scores(*cut_both(share_scores(np.array([0, sign * whole << SCORE_BITS]), rng), b"seed"))


def test_shares_of_two_models_give_no_scores() -> None:
    """As shares of a wrong model or epoch: uniform numbers, of which sixty-three in sixty-four are out of range."""
    rng = np.random.default_rng(105)
    one, other = (share_scores(np.zeros(20, np.int64), rng) for _ in range(2))
    with pytest.raises(DivergedError):
        open_scores(*cut_both((one[0], other[1]), b"seed"))
