"""The map of a PyTorch module is what its definition says, for each kind of loss, and leaves the module as it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.privacy.sensitivity.nets import assert_maps_equal, conv_net, map_by_definition, one_hot, pictures, torch

from hekat.errors import InputError
from hekat.privacy.sensitivity import sensitivity_map
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.top_values import choose_top, overlap_of


def _order(count: int, seed: int = 3) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, 0]).permutation(count)


def test_each_mode_is_the_second_derivative_of_the_loss_by_label_and_weight() -> None:
    net, (rows, labels) = conv_net(), pictures(5)
    hot, order = one_hot(labels), _order(5)
    draws = Directions("random", 3)
    drawn = np.stack([next(draws.of_rows(np.zeros((1, 3))))[0] for _ in order])
    directions = {
        "label": hot[order][:, None],
        "random": torch.from_numpy(drawn).float()[:, None],
        "exact": torch.eye(3).expand(5, 3, 3),
    }
    for mode, own in directions.items():
        found = sensitivity_map(net, rows, labels, mode=mode, seed=3)  # type: ignore[arg-type]
        assert (found.row_count, found.mode) == (5, mode)
        assert_maps_equal(found.tensors, map_by_definition(net, rows[order], hot[order], own))


def test_the_map_of_the_label_is_the_rows_gradient() -> None:
    net, (rows, labels) = conv_net(), pictures(3)
    found = sensitivity_map(net, rows, labels, mode="label")
    net.eval()
    total = {name: torch.zeros_like(one) for name, one in net.named_parameters()}
    for row, label in zip(rows, labels, strict=True):
        net.zero_grad()
        torch.nn.functional.cross_entropy(net(row[None]), label[None]).backward()
        for name, one in net.named_parameters():
            total[name] += one.grad.abs() / 3
    assert_maps_equal(found.tensors, {name: one.detach().numpy() for name, one in total.items()})


def test_the_slope_p_minus_y_derived_by_y_is_another_map() -> None:
    """It is the classes' outputs alone, without the sum of y by which the normaliser is multiplied."""
    net, (rows, labels) = conv_net(), pictures(4)
    own = torch.eye(3).expand(4, 3, 3)

    def trap(outputs: Any, y: Any) -> Any:
        # Its derivative by the outputs is p - y, and p does not go through y.
        return torch.logsumexp(outputs, dim=1).sum() - (y * outputs).sum()

    wrong = map_by_definition(net, rows, one_hot(labels), own, trap)
    right = map_by_definition(net, rows, one_hot(labels), own)
    assert_maps_equal(sensitivity_map(net, rows, labels, mode="exact").tensors, right)
    ratios = wrong["3.weight"] / right["3.weight"]
    assert ratios.max() > 1.15 * ratios.min()


def test_one_logit_is_the_second_of_two_classes() -> None:
    rows, labels = torch.randn(6, 4, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1, 1, 0, 1, 0])
    one = torch.nn.Linear(4, 1)
    both = torch.nn.Linear(4, 2)
    with torch.no_grad():
        both.weight.copy_(torch.cat([torch.zeros(1, 4), one.weight]))
        both.bias.copy_(torch.cat([torch.zeros(1), one.bias]))
    for mode in ("label", "random", "exact"):
        single = sensitivity_map(one, rows, labels, mode=mode).tensors  # type: ignore[arg-type]
        double = sensitivity_map(both, rows, labels, mode=mode).tensors  # type: ignore[arg-type]
        np.testing.assert_allclose(single["weight"][0], double["weight"][1], rtol=1e-4)


def test_numbers_as_labels_have_the_outputs_own_derivatives() -> None:
    net, (rows, _) = conv_net(), pictures(4)
    labels = torch.randn(4, 3, generator=torch.Generator().manual_seed(5))
    own = torch.eye(3).expand(4, 3, 3)

    def half_square(outputs: Any, y: Any) -> Any:
        return ((outputs - y) ** 2).sum() / 2

    expected = map_by_definition(net, rows, labels, own, half_square)
    assert_maps_equal(sensitivity_map(net, rows, labels, mode="exact").tensors, expected)
    for mode in ("exact", "label", "random"):
        by_name = sensitivity_map(net, rows, labels, mode=mode, loss="squared").tensors  # type: ignore[arg-type]
        assert_maps_equal(sensitivity_map(net, rows, labels, mode=mode, loss=half_square).tensors, by_name)  # type: ignore[arg-type]


