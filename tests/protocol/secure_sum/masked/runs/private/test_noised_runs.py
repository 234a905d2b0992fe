"""Runs with differential privacy under masking: noise of every party is in the sum, and drop-outs leave enough."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import PartyStoppedError, PolicyError
from hekat.privacy.accounting import NoisedSum
from hekat.privacy.audit import measure_noise
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan, PrivacySettings
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.horizontal.training.private import private_rounds
from hekat.protocol.secure_sum.settings import CodecSettings

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

ROWS = PrivacySettings(unit="row", clip=1.0, delta=1e-5, noise=2.0, divisor=100)
WIDE = CodecSettings(value_bits=24)
TRAINING = TrainingSettings(algorithm="fedsgd", round_count=2, learning_rate=0.5, standardise=False)


@pytest.fixture
def noised_settings(masked_settings):
    def make(privacy: PrivacySettings = ROWS, training: TrainingSettings = TRAINING, **others) -> HorizontalSettings:
        return masked_settings(privacy=privacy, training=training, codec=WIDE, **others)

    return make


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, np.ndarray]]:
    """(values, levels) of each tensor that a party makes for a sum."""
    made: list[tuple[np.ndarray, np.ndarray]] = []
    honest = private_rounds.noised_levels

    def record(values: np.ndarray, mechanism: NoisedSum) -> np.ndarray:
        levels = honest(values, mechanism)
        made.append((values, levels))
        return levels

    monkeypatch.setattr(private_rounds, "noised_levels", record)
    return made


def test_a_round_of_rows_opens_the_sum_of_what_parties_noised(noised_settings, rehearse_masked, sent) -> None:
    training = replace(TRAINING, round_count=1)
    rehearsal = rehearse_masked(noised_settings(training=training), exactness_check=False)
    state = rehearsal.run()
    plan = noised_settings(training=training).plan_privacy(4)
    assert plan is not None
    assert len(sent) == 5 * 3  # weight, bias and the loss of five parties
    total = sum(levels for _, levels in sent if levels.shape == (3, 1))
    assert np.allclose(state.parameters["weight"], -0.5 * total * plan.mechanism.granularity / 100, rtol=1e-12)
    (record,) = rehearsal.records
    assert record.row_count == 100
    assert record.clipped_by_tensor == record.validation == record.bounds == {}
    assert record.privacy is not None
    assert record.privacy.release_count == 1
    assert 0 < record.privacy.epsilon_at_one < record.privacy.epsilon


def test_noise_is_large_enough_when_a_party_is_lost_and_its_share_with_it(
    noised_settings, rehearse_masked, leave_at, sent
) -> None:
    """Five parties, one leaves before it signs: four shares of noise are left, and the claim's two of them suffice."""
    settings = noised_settings(training=replace(TRAINING, round_count=1))
    plan = settings.plan_privacy(4)
    rehearsal = rehearse_masked(settings, exactness_check=False, hooks={"e": leave_at("round-1")})
    rehearsal.run()
    assert rehearsal.lost_names == ["e"]
    assert rehearsal.records[0].party_count == 4
    mechanism = plan.mechanism
    assert math.sqrt(4 - plan.colluders) * mechanism.std >= plan.settings.noise * mechanism.sensitivity * (1 - 1e-12)


def _tables_of_zeros(settings: HorizontalSettings) -> dict[str, Table]:
    """Rows of 5,000 columns that give nothing to the slopes of weights."""
    names = tuple(f"c{number}" for number in range(5000))
    return {name: Table(np.zeros((3, 5000)), np.array([0, 1, 1]), names, name) for name in settings.parties}


@pytest.fixture
def opened_noise(noised_settings, rehearse_masked, leave_at):
    """(the opened sum of 5,000 values to which rows of zeros give nothing, its plan), with so many of five parties."""

    def run(parties: int) -> tuple[np.ndarray, PrivacyPlan]:
        settings = noised_settings(training=replace(TRAINING, round_count=1, learning_rate=1.0))
        hooks = {"e": leave_at("round-1")} if parties == 4 else {}
        rehearsal = rehearse_masked(settings, tables=_tables_of_zeros(settings), exactness_check=False, hooks=hooks)
        state = rehearsal.run()
        assert rehearsal.records[0].party_count == parties
        plan = settings.plan_privacy(5001)
        assert plan is not None
        levels = state.parameters["weight"].ravel() * -plan.divisor / plan.mechanism.granularity
        assert np.abs(levels - np.rint(levels)).max() < 1e-3
        return np.rint(levels).astype(np.int64), plan

    return run


@pytest.mark.parametrize("parties", [5, 4])
def test_what_opens_of_zeros_is_the_noise_of_all_parties_in_the_sum(opened_noise, parties: int) -> None:
    """Halved, missing, cut at the lane: the variance shows each, for all sets that may open."""
    found, plan = opened_noise(parties)
    mechanism = plan.mechanism
    assert measure_noise(found, parties * mechanism.law.variance).is_as_expected
    # What the claim needs: the noise of honest parties alone, without the colluders' shares.
    needed = (plan.settings.noise * mechanism.sensitivity) ** 2
    assert measure_noise(found, needed * parties / mechanism.honest).is_enough


