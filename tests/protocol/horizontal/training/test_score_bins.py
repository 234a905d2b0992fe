"""Bins of scores: the AUC they tell is within its stated bound, and they follow the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from hekat.errors import InputError
from hekat.model.head import BinaryHead, SoftmaxHead
from hekat.protocol.horizontal.training.score_bins import (
    PLACE_COUNT,
    binned_auc,
    count_in_bins,
    cut_anew,
    first_edges,
    places_of,
)

SKEWED = {
    "well separated": lambda rng, y: 3.0 * y - 1.5 + 1.5 * rng.normal(size=y.size),
    "all near one base rate": lambda rng, y: -3.0 + 0.1 * rng.normal(size=y.size) + 0.05 * y,
    "barely trained": lambda rng, y: 1e-4 * (rng.normal(size=y.size) + y),
    "far out": lambda rng, y: 200.0 * (rng.normal(size=y.size) + y),
}


def probabilities_of(scores: np.ndarray) -> np.ndarray:
    return np.column_stack([np.exp(-np.logaddexp(0, scores)), np.exp(-np.logaddexp(0, -scores))])


def histogram(scores: np.ndarray, labels: np.ndarray, edges: np.ndarray) -> tuple[list[int], list[int]]:
    places = places_of(probabilities_of(scores), 1)
    return (
        count_in_bins(places, labels == 0, edges).tolist(),
        count_in_bins(places, labels == 1, edges).tolist(),
    )


@pytest.mark.parametrize("shape", SKEWED)
@pytest.mark.parametrize("positive_share", [0.5, 0.03])
def test_the_auc_of_bins_is_within_its_bound_and_bins_settle_below_one_over_their_number(shape, positive_share) -> None:
    rng = np.random.default_rng(17)
    labels = (rng.random(4000) < positive_share).astype(np.int64)
    scores = SKEWED[shape](rng, labels)
    exact = roc_auc_score(labels, scores)
    edges = first_edges(64)
    for _ in range(6):
        counts = histogram(scores, labels, edges)
        auc, error = binned_auc(*counts)
        assert abs(auc - exact) <= error + 1e-12
        edges = cut_anew(edges, *counts)
        assert edges.shape == (63,)
        assert (np.diff(edges) >= 0).all()
        assert 0 <= edges[0] <= edges[-1] <= PLACE_COUNT
    assert error <= 1 / 64


@hypothesis_settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.floats(-1000, 1000), min_size=2, max_size=30),
    bin_count=st.integers(2, 9),
    seed=st.integers(0, 99),
)
def test_any_scores_are_within_the_bound(scores, bin_count, seed) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(len(scores)) % 2)
    values = np.clip(np.array(scores), -700, 700)
    exact = roc_auc_score(labels, values)
    edges = first_edges(bin_count)
    for _ in range(3):
        counts = histogram(values, labels, edges)
        auc, error = binned_auc(*counts)
        assert abs(auc - exact) <= error + 1e-9
        edges = cut_anew(edges, *counts)


def test_bins_without_a_tie_between_classes_tell_the_auc_exactly() -> None:
    assert binned_auc([3, 1, 0, 2], [0, 0, 4, 0]) == (16 / 24, 0.0)


def test_ties_in_a_bin_count_half_and_all_of_it_is_the_bound() -> None:
    assert binned_auc([5], [7]) == (0.5, 0.5)


@pytest.mark.parametrize(("negatives", "positives"), [([0, 0], [3, 1]), ([2, 2], [0, 0])])
def test_there_is_no_auc_without_rows_of_both_classes(negatives, positives) -> None:
    assert binned_auc(negatives, positives) is None
    # Bins are cut from the one class there is.
    assert cut_anew(first_edges(2), negatives, positives).shape == (1,)


def test_bins_are_cut_the_same_from_the_same_counts_and_stay_where_nothing_was_counted() -> None:
    edges = first_edges(4)
    np.testing.assert_array_equal(cut_anew(edges, [0] * 4, [0] * 4), edges)
    np.testing.assert_array_equal(cut_anew(edges, [1] * 4, [5] * 4), edges)
    # Three quarters of the mixture's mass lie in the first half of places, one quarter in the second.
    np.testing.assert_array_equal(cut_anew(first_edges(2), [9, 0], [9, 0]), [PLACE_COUNT // 3])


def test_sure_scores_have_places_too() -> None:
    sure = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert places_of(sure, 1).tolist() == [0, PLACE_COUNT - 1, PLACE_COUNT // 2]
    three = np.array([[0.2, 0.3, 0.5]])
    assert places_of(three, 2).tolist() == [PLACE_COUNT // 2]
    assert places_of(three, 0)[0] < places_of(three, 1)[0] < PLACE_COUNT // 2


ADVERSARIAL = {
    "all equal": lambda rng, y: np.full(y.size, 0.3),
    "all zero": lambda rng, y: np.zeros(y.size),
    "five values": lambda rng, y: rng.integers(-2, 3, y.size) + 0.0,
    "beyond floats below": lambda rng, y: 1e6 * (rng.normal(size=y.size) - 3.0 + y),
    "two far clusters and ties": lambda rng, y: np.where(rng.random(y.size) < 0.5, -40.0, 30.0 + np.round(y, 1)),
    "one row apart": lambda rng, y: np.where(np.arange(y.size) == 0, 20.0, -5.0),
    "neighbouring floats": lambda rng, y: 0.25 + np.spacing(0.25) * rng.integers(0, 4, y.size),
}


@pytest.mark.parametrize("shape", ADVERSARIAL)
@pytest.mark.parametrize("bin_count", [2, 5, 64])
def test_scores_made_to_break_bins_stay_within_the_bound_of_the_models_own_auc(shape, bin_count) -> None:
    rng = np.random.default_rng(53)
    labels = (rng.random(900) < 0.3).astype(np.int64)
    probabilities = BinaryHead().predict_proba(ADVERSARIAL[shape](rng, labels)[:, np.newaxis])
    exact = roc_auc_score(labels, probabilities[:, 1])
    edges = first_edges(bin_count)
    for _ in range(5):
        places = places_of(probabilities, 1)
        counts = [count_in_bins(places, labels == side, edges).tolist() for side in (0, 1)]
        assert [sum(side) for side in counts] == [np.count_nonzero(labels == 0), np.count_nonzero(labels == 1)]
        auc, error = binned_auc(*counts)
        assert abs(auc - exact) <= error + 1e-12
        edges = cut_anew(edges, *counts)
    if np.unique(probabilities[:, 1]).size == 1:
        assert (auc, error) == (0.5, 0.5)


def test_each_of_several_classes_is_within_its_bound() -> None:
    rng = np.random.default_rng(57)
    labels = rng.integers(0, 3, 1200)
    logits = np.round(rng.normal(size=(1200, 3)), 1)
    logits[np.arange(1200), labels] += 0.7
    probabilities = SoftmaxHead(3).predict_proba(logits)
    for class_number in range(3):
        own = labels == class_number
        edges = first_edges(16)
        for _ in range(4):
            places = places_of(probabilities, class_number)
            counts = [count_in_bins(places, side, edges).tolist() for side in (~own, own)]
            auc, error = binned_auc(*counts)
            assert abs(auc - roc_auc_score(own, probabilities[:, class_number])) <= error + 1e-12
            edges = cut_anew(edges, *counts)


def test_log_odds_tell_rows_apart_whose_probabilities_are_both_one() -> None:
    """So here the AUC may be finer than that of probabilities, as docs/how_to/validation.md says."""
    probabilities = BinaryHead().predict_proba(np.array([[50.0], [60.0], [70.0], [80.0]]))
    assert probabilities[:, 1].tolist() == [1.0] * 4
    assert (np.diff(places_of(probabilities, 1)) > 0).all()


@pytest.mark.parametrize("wrong", [(np.nan, np.nan), (0.5, np.nan), (1.1, -0.1), (-0.1, 1.1), (0.0, 0.0)])
def test_probabilities_that_are_none_get_no_place(wrong) -> None:
    probabilities = np.array([[0.5, 0.5], wrong])
    with pytest.raises(InputError, match=r"no usable probabilities.*others in 1 of 2 rows"):
        places_of(probabilities, 1)


def test_counts_of_a_party_that_lies_move_bins_and_break_nothing() -> None:
    """However large the counts of one bin are said to be: bins stay sorted, in range and as many as before."""
    edges = first_edges(64)
    for _ in range(12):
        lie = [3] * 64
        lie[20] = 2**40
        edges = cut_anew(edges, lie, [2**40 - 1, *[1] * 63])
        assert edges.shape == (63,)
        assert (np.diff(edges) >= 0).all()
        assert 0 <= edges[0] <= edges[-1] <= PLACE_COUNT


def test_a_party_that_lies_reads_a_single_score_in_six_validations() -> None:
    """As docs/how_to/validation.md warns: it claims many rows where it looks, and bins are cut finely there."""
    rng = np.random.default_rng(59)
    labels = rng.random(300) < 0.5
    places = places_of(probabilities_of(rng.normal(size=300)), 1)
    target, edges = int(np.sort(places)[150]), first_edges(64)
    for _ in range(6):
        counts = [count_in_bins(places, side, edges) for side in (~labels, labels)]
        seen = int(np.searchsorted(edges, target, side="right"))
        first, last = [0, *edges.tolist()][seen], [*edges.tolist(), PLACE_COUNT][seen]
        lie = 16_000 * (np.arange(64) == seen)
        edges = cut_anew(edges, (counts[0] + lie).tolist(), (counts[1] + lie).tolist())
    assert first <= target < last
    assert last - first < 10
    assert counts[0][seen] + counts[1][seen] == 1
