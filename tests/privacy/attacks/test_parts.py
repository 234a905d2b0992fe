"""Objectives, priors, optimisers and restarts, each by itself."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hekat.errors import InputError
from hekat.privacy.attacks import (
    AttackedModel,
    BatchNormStatistics,
    Box,
    CosineDistance,
    LineSearch,
    Restarts,
    SignedAdam,
    SquaredDifference,
    TotalVariation,
    VisibleUpdate,
)
from hekat.privacy.attacks.optimiser import Found

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


def seen_of(values: dict[str, list[float]], compared: dict[str, list[bool]]) -> VisibleUpdate:
    return VisibleUpdate(
        {name: torch.tensor(numbers) for name, numbers in values.items()},
        {name: torch.tensor(flags) for name, flags in compared.items()},
    )


def test_squared_differences_count_every_tensor_alike_and_hidden_values_not() -> None:
    seen = seen_of({"a": [3.0, 4.0], "b": [0.1, 0.0]}, {"a": [True, True], "b": [True, False]})
    guessed = {"a": torch.tensor([3.0, 9.0]), "b": torch.tensor([0.2, 77.0])}
    assert float(SquaredDifference()(guessed, seen)) == pytest.approx(1.0 + 1.0)


def test_a_tensor_seen_as_zeros_is_held_against_the_others() -> None:
    seen = seen_of({"a": [3.0, 4.0], "b": [0.0]}, {"a": [True, True], "b": [True]})
    guessed = {"a": torch.tensor([3.0, 4.0]), "b": torch.tensor([5.0])}
    assert float(SquaredDifference()(guessed, seen)) == pytest.approx(1.0)


def test_the_cosine_forgets_lengths_and_hidden_values() -> None:
    seen = seen_of({"a": [3.0, 4.0], "b": [0.0, 0.0]}, {"a": [True, True], "b": [True, False]})
    assert float(CosineDistance()({"a": torch.tensor([6.0, 8.0]), "b": torch.tensor([0.0, 5.0])}, seen)) == (
        pytest.approx(0.0, abs=1e-6)
    )
    assert float(CosineDistance()({"a": torch.tensor([-3.0, -4.0]), "b": torch.zeros(2)}, seen)) == pytest.approx(2.0)


def test_a_flat_picture_has_the_least_variation() -> None:
    prior = TotalVariation(2.0, (1, 2, 3))
    flat, striped = torch.full((1, 6), 0.3), torch.tensor([[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]])
    assert float(prior(flat)) == pytest.approx(0.0, abs=1e-2)
    assert float(prior(striped)) == pytest.approx(2.0, abs=1e-2)
    assert float(TotalVariation(1.0, (1, 1, 1))(torch.ones(1, 1))) == 0.0


def test_a_box_counts_what_leaves_it() -> None:
    assert float(Box()(torch.tensor([0.0, 1.0, 0.4]))) == 0.0
    assert float(Box(-1.0, 1.0, 3.0)(torch.tensor([-2.0, 1.0, 3.0]))) == pytest.approx(3.0 * (1 + 4) / 3)


def test_rows_with_the_nets_own_statistics_are_the_likeliest() -> None:
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm1d(4, momentum=None)
    module = torch.nn.Sequential(norm, torch.nn.Linear(4, 2))
    rows = torch.rand(64, 4)
    module(rows)
    with torch.no_grad():
        norm.running_var.mul_(63 / 64)  # torch keeps the variance of a sample
    prior = BatchNormStatistics(module, 1.0)
    model = AttackedModel(module)

    def cost(guess: Any) -> float:
        model.gradient(guess, torch.zeros(64, dtype=torch.int64))
        return float(prior(guess))

    assert cost(rows) == pytest.approx(0.0, abs=1e-6)
    assert cost(rows + 1.0) == pytest.approx(1.0, abs=1e-3)
    assert cost(3 * rows) > 1.0


@pytest.mark.parametrize(
    ("optimiser", "within"), [(LineSearch(60), 1e-4), (SignedAdam(400, box=None), 1e-2)], ids=["lines", "adam"]
)
def test_optimisers_find_the_lowest_place(optimiser: Any, within: float) -> None:
    aim = torch.tensor([0.25, -1.5, 2.0])

    def objective(guess: Any) -> Any:
        return (torch.tensor([1.0, 30.0, 4.0]) * (guess[0] - aim).square()).sum()

    found = optimiser.minimise(objective, [torch.zeros(3)], lambda step: None)
    assert torch.allclose(found.guess[0], aim, atol=within)
    assert found.value == pytest.approx(float(objective(found.guess)))


def test_adam_stays_in_its_box() -> None:
    found = SignedAdam(80, box=(0.0, 1.0)).minimise(
        lambda guess: (guess[0] - 5.0).square().sum(), [torch.zeros(2)], lambda step: None
    )
    assert found.guess[0].tolist() == pytest.approx([1.0, 1.0])
    assert found.guess[0].max() <= 1.0


@pytest.mark.parametrize("optimiser", [LineSearch(40), SignedAdam(40)], ids=["lines", "adam"])
def test_an_objective_that_is_no_number_is_the_worst(optimiser: Any) -> None:
    found = optimiser.minimise(lambda guess: guess[0].sum() * math.nan, [torch.zeros(2)], lambda step: None)
    assert found.value == math.inf


def test_the_lowest_objective_wins_and_an_early_end_is_kept_to() -> None:
    values = [3.0, 1.0, 2.0, 0.0]
    found, all_of_them = Restarts(4, enough=0.0).search(lambda number: Found([number], values[number]))
    assert (found.guess, all_of_them) == ([3], (3.0, 1.0, 2.0, 0.0))
    found, all_of_them = Restarts(4, enough=1.5).search(lambda number: Found([number], values[number]))
    assert (found.guess, all_of_them) == ([1], (3.0, 1.0))
    with pytest.raises(InputError, match="without a start"):
        Restarts(0)