def test_any_loss_of_a_real_label_goes_by_its_second_derivative() -> None:
    net, (rows, _) = conv_net(), pictures(3)
    labels = torch.rand(3, 3, generator=torch.Generator().manual_seed(6))

    def own_loss(outputs: Any, y: Any) -> Any:
        return (outputs.exp() - y * y * outputs).sum()

    expected = map_by_definition(net, rows, labels, torch.eye(3).expand(3, 3, 3), own_loss)
    assert_maps_equal(sensitivity_map(net, rows, labels, mode="exact", loss=own_loss).tensors, expected)


def test_random_directions_choose_what_exact_ones_choose() -> None:
    net, (rows, labels) = conv_net(), pictures(96)
    exact = choose_top(sensitivity_map(net, rows, labels, mode="exact").tensors, 26)
    random = choose_top(sensitivity_map(net, rows, labels, seed=1).tensors, 26)
    assert overlap_of(exact, random) >= 0.8


def test_more_rows_are_taken_until_the_largest_values_settle() -> None:
    net, (rows, labels) = conv_net(), pictures(64)
    settled = sensitivity_map(net, rows, labels, fraction=1.0)
    assert (settled.row_count, settled.overlap) == (16, 1.0)
    half = sensitivity_map(net, rows, labels, row_count=8)
    assert (half.row_count, half.overlap) == (8, None)
    all_rows = sensitivity_map(net, rows, labels, fraction=0.02, mode="label", row_count=17)
    chosen = [
        choose_top(sensitivity_map(net, rows, labels, mode="label", row_count=count).tensors, 4) for count in (8, 17)
    ]
    assert all_rows.overlap == overlap_of(*chosen)


def test_the_module_is_left_as_it_was() -> None:
    net, (rows, labels) = conv_net(), pictures(3)
    net.train()
    net[2].eval()
    net[0].bias.grad = torch.ones(3)
    before = {name: one.clone() for name, one in net.state_dict().items()}
    modes = [part.training for part in net.modules()]
    sensitivity_map(net, rows, labels)
    with pytest.raises(InputError):
        sensitivity_map(net, rows * math.nan, labels)
    assert [part.training for part in net.modules()] == modes
    assert all(torch.equal(one, before[name]) for name, one in net.state_dict().items())
    assert torch.equal(net[0].bias.grad, torch.ones(3))
    assert [name for name, one in net.named_parameters() if one.grad is not None] == ["0.bias"]
    assert not [part for part in net.modules() if part._forward_hooks]
    assert not [one for one in net.parameters() if one._post_accumulate_grad_hooks]


def test_frozen_weights_are_outside_and_tied_ones_stand_once() -> None:
    class Tied(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(5, 4)
            self.hidden = torch.nn.Linear(4, 4)
            self.out = torch.nn.Linear(4, 5, bias=False)
            self.out.weight = self.table.weight
            self.hidden.bias.requires_grad_(False)

        def forward(self, tokens: Any) -> Any:
            return self.out(torch.tanh(self.hidden(self.table(tokens).mean(dim=1))))

    torch.manual_seed(4)
    net, tokens, labels = Tied(), torch.tensor([[0, 1], [2, 2], [1, 3]]), torch.tensor([4, 0, 2])
    found = sensitivity_map(net, tokens, labels, mode="exact").tensors
    assert sorted(found) == ["hidden.weight", "table.weight"]
    assert_maps_equal(found, map_by_definition(net, tokens, one_hot(labels, 5), torch.eye(5).expand(3, 5, 5)))


def test_sparse_gradients_of_an_embedding_count_as_dense_ones() -> None:
    def net(sparse: bool) -> Any:
        torch.manual_seed(4)
        return torch.nn.Sequential(torch.nn.EmbeddingBag(9, 4, sparse=sparse), torch.nn.Linear(4, 2))

    tokens, labels = torch.tensor([[0, 1], [7, 7]]), torch.tensor([0, 1])
    dense, sparse = (sensitivity_map(net(one), tokens, labels).tensors for one in (False, True))
    assert_maps_equal(sparse, dense)
    assert not dense["0.weight"][2:7].any()
