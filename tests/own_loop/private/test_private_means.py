"""Noised means in a loop of one's own: what is sent is bounded and noised, and epsilon counts every call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hekat
from hekat.errors import InputError, LongSumError, PolicyError, ProtocolError
from hekat.own_loop import aggregator as loop_aggregator
from hekat.own_loop.calls.compare_calls import AGREED
from hekat.own_loop.private import private_mean
from hekat.own_loop.private.loop_budgets import RowsBudget
from hekat.privacy import ClippedRows, clip_rows
from hekat.privacy.accounting import epsilon_of
from hekat.privacy.noised_levels import noised_levels
from hekat.state.privacy_budget import BudgetTerms, PrivacyBudget

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

PARTIES = ["north", "lake", "county"]


def _gradients(party: str) -> np.ndarray:
    return np.random.default_rng(len(party)).normal(size=(20, 3))


def test_rows_and_their_noise_are_all_that_is_in_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[np.ndarray] = []

    def record(values, mechanism):
        sent.append(noised_levels(values, mechanism))
        return sent[-1]

    monkeypatch.setattr(private_mean, "noised_levels", record)

    def play(party):
        rows = clip_rows({"w": _gradients(party.name)}, clip=0.5)
        calls = [party.aggregate_private(rows, clip=0.5, noise=3.0, delta=1e-5, divisor=60) for _ in range(2)]
        return calls, rows

    run = hekat.federate(play, PARTIES)
    (first, second), _ = run.results["north"]
    assert len(sent) == 6
    assert not np.array_equal(first.mean["w"], second.mean["w"])
    for name in PARTIES:
        assert np.array_equal(run.results[name][0][0].mean["w"], first.mean["w"])
    mechanism, _ = private_mean.PrivateMeans(_settings(), None).plan(run.results["north"][1], _privacy())
    assert np.allclose(first.mean["w"] + second.mean["w"], mechanism.granularity / 60 * sum(sent), rtol=1e-12)
    release = private_mean.Release.of(mechanism, 3.0)
    assert first.epsilon == epsilon_of({release: 1}, 1e-5)
    assert second.epsilon == epsilon_of({release: 2}, 1e-5)
    assert second.epsilon_at_one <= second.epsilon


def test_epsilon_of_a_call_is_reckoned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reckoned: list[tuple[dict, float]] = []

    def reckon(counts, delta, neighbours):
        reckoned.append((dict(counts), delta))
        return epsilon_of(counts, delta, neighbours)

    monkeypatch.setattr(private_mean, "epsilon_of", reckon)

    def play(party):
        rows = clip_rows({"w": _gradients(party.name)}, clip=0.5)
        return [party.aggregate_private(rows, clip=0.5, noise=3.0, delta=1e-5, divisor=60) for _ in range(2)]

    means = hekat.federate(play, PARTIES).results["north"]
    # Against the claim's coalition and against one party, at each party and call.
    assert len(reckoned) == 2 * 2 * len(PARTIES)
    assert means[0].epsilon < means[1].epsilon


def _settings():
    from hekat.protocol.secure_sum.settings import SumSettings

    return SumSettings(tuple(PARTIES), "aggregator", 20)


def _privacy(**changes):
    from hekat.protocol.horizontal.privacy_settings import PrivacySettings

    return PrivacySettings(**{"unit": "row", "clip": 0.5, "noise": 3.0, "delta": 1e-5, "divisor": 60, **changes})


def test_noise_is_large_enough_without_a_party_that_drops_out() -> None:
    """Of five parties a sum may have four: beside one that knows its own noise, three are left."""
    from hekat.protocol.secure_sum.settings import SumSettings

    means = private_mean.PrivateMeans(SumSettings(("a", "b", "c", "d", "e"), "hub", 1), None)
    mechanism, _ = means.plan(ClippedRows({"w": np.ones(3)}, 0.5, 1), _privacy(colluders=1))
    assert mechanism.honest == 3
    assert mechanism.std * 3**0.5 >= 3.0 * mechanism.sensitivity


def test_a_party_is_bounded_as_a_whole() -> None:
    _, values = private_mean.PrivateMeans(_settings(), None).plan(
        {"w": np.full(4, 10.0), "b": np.ones(1)}, _privacy(unit="party", divisor=None)
    )
    assert np.sqrt(sum(float((each**2).sum()) for each in values.values())) == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize(
    ("part", "changes", "text"),
    [
        ({"w": np.ones(3)}, {}, "not of the unit"),
        (ClippedRows({"w": np.ones(3)}, 0.5, 20), {"unit": "party"}, "not of the unit"),
        (ClippedRows({"w": np.ones(3)}, 0.7, 20), {}, "clipped to another norm"),
        (ClippedRows({"w": np.ones(3)}, 0.5, 20), {"noise": 1e6}, "cannot hold the noise"),
        (ClippedRows({"w": np.ones(3)}, 0.5, 20), {"colluders": 3}, "privacy.colluders"),
        (ClippedRows({"w": np.ones(3)}, 0.5, 20), {"delta": 0.05}, "delta is too large for the rows"),
        ({"w": np.ones(3)}, {"unit": "party", "divisor": None, "delta": 0.34}, "delta is too large for the parties"),
    ],
)
def test_what_would_break_the_claim_is_refused(part, changes, text: str) -> None:
    with pytest.raises(InputError, match=text):
        private_mean.PrivateMeans(_settings(), None).plan(part, _privacy(**changes))


def test_a_loop_promises_one_thing() -> None:
    means, rows = private_mean.PrivateMeans(_settings(), None), ClippedRows({"w": np.ones(3)}, 0.5, 20)
    with pytest.raises(InputError, match="delta is too large"):
        means.plan(rows, _privacy(delta=0.5))  # refused: no promise
    means.plan(rows, _privacy())
    means.plan(rows, _privacy(noise=5.0))
    with pytest.raises(InputError, match="promise one thing"):
        means.plan(rows, _privacy(delta=1e-6))


def test_small_batches_do_not_pass_a_delta_that_the_rows_of_a_larger_call_did_not() -> None:
    means = private_mean.PrivateMeans(_settings(), None)
    few, many = (ClippedRows({"w": np.ones(3)}, 0.5, count) for count in (4, 20))
    means.plan(few, _privacy(delta=0.06))
    for part in (many, few):
        with pytest.raises(InputError, match="delta is too large for the rows of this party's largest call"):
            means.plan(part, _privacy(delta=0.06))


def test_small_batches_do_not_pass_the_delta_of_a_budget_either(tmp_path: Path) -> None:
    terms = BudgetTerms("patients", "row", "zero-out", 0.06, 8.0)
    budget = RowsBudget("north", PrivacyBudget.in_folder(tmp_path, terms), waived=False)
    means = private_mean.PrivateMeans(_settings(), None, budget)
    few, many = (ClippedRows({"w": np.ones(3)}, 0.5, count) for count in (4, 20))
    means.plan(few, _privacy())
    for part in (many, few):
        with pytest.raises(PolicyError, match="the delta of north's budget is too large"):
            means.plan(part, _privacy())


def test_protections_that_show_single_updates_are_refused() -> None:
    def play(party):
        return party.aggregate_private({"w": np.ones(3)}, clip=1.0, noise=3.0, delta=1e-5)

    with pytest.raises(InputError, match="need sums that nobody sees a part of"):
        hekat.federate(play, PARTIES, protection="none")


def test_parties_with_other_noise_open_nothing() -> None:
    def play(party):
        noise = 3.0 if party.name == "lake" else 0.1
        return party.aggregate_private({"w": np.ones(3)}, clip=1.0, noise=noise, delta=1e-5)

    with pytest.raises(ProtocolError, match="the settings of a noised mean"):
        hekat.federate(play, PARTIES)


def test_noise_that_was_agreed_on_once_is_no_word_for_a_later_call() -> None:
    def play(party):
        for noise in (3.0, 0.1, 3.0 if party.name == "lake" else 0.1):
            party.aggregate_private({"w": np.ones(3)}, clip=1.0, noise=noise, delta=1e-5)

    with pytest.raises(ProtocolError, match="the settings of a noised mean"):
        hekat.federate(play, PARTIES)


def test_an_aggregator_that_passes_over_the_comparison_opens_no_sum_of_other_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The settings of each call are bound to its sum: the first one's say nothing of the second."""
    monkeypatch.setattr(loop_aggregator, "compare_calls", lambda *others: AGREED)
    done: list[str] = []

    def play(party):
        for noise in (3.0, 2.9 if party.name == "lake" else 3.0):
            party.aggregate_private({"w": np.ones(3)}, clip=1.0, noise=noise, delta=1e-5)
            done.append(party.name)

    with pytest.raises(ProtocolError, match="with another model, mask, bounds or counters than most"):
        hekat.federate(play, PARTIES)
    assert sorted(done) == sorted(PARTIES)


