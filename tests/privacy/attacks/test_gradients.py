"""The attacked model's gradients, what a party sends of them, what is seen at a mask, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.privacy import Mask
from hekat.privacy.attacks import (
    AttackedModel,
    LabelReading,
    LocalSteps,
    OneGradient,
    VisibleUpdate,
    as_mean_gradient,
    deep_leakage,
    invert,
    leaky_lenet,
)

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


class Frozen(torch.nn.Linear):
    def __init__(self) -> None:
        super().__init__(3, 2)
        self.requires_grad_(False)


class Detached(torch.nn.Linear):
    def forward(self, rows: Any) -> Any:
        return super().forward(rows).detach()


def masked(update: dict[str, Any], share: float, seed: int) -> Mask:
    dice = np.random.default_rng(seed)
    return Mask.from_arrays({name: dice.random(tuple(values.shape)) < share for name, values in update.items()})


def test_the_published_lenet_has_its_88_648_parameters() -> None:
    assert sum(tensor.numel() for tensor in leaky_lenet().parameters()) == 88_648
    assert leaky_lenet(seed=1)[0].weight.abs().max() <= 0.5


@pytest.mark.parametrize("differentiable", [False, True])
def test_gradients_are_the_softmax_formula(differentiable: bool) -> None:
    model = AttackedModel(torch.nn.Linear(3, 4))
    rows, labels = torch.rand(5, 3, requires_grad=True), torch.tensor([0, 1, 2, 3, 0])
    found = model.gradient(rows, labels, differentiable=differentiable)
    delta = torch.softmax(model.module(rows), dim=1) - torch.nn.functional.one_hot(labels, 4)
    assert torch.allclose(found["weight"], delta.T @ rows / 5, atol=1e-6)
    assert torch.allclose(found["bias"], delta.mean(0), atol=1e-6)
    assert found["weight"].requires_grad == differentiable


def test_one_logit_stands_for_two_classes() -> None:
    model = AttackedModel(torch.nn.Linear(3, 1))
    rows = torch.rand(1, 3)
    found = model.gradient(rows, torch.tensor([1]))
    assert model.class_count(rows) == 2
    assert torch.allclose(found["bias"], torch.sigmoid(model.module(rows)).flatten() - 1, atol=1e-6)


@pytest.mark.parametrize("part", [Frozen, lambda: torch.nn.ReLU(), lambda: "net"], ids=["frozen", "empty", "text"])
def test_a_module_without_gradients_is_refused(part: Any) -> None:
    with pytest.raises(InputError, match=r"no gradient|no module"):
        AttackedModel(part())


def test_a_module_whose_outputs_know_no_parameter_is_refused() -> None:
    with pytest.raises(InputError, match="no gradient"):
        AttackedModel(Detached(3, 2)).gradient(torch.rand(1, 3), torch.tensor([0]))


def test_a_module_that_gives_no_logits_is_refused() -> None:
    module = torch.nn.Conv2d(1, 2, 3)
    with pytest.raises(InputError, match="no logits"):
        AttackedModel(module).gradient(torch.rand(1, 1, 4, 4), torch.tensor([0]))


def test_the_naive_attacker_holds_zeros_for_values() -> None:
    update = {"weight": torch.arange(1.0, 7.0).reshape(2, 3)}
    mask = Mask.from_arrays({"weight": np.array([[True, False, False], [False, False, True]])})
    adaptive, naive = VisibleUpdate.adaptive(update, mask), VisibleUpdate.naive(update, mask)
    assert adaptive.values["weight"].tolist() == naive.values["weight"].tolist() == [[0, 2, 3], [4, 5, 0]]
    assert (adaptive.compared_count, naive.compared_count, naive.value_count) == (4, 6, 6)


def test_a_mask_of_another_model_is_refused() -> None:
    with pytest.raises(InputError, match="mask is of other tensors"):
        VisibleUpdate.adaptive({"weight": torch.zeros(2, 3)}, Mask.everything({"weight": 5}))


def test_a_mask_that_hides_all_leaves_nothing_to_attack() -> None:
    model = AttackedModel(torch.nn.Linear(3, 2))
    update = model.gradient(torch.rand(1, 3), torch.tensor([0]))
    seen = VisibleUpdate.adaptive(update, masked(update, 1.0, 0))
    with pytest.raises(InputError, match="nothing to attack"):
        invert(deep_leakage(), model, seen, LabelReading.unread(2), row_shape=(3,))


def test_an_update_of_another_model_is_refused() -> None:
    model = AttackedModel(torch.nn.Linear(3, 2))
    update = {"weight": torch.zeros(2, 3)}
    with pytest.raises(InputError, match="none of this model"):
        invert(deep_leakage(), model, VisibleUpdate(update, update), LabelReading.unread(2), row_shape=(3,))


def test_one_local_step_is_a_gradient_times_the_learning_rate() -> None:
    model = AttackedModel(torch.nn.Linear(3, 2))
    rows, labels = torch.rand(4, 3), torch.tensor([0, 1, 1, 0])
    moved = LocalSteps(1, 0.5).of(model, rows, labels, differentiable=False)
    slopes = OneGradient().of(model, rows, labels, differentiable=False)
    for name, found in as_mean_gradient(moved, step_count=1, learning_rate=0.5).items():
        assert torch.allclose(found, slopes[name], atol=1e-6)


def test_several_local_steps_are_gradient_descent() -> None:
    module = torch.nn.Linear(3, 2)
    model = AttackedModel(module)
    before = {name: tensor.clone() for name, tensor in model.parameters.items()}
    rows, labels = torch.rand(4, 3), torch.tensor([0, 1, 1, 0])
    moved = LocalSteps(3, 0.5).of(model, rows, labels, differentiable=False)
    for _ in range(3):
        module.zero_grad()
        torch.nn.functional.cross_entropy(module(rows), labels).backward()
        with torch.no_grad():
            for tensor in module.parameters():
                tensor -= 0.5 * tensor.grad
    for name, found in moved.items():
        assert torch.allclose(found, dict(module.named_parameters())[name] - before[name], atol=1e-6)


def test_a_sum_of_parties_is_the_mean_of_theirs() -> None:
    model = AttackedModel(torch.nn.Linear(3, 2))
    rows, labels = torch.rand(4, 3), torch.tensor([0, 1, 1, 0])
    both = LocalSteps(2, 0.5, party_count=2).of(model, rows, labels, differentiable=False)
    parts = [LocalSteps(2, 0.5).of(model, rows[a:b], labels[a:b], differentiable=False) for a, b in ((0, 2), (2, 4))]
    for name, found in both.items():
        assert torch.allclose(found, (parts[0][name] + parts[1][name]) / 2, atol=1e-6)


def test_rows_that_parties_cannot_share_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be shared out"):
        LocalSteps(1, 0.5, party_count=2).of(
            AttackedModel(torch.nn.Linear(3, 2)), torch.rand(3, 3), torch.tensor([0, 1, 1]), differentiable=False
        )


@pytest.mark.parametrize("values", [(0, 0.1), (1, 0.0), (1, -1.0), (1, float("nan"))])
def test_local_steps_that_are_none_are_refused(values: tuple[int, float]) -> None:
    with pytest.raises(InputError, match="no such local steps"):
        LocalSteps(*values)
