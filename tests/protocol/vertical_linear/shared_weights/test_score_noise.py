"""Rows asked again: without noise that follows from the row, many answers tell a score finely; with it they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.data import Table
from hekat.engine.limbs import ints_from_limbs
from hekat.protocol.shares.public_pads import PublicPads
from hekat.protocol.shares.score_noise import score_noise
from hekat.protocol.shares.share_array import RING_BITS, add_shares, random_shares, zero_shares
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.columns import apply_standardiser
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction import predict_on_shares as predict
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings

PEOPLE, TIMES, SCORE_BITS = 16, 48, 12
# Features at 2^-16, weights at 2^-32.
UNIT = 1 << (16 + 32 - SCORE_BITS)


def signed(shares: np.ndarray) -> np.ndarray:
    values = ints_from_limbs(shares.reshape(-1, 2))
    return np.array([value - (value >> (RING_BITS - 1) << RING_BITS) for value in values], dtype=object)


class CuriousGuest:
    """A receiver that asks about the same people many times, and keeps its own share from before truncation."""

    def __init__(self, monkeypatch) -> None:
        score_shares, draw = predict.score_shares, PublicPads.draw
        self._pad = self._own = self._sent = None

        def keep_pad(pads, shape):
            # Both parties draw the same pads.
            self._pad = draw(pads, shape)
            return self._pad

        def keep_own(pair, step, features, weights):
            found = score_shares(pair, step, features, weights)
            if pair.is_guest:
                self._own = found
            return found

        def keep_sent(own, other):
            # Shares that came are added last.
            self._sent = other
            return add_shares(own, other)

        monkeypatch.setattr(PublicPads, "draw", keep_pad)
        monkeypatch.setattr(predict, "score_shares", keep_own)
        monkeypatch.setattr(predict, "add_shares", keep_sent)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The integers between which all answers together put each person's score."""
        own = np.array(ints_from_limbs(add_shares(self._own, self._pad).reshape(-1, 2)), dtype=object)
        units = -signed(self._sent) % (1 << RING_BITS)
        above, below = (own - units * UNIT).reshape(TIMES, PEOPLE), (own - (units + 1) * UNIT).reshape(TIMES, PEOPLE)
        return below.max(axis=0), above.min(axis=0)


@pytest.fixture
def asked_again(run_of, settings_of, tables_of, opened, converse, key_pairs):
    """Plays the prediction; returns the exact scores of the people, as integers."""

    def play() -> np.ndarray:
        parts = run_of(settings_of(epochs=1, batch_rows=0, protection="none"), tables_of(20)).run()
        people = tables_of(21, rows=PEOPLE)
        repeated = np.tile(np.arange(PEOPLE), TIMES)

        def role(name):
            settings = PredictionSettings("bank", ("shop",), ("bank",), SCORE_BITS)
            table = replace(people[name], labels=None).take(repeated)
            return lambda channel: predict_scores(
                channel, parts[name], table, settings, PartyRun(Stopwatch(), key_pair=key_pairs[name])
            )

        converse(role("bank"), role("shop"))
        return exact_scores(parts, people, opened(parts))

    return play


def exact_scores(parts, people: dict[str, Table], weights: np.ndarray) -> np.ndarray:
    columns = [
        np.rint(apply_standardiser(people[name].features, part.means, part.spreads) * 2.0**16)
        for name, part in parts.items()
    ]
    integers = np.rint(weights[:, 0] * 2.0**32).astype(np.int64)
    scores = np.hstack(columns).astype(np.int64) @ integers[1:] + (integers[0] << 16)
    return scores.astype(object)


def test_the_attack_answers_without_noise_put_a_score_between_ends_that_meet(asked_again, monkeypatch) -> None:
    monkeypatch.setattr(predict, "score_noise", lambda features, weights, bits, count: zero_shares((PEOPLE * TIMES, 1)))
    guest = CuriousGuest(monkeypatch)
    exact = asked_again()
    low, high = guest.ends()
    # Answers carry a few of the last bits.
    assert ((low - 8 <= exact) & (exact <= high + 8)).all()
    assert np.mean((high - low).astype(float)) < UNIT / 8


def test_answers_to_rows_asked_again_find_the_score_with_its_noise(asked_again, monkeypatch) -> None:
    guest = CuriousGuest(monkeypatch)
    exact = asked_again()
    low, high = guest.ends()
    # One noise for each row: its answers agree.
    assert (low < high + 8).all()
    middle = (low + high) // 2
    assert (abs(middle - exact) < 0.8 * UNIT).all()
    # What they agree on is not the score, but for a person in 25 by chance: three quarters once in 10^13 runs.
    assert np.sum((exact < low) | (exact > high)) > PEOPLE / 4


def test_noise_follows_from_row_weights_and_unit_and_from_nothing_else() -> None:
    rng = np.random.default_rng(5)
    features, weights = rng.integers(-9, 9, (40, 6)), random_shares((11, 3))
    features[rng.random(features.shape) < 0.5] = 0
    noise = score_noise(features, weights, 60, 3)
    assert noise.shape == (40, 3, 2)
    np.testing.assert_array_equal(score_noise(features[::-1].copy(), weights, 60, 3)[::-1], noise)
    np.testing.assert_array_equal(score_noise(csr_array(features), weights, 60, 3), noise)
    for features_too, weights_too, bits in (
        (features + 1, weights, 60),
        (features, random_shares((11, 3)), 60),
        # Were one the other's upper bits, their difference would tell them.
        (features, weights, 61),
    ):
        other = signed(score_noise(features_too, weights_too, bits, 3)) >> (bits - 60)
        assert not (abs(other - signed(noise)) < 2).any()


@pytest.mark.parametrize("bits", [8, 36, 69])
def test_noise_is_uniform_below_half_a_unit(bits: int) -> None:
    features = np.arange(4000).reshape(-1, 1)
    values = signed(score_noise(features, random_shares((4, 1)), bits, 1))
    half = 1 << (bits - 1)
    assert -half <= values.min() < -0.9 * half
    assert 0.9 * half < values.max() < half
    parts = np.bincount(((values + half) * 8 >> bits).astype(np.int64), minlength=8)
    # Seven standard deviations of 4000 in eight parts.
    assert (abs(parts - 500) < 150).all()