@pytest.mark.parametrize("unit", ["row", "party"])
def test_a_sum_that_honest_parts_do_not_make_is_used_by_nobody(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, used = private_mean.PrivateMeans.levels, []

    def fill_lanes(self, mechanism, values):
        levels = honest(self, mechanism, values)
        lake = self.channel.party == "lake"
        return {name: np.full(each.shape, 2**23 - 1) if lake else each for name, each in levels.items()}

    monkeypatch.setattr(private_mean.PrivateMeans, "levels", fill_lanes)

    def play(party):
        divisor, part = None, {"w": np.ones(3000)}
        if unit == "row":
            divisor, part = 60, clip_rows({"w": np.ones((20, 3000))}, clip=1.0)
        used.append(party.aggregate_private(part, clip=1.0, noise=2.0, delta=1e-5, divisor=divisor))

    with pytest.raises(LongSumError, match="the sum of round-1/sum is longer than honest updates"):
        hekat.federate(play, PARTIES, weight_max=20)
    assert not used


def test_more_rows_than_the_sum_is_judged_by_are_refused() -> None:
    settings = replace(_settings(), weight_max=19)
    with pytest.raises(InputError, match="more rows in a noised mean"):
        private_mean.PrivateMeans(settings, None).plan(ClippedRows({"w": np.ones(3)}, 0.5, 20), _privacy())


def test_rows_are_clipped_one_by_one_over_all_tensors() -> None:
    rng = np.random.default_rng(1)
    rows = {"w": rng.normal(size=(9, 2, 3)), "b": rng.normal(size=(9, 4))}
    rows["w"][3] = np.nan
    found = clip_rows(rows, 1.5)
    wanted = {name: np.zeros(values.shape[1:]) for name, values in rows.items()}
    for row in range(9):
        norm = np.sqrt(sum(float((values[row] ** 2).sum()) for values in rows.values()))
        if np.isfinite(norm):
            for name, values in rows.items():
                wanted[name] += values[row] * min(1.0, 1.5 * (1 - 2**-20) / norm)
    for name, each in wanted.items():
        np.testing.assert_allclose(found.sums[name], each, atol=1e-12)
    both = found + clip_rows(rows, 1.5)
    np.testing.assert_allclose(both.sums["b"], 2 * wanted["b"], atol=1e-12)
    assert (found.row_count, both.row_count) == (9, 18)
    with pytest.raises(InputError, match="two kinds"):
        found + clip_rows(rows, 1.0)
    assert clip_rows({"w": np.zeros((0, 3))}, 1.0).sums["w"].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("rows", [{}, {"w": np.ones((2, 3)), "b": np.ones((3, 1))}, {"w": np.float64(1.0)}])
def test_row_gradients_that_are_none_are_refused(rows) -> None:
    with pytest.raises(InputError, match="row gradients refused"):
        clip_rows(rows, 1.0)
    with pytest.raises(InputError, match="clip refused"):
        clip_rows({"w": np.ones((2, 3))}, 0.0)
