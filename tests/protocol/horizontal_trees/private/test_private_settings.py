"""What a job of trees with differential privacy promises, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.protocol.horizontal_trees.private.private_rehearsal import SMALL, privacy, private

from hekat.errors import InputError
from hekat.model.trees import TreeTraining, make_objective
from hekat.privacy.accounting.leaf_sums import LEVELS, sensitivity_of_leaves
from hekat.protocol.horizontal_trees.private.settings import plan_leaf_noise
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.settings import SumSettings


@pytest.mark.parametrize("class_count", [2, 3, 4, 7])
def test_no_row_moves_the_sums_of_an_iteration_by_more_than_is_claimed(class_count: int) -> None:
    """Random and extreme scores; the extreme ones come to the bound, so that less noise would break the claim."""
    rng = np.random.default_rng(7)
    objective = make_objective(class_count)
    scores = np.concatenate(
        [rng.normal(scale=scale, size=(objective.tree_count, 4000)) for scale in (0.5, 3, 40)], axis=1
    )
    labels = rng.integers(0, class_count, scores.shape[1])
    levels = [np.rint(part * LEVELS) for part in objective.gradients(scores, labels)]
    norms = np.sqrt(sum((part**2).sum(axis=0) for part in levels))
    bound = sensitivity_of_leaves(objective.tree_count)
    assert norms.max() <= bound
    assert norms.max() > 0.98 * bound


def test_noise_is_large_enough_without_a_party_that_drops_out() -> None:
    """Of five parties a sum may have four: beside one that knows its own noise, three are left."""
    sums = SumSettings(("a", "b", "c", "d", "e"), "hub", 100)
    assert least_parties(sums) == 4
    noise = plan_leaf_noise(privacy(colluders=1), SMALL, sums, tree_count=1, weight_max=100)
    assert noise.honest == 3
    assert float(noise.law.variance) * 3 >= (4.0 * sensitivity_of_leaves(1)) ** 2


def test_noise_follows_from_the_epsilon_that_is_wanted() -> None:
    pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")
    settings = private(privacy=privacy(noise=None, epsilon=2.0))
    noise, wanted = settings.leaf_noise, settings.privacy
    assert 1.98 < noise.epsilon(3, wanted) <= 2.0
    assert noise.epsilon(4, wanted) > 2.0
    # Of three parties two are counted on, besides the reader: the claim's coalition is the reader alone.
    assert (noise.honest, noise.colluders) == (2, 1)
    assert noise.epsilon(3, wanted, at_one=True) == pytest.approx(noise.epsilon(3, wanted))
    replaced = private(privacy=privacy(noise=None, epsilon=2.0, neighbours="replace-one"))
    assert replaced.leaf_noise.claimed.noise > 1.9 * noise.claimed.noise


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protection": "none"}, "protection.kind refused in a job with differential privacy"),
        ({"protection": "paillier"}, "protection.kind refused"),
        ({"opening": "shared"}, "protection.kind refused"),
        ({"class_count": 0}, "classes refused"),
        ({"hold_out": 0.2}, "validation.hold_out refused"),
        ({"check_sum": True}, "protection.check_sum refused"),
        ({"training": TreeTraining(early_stopping=True)}, "training.early_stopping refused"),
        ({"training": TreeTraining(subsample=0.5)}, "training.subsample refused"),
        ({"training": TreeTraining(min_samples_leaf=5)}, "training.min_samples_leaf refused"),
        ({"training": TreeTraining(gradient_bits=8)}, "training.gradient_bits refused"),
    ],
)
def test_what_would_open_without_noise_is_refused_by_name(changes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        private(**changes)


def test_sums_that_leave_no_room_for_noise_are_refused() -> None:
    with pytest.raises(InputError, match="sums of leaves do not fit beside their noise"):
        replace(private(), weight_max=2**23)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"noise": None}, r"privacy\.noise refused"),
        ({"epsilon": 1.0}, r"privacy\.noise refused"),
        ({"noise": float("nan")}, r"privacy\.noise refused"),
        ({"delta": 0.0}, r"privacy\.delta refused"),
        ({"delta": 1.0}, r"privacy\.delta refused"),
        ({"neighbours": "add"}, r"privacy\.neighbours refused"),
        ({"colluders": 0}, r"privacy\.colluders refused"),
        ({"colluders": 3}, r"privacy\.colluders refused"),
        ({"noise": 0.01}, r"privacy\.noise refused"),
        ({"bounds": {"u": (1.0, 1.0)}}, r"privacy\.bounds\.u refused"),
        ({"bounds": {"u": (0.0, float("inf"))}}, r"privacy\.bounds\.u refused"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused(changes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        private(privacy=privacy(**changes))


def test_bins_follow_from_public_bounds_alone() -> None:
    bins = privacy().public_bins(("u", "v", "w", "x", "t"), ("x",), 4)
    assert bins[0].edges.tolist() == [-1.0, 1.0, 3.0]
    assert bins[3].edges.tolist() == [0.5]
    with pytest.raises(InputError, match="columns without public bounds") as refused:
        privacy().public_bins(("u", "v", "w", "x", "t", "age"), ("x",), 4)
    assert "'age'" in str(refused.value)
    for names, indicators in ((("v", "w", "t"), ()), (("u", "v", "w", "t"), ("u",))):
        with pytest.raises(InputError, match=r"privacy\.bounds refused"):
            privacy().public_bins(names, indicators, 4)
