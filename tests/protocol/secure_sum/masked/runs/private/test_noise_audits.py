"""Audits of rounds with differential privacy: the noise that opens is all parties' share, and canaries stay hidden.

Rows of zeros have no slope, so that the weights of a round are noise alone; rows with one large value have a slope of
one coordinate, clipped to the bound of a row: canaries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.privacy import noised_levels
from hekat.privacy.accounting import NoisedSum
from hekat.privacy.audit import audit_scores, measure_noise
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

ROUND = TrainingSettings(algorithm="fedsgd", round_count=1, learning_rate=0.5, standardise=False)
ROWS = PrivacySettings(unit="row", clip=1.0, delta=1e-5, noise=4.0, divisor=10)
COLUMNS, CANARIES = 16_000, 1_000
FAULTS = {
    "missing": np.zeros_like,
    "halved": lambda noise: noise // 2,
    "clipped": lambda noise: np.clip(noise, -int(noise.std()), int(noise.std())),
}


@pytest.fixture
def settings_of(masked_settings) -> Callable[[int], HorizontalSettings]:
    def make(parties: int) -> HorizontalSettings:
        made = masked_settings(parties, privacy=ROWS, training=ROUND, codec=CodecSettings(value_bits=24))
        return replace(made, weight_max=CANARIES)

    return make


@pytest.fixture
def opened(settings_of, rehearse_masked, leave_at) -> Callable[..., tuple[np.ndarray, NoisedSum, float]]:
    """`opened(parties, lost, tables)`: the opened levels of the weights, the job's mechanism, and epsilon."""

    def run(parties: int, lost: int, tables: dict[str, Table]):
        settings = settings_of(parties)
        names = settings.parties[parties - lost :]
        hooks = {name: leave_at("round-1") for name in names}
        rehearsal = rehearse_masked(settings, tables=tables, exactness_check=False, hooks=hooks)
        weights = rehearsal.run().parameters["weight"].ravel()
        assert rehearsal.records[0].party_count == parties - lost
        columns = tables["a"].features.shape[1]
        mechanism = settings.plan_privacy(columns + 1).mechanism
        levels = -weights * ROWS.divisor / (ROUND.learning_rate * mechanism.granularity)
        assert np.abs(levels - np.rint(levels)).max() < 1e-3
        return np.rint(levels).astype(np.int64), mechanism, rehearsal.records[0].privacy.epsilon

    return run


def tables_of(*features: np.ndarray) -> dict[str, Table]:
    names = [f"v{column}" for column in range(features[0].shape[1])]
    rows = dict(zip("abcdefgh", features, strict=False))
    return {name: Table(each, np.zeros(len(each), np.int64), names, name) for name, each in rows.items()}


def zeros(parties: int) -> dict[str, Table]:
    return tables_of(*[np.zeros((2, COLUMNS))] * parties)


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[np.ndarray], np.ndarray], int], None]:
    """`spoil(change, count)` changes the noise of the weights of the first `count` parties that draw it."""

    def begin(change: Callable[[np.ndarray], np.ndarray], count: int) -> None:
        honest, drawn = noised_levels.draw_noise, []

        def draw(law, shape):
            noise = honest(law, shape)
            if noise.size < CANARIES:
                return noise
            drawn.append(shape)
            return change(noise) if len(drawn) <= count else noise

        monkeypatch.setattr(noised_levels, "draw_noise", draw)

    return begin


@pytest.mark.parametrize(
    ("parties", "lost"),
    [
        (5, 1),
        *(pytest.param(8, lost, marks=pytest.mark.long) for lost in range(3)),
        pytest.param(5, 0, marks=pytest.mark.long),
    ],
)
def test_every_sum_that_opens_has_the_noise_of_all_its_parties(opened, parties: int, lost: int) -> None:
    levels, mechanism, _ = opened(parties, lost, zeros(parties))
    found = measure_noise(levels, (parties - lost) * mechanism.law.variance)
    assert found.is_as_expected
    # The fewest whose noise is counted, and the reader's own.
    assert measure_noise(levels, (mechanism.honest + 1) * mechanism.law.variance).is_enough


@pytest.mark.parametrize(
    "fault", ["missing", *(pytest.param(name, marks=pytest.mark.long) for name in ("halved", "clipped"))]
)
def test_one_party_with_other_noise_shows(opened, spoil, fault: str) -> None:
    spoil(FAULTS[fault], 1)
    levels, mechanism, _ = opened(5, 1, zeros(5))
    assert not measure_noise(levels, 4 * mechanism.law.variance).is_enough


def test_an_update_that_is_sent_twice_has_the_noise_of_one_draw(opened, spoil, lie_in_releases) -> None:
    """The first opening fails; what the second opens are exactly the numbers that each party drew once."""
    drawn: list[np.ndarray] = []

    def note(noise: np.ndarray) -> np.ndarray:
        drawn.append(noise)
        return noise

    spoil(note, 10)
    lie_in_releases("abcde", lambda content, index: content if index else b"\xff\x7f" * (len(content) // 2))
    levels, _, _ = opened(5, 0, zeros(5))
    assert len(drawn) == 5
    assert np.array_equal(levels, sum(drawn).ravel())


@pytest.mark.parametrize("noise", [True, pytest.param(False, marks=pytest.mark.long)])
def test_canaries_tell_no_more_than_epsilon_and_more_without_noise(opened, spoil, noise: bool) -> None:
    """Rows of one party, each in by a coin, whose slope is the bound of a row in a coordinate of its own.

    About 500 of 900 guesses are right under noise, within 15; from 680 on they would refute the epsilon accounted.
    """
    included = np.random.default_rng(3).integers(0, 2, CANARIES).astype(bool)
    if not noise:
        spoil(np.zeros_like, 5)
    others = [np.zeros((2, CANARIES))] * 4
    levels, _, epsilon = opened(5, 0, tables_of(1000 * np.eye(CANARIES)[included], *others))
    found = audit_scores(levels, included, delta=ROWS.delta, confidence=0.999, guessed=(0.9,))
    print(f"epsilon at least {found.epsilon:.2f}, accounted {epsilon:.2f}")
    assert (found.epsilon <= epsilon) == noise
    assert (found.right == found.guesses) != noise