def test_a_party_that_adds_no_noise_shows_in_the_variance(opened_noise, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, made = private_rounds.noised_levels, []

    def forget_once(values: np.ndarray, mechanism: NoisedSum) -> np.ndarray:
        made.append(values.shape)
        is_first_weight = values.size > 1 and sum(shape == values.shape for shape in made) == 1
        return np.zeros(values.shape, np.int64) if is_first_weight else honest(values, mechanism)

    monkeypatch.setattr(private_rounds, "noised_levels", forget_once)
    found, plan = opened_noise(5)
    assert not measure_noise(found, 5 * plan.mechanism.law.variance).is_enough


def test_an_opening_that_fails_is_repeated_with_the_same_levels(
    noised_settings, rehearse_masked, lie_in_releases, sent
) -> None:
    """Two draws of noise for one update would average out: a party draws once, however often it masks and sends."""
    settings = noised_settings(training=replace(TRAINING, round_count=1))
    lie_in_releases(settings.parties, lambda content, index: content if index else b"\xff\x7f" * (len(content) // 2))
    rehearsal = rehearse_masked(settings, exactness_check=False)
    state = rehearsal.run()
    numbers = {states.uploads.next_value for states in rehearsal.upload_states.values()}
    assert numbers == {2}, "all parties masked their update twice"
    assert len(sent) == 5 * 3
    total = sum(levels for _, levels in sent if levels.shape == (3, 1))
    plan = settings.plan_privacy(4)
    assert np.allclose(state.parameters["weight"], -0.5 * total * plan.mechanism.granularity / 100, rtol=1e-12)


def test_a_party_bounds_its_whole_update(noised_settings, rehearse_masked, sent) -> None:
    privacy = PrivacySettings(unit="party", clip=0.05, delta=1e-3, noise=2.0)
    training = replace(TRAINING, algorithm="fedavg", round_count=1, batch_rows=8)
    rehearsal = rehearse_masked(noised_settings(privacy, training), exactness_check=False)
    state = rehearsal.run()
    norms = [
        math.sqrt(sum(float((values**2).sum()) for values, _ in sent[start : start + 2])) for start in range(0, 15, 3)
    ]
    assert max(norms) == pytest.approx(0.05, rel=1e-5)
    assert max(norms) < 0.05
    plan = noised_settings(privacy, training).plan_privacy(4)
    total = sum(levels for _, levels in sent if levels.shape == (3, 1))
    assert np.allclose(state.parameters["weight"], total * plan.mechanism.granularity / 5, rtol=1e-12)


def test_a_run_that_is_resumed_trains_its_round_again_with_other_noise(noised_settings, rehearse_masked, sent) -> None:
    settings = noised_settings()
    rehearsal = rehearse_masked(settings, exactness_check=False)
    rehearsal.run()
    first = rehearsal.saved[0]
    again = rehearse_masked(settings, exactness_check=False, resume_from=first)
    again.run()
    before, after = sent[15:30], sent[30:45]
    assert [values.shape for values, _ in before] == [values.shape for values, _ in after]
    for name in ("weight", "bias"):
        assert not np.array_equal(rehearsal.saved[1].parameters[name], again.saved[-1].parameters[name])
    assert again.records[0].round == 2


@pytest.mark.parametrize("counter", [True, False])
def test_any_exact_sum_of_a_noised_job_is_refused(counter: bool, masked_settings) -> None:
    from hekat.protocol.horizontal.training.private.noised_sums import NoisedSums
    from hekat.protocol.secure_sum.aggregation import Alone, Counter, SumRequest

    sums = NoisedSums(Alone(), lane_bits=16, weight_max=8)
    counters = [Counter("hits", 3, maximum=9)] if counter else []
    with pytest.raises(PolicyError, match="an exact sum was asked for in round-1"):
        sums.weighted_mean(SumRequest("round-1", counters=counters))
    with pytest.raises(PolicyError):
        sums.agree_on_bounds("round-1", {})
    assert sums.sum_noised("round-1", {"w": np.array([5, -3])}).tensors["w"].tolist() == [5, -3]


def test_a_party_that_fills_its_lanes_ends_the_run_before_its_sum_is_used(
    noised_settings, rehearse_masked, monkeypatch
) -> None:
    honest, calls = private_rounds.noised_levels, []

    def fill(values: np.ndarray, mechanism: NoisedSum) -> np.ndarray:
        calls.append(1)
        if len(calls) > 3:  # all parties but the first one
            return honest(values, mechanism)
        return np.full(values.shape, (1 << (mechanism.lane_bits - 1)) - 1)

    monkeypatch.setattr(private_rounds, "noised_levels", fill)
    settings = noised_settings()
    rehearsal = rehearse_masked(settings, tables=_tables_of_zeros(settings), exactness_check=False)
    with pytest.raises(PartyStoppedError, match="the sum of round-1 is longer than honest updates and their noise"):
        rehearsal.run()
    assert rehearsal.saved == []
