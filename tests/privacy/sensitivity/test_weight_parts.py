"""An `exact` map takes the weights in parts, one after another, and only where that gives the same map."""

from __future__ import annotations

from typing import Any

import pytest
from tests.privacy.sensitivity.nets import assert_maps_equal, conv_net, map_by_definition, one_hot, pictures, torch

from hekat.errors import InputError
from hekat.privacy.sensitivity import sensitivity_map
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.sensitivity.module_source import ModuleSource


def _names(net: Any, rows: Any, labels: Any, mode: Any = "exact") -> list[list[str]]:
    source = ModuleSource(net, rows, labels, None, Directions(mode, 0))
    return [list(part.weights) for part in source._parts]


def test_late_layers_come_first_in_parts_of_a_third_or_one_tensor() -> None:
    """Of 199 numbers: 66 to a part, but for the 108 of one convolution."""
    net, (rows, labels) = conv_net(), pictures(2)
    early = ["1.bias", "1.weight", "0.bias", "0.weight"]
    assert _names(net, rows, labels) == [["7.weight", "7.bias", "3.bias"], ["3.weight"], early]
    assert len(_names(net, rows, labels, "random")) == 1


class _Again(torch.nn.Module):  # type: ignore[misc,name-defined]
    """May compute a layer again on the way back; its weight then has no gradient where what comes in asks for none."""

    def __init__(self, *, goes_again: bool) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.first = torch.nn.Conv2d(1, 2, 3)
        self.second = torch.nn.Conv2d(2, 3, 3)
        self._goes_again = goes_again

    def forward(self, rows: Any) -> Any:
        hidden = torch.tanh(self.first(rows))
        if self._goes_again:
            return torch.utils.checkpoint.checkpoint(self.second, hidden, use_reentrant=True).sum((2, 3))
        return self.second(hidden).sum((2, 3))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_module_that_loses_gradients_in_parts_is_taken_whole() -> None:
    rows, labels = pictures(2)
    parted, whole = _Again(goes_again=False), _Again(goes_again=True)
    assert len(_names(parted, rows, labels)) > 1 == len(_names(whole, rows, labels))
    found = [sensitivity_map(net, rows, labels, mode="exact").tensors for net in (parted, whole)]
    assert_maps_equal(*found)
    assert found[0]["second.weight"].all()


def test_weights_that_nothing_uses_have_sensitivity_0() -> None:
    """Outputs do not depend on a part that holds them alone."""
    net, (rows, labels) = conv_net(), pictures(2)
    net.spare = torch.nn.Parameter(torch.ones(150))
    net.forward = torch.nn.Sequential(*list(net)).forward
    found = sensitivity_map(net, rows, labels, mode="exact").tensors
    assert not found.pop("spare").any()
    eye = torch.eye(3).expand(2, 3, 3)
    assert_maps_equal(found, map_by_definition(conv_net(), rows, one_hot(labels), eye))
    assert ["spare"] in _names(net, rows, labels)


@pytest.mark.parametrize("has_wrong_labels", [False, True])
def test_what_asks_for_gradients_stays_as_it_was(has_wrong_labels: bool) -> None:
    net, (rows, labels) = conv_net(), pictures(2)
    net[3].bias.requires_grad_(False)
    if has_wrong_labels:
        with pytest.raises(InputError, match="no class"):
            sensitivity_map(net, rows, labels + 3, mode="exact")
    else:
        sensitivity_map(net, rows, labels, mode="exact")
    assert [name for name, one in net.named_parameters() if not one.requires_grad] == ["3.bias"]
