"""A map is refused, with its cure, where a row has no gradient, or a number in it would be none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.privacy.sensitivity.nets import conv_net, pictures, torch

from hekat.errors import InputError
from hekat.model import make_model
from hekat.privacy.sensitivity import sensitivity_map

ROWS, LABELS = torch.eye(4), torch.tensor([0, 1, 2, 0])


def _net() -> Any:
    return torch.nn.Linear(4, 3)


class _Cut(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, rows: Any) -> Any:
        return self.layer(rows).detach()


def _frozen() -> Any:
    return _net().requires_grad_(False)


def _unsteady() -> Any:
    return torch.nn.Sequential(_net(), torch.nn.BatchNorm1d(3, track_running_stats=False))


@pytest.mark.parametrize(
    ("net", "rows", "labels", "asked", "what"),
    [
        (_frozen, ROWS, LABELS, {}, "a module without gradients"),
        (_Cut, ROWS, LABELS, {}, "a module without gradients"),
        (_unsteady, ROWS, LABELS, {}, "no gradient of its own"),
        (lambda: torch.nn.LazyLinear(3), ROWS, LABELS, {}, "layers are not made yet"),
        (lambda: _net().half(), ROWS, LABELS, {}, "another precision"),
        (_net, ROWS * torch.nan, LABELS, {}, "NaN or infinity"),
        (_net, ROWS, LABELS[:3], {}, "do not fit"),
        (_net, ROWS[:0], LABELS[:0], {}, "of no rows"),
        (_net, ROWS, LABELS + 1, {}, "no class of this module"),
        (_net, ROWS, LABELS - 1, {}, "no class of this module"),
        (_net, ROWS, LABELS.float(), {}, "labels do not fit"),
        (_net, ROWS, LABELS.float(), {"loss": "cross_entropy"}, "no class numbers"),
        (_net, ROWS, LABELS, {"loss": "crossentropy"}, "did you mean 'cross_entropy'"),
        (_net, ROWS, LABELS.float(), {"loss": lambda outputs, y: y.sum()}, "without a sensitivity map"),
        (_net, ROWS, LABELS.float(), {"loss": lambda outputs, y: y.sum() + outputs.sum()}, "without a sensitivity map"),
        (_net, ROWS, LABELS, {"mode": "randm"}, "did you mean 'random'"),
        (_net, ROWS, LABELS, {"fraction": 0.0}, "above 0, up to 1"),
        (_net, ROWS, LABELS, {"fraction": 1.5}, "above 0, up to 1"),
        (_net, ROWS, LABELS, {"fraction": float("nan")}, "above 0, up to 1"),
        (_net, ROWS, LABELS, {"row_count": 0}, "from 1"),
        (_net, ROWS, LABELS, {"seed": -1}, "seed"),
        (_net, ROWS, LABELS, {"params": {}}, "weights beside a module"),
        (lambda: _net, ROWS, LABELS, {}, "give the module itself"),
        (lambda: torch.nn.Unflatten(1, (2, 2)), ROWS, LABELS, {}, "a module without gradients"),
        (lambda: torch.nn.Sequential(_net(), torch.nn.Unflatten(1, (1, 3))), ROWS, LABELS, {}, "another form"),
    ],
)
def test_what_has_no_map_is_refused(net: Any, rows: Any, labels: Any, asked: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        sensitivity_map(net(), rows, labels, **asked)


def test_a_model_of_hekats_comes_with_its_weights_and_its_own_loss() -> None:
    model, rows, labels = make_model("logistic", 2, 2), np.eye(2), np.array([0, 1])
    with pytest.raises(InputError, match="no params"):
        sensitivity_map(model, rows, labels)
    with pytest.raises(InputError, match="a loss"):
        sensitivity_map(model, rows, labels, params=model.init(0), loss="squared")
    with pytest.raises(InputError, match="NaN or infinity"):
        sensitivity_map(model, rows + np.inf, labels, params=model.init(0))


def test_a_gradient_that_comes_in_parts_is_refused() -> None:
    class Again(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)
            self.norm = torch.nn.LayerNorm(4)

        def forward(self, rows: Any) -> Any:
            start = rows.clone().requires_grad_()
            again = torch.utils.checkpoint.checkpoint(self.layer, start, use_reentrant=True)
            return self.norm(torch.utils.checkpoint.checkpoint(self.layer, again, use_reentrant=True))

    with pytest.raises(InputError, match="comes in parts"):
        sensitivity_map(Again(), ROWS, LABELS)


def test_normalisations_do_not_take_the_row_for_their_statistics() -> None:
    net, (rows, labels) = conv_net().train(), pictures(3)
    found = sensitivity_map(net, rows, labels, mode="label").tensors
    expected = sensitivity_map(net.eval(), rows, labels, mode="label").tensors
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert int(net[1].num_batches_tracked) == 0
