"""A map holds the model, a sum of its size and one tensor's gradient; `exact` squares of a third of it, at most."""

from __future__ import annotations

from typing import Any

import pytest
from tests.privacy.sensitivity.nets import torch

from hekat.privacy.attacks import leaky_lenet
from hekat.privacy.sensitivity import sensitivity_map
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.sensitivity.module_source import ModuleSource


def _peak_bytes(net: Any, mode: Any, shape: tuple[int, ...] = (64, 2, 2)) -> int:
    """The most bytes that PyTorch held during a map, beyond what it held before."""
    rows, labels = torch.rand(3, *shape), torch.tensor([0, 1, 2])
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True)
    with profiler as profile:
        sensitivity_map(net, rows, labels, mode=mode)
    events = [one for one in profile.profiler.kineto_results.events() if one.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda one: one.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def _stated_bytes(net: Any, mode: Any, shape: tuple[int, ...]) -> int:
    """What a dry run says of the same map."""
    return ModuleSource(net, torch.rand(3, *shape), torch.tensor([0, 1, 2]), None, Directions(mode, 0)).held_bytes


@pytest.mark.long
@pytest.mark.parametrize(("mode", "sums"), [("random", 1), ("exact", 4 / 3)])
def test_no_whole_gradient_is_held(mode: Any, sums: float) -> None:
    layers = [torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(12)]
    net = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(256, 3))
    size = 4 * sum(one.numel() for one in net.parameters())
    # A tensor is a twelfth of the model; activations are a hundredth.
    found, stated = _peak_bytes(net, mode), _stated_bytes(net, mode, (64, 2, 2))
    assert sums * size < found < (sums + 0.2) * size
    assert stated < found < 1.1 * stated


@pytest.mark.parametrize("mode", ["random", "exact"])
def test_a_net_of_nearly_one_tensor_takes_three_models_at_most(mode: Any) -> None:
    """With the net itself: one sum, and the gradient of its linear layer once."""
    net = leaky_lenet(class_count=100)
    found = _peak_bytes(net, mode, (3, 32, 32))
    assert found <= 2 * 4 * sum(one.numel() for one in net.parameters())
    assert _stated_bytes(net, mode, (3, 32, 32)) < found < 1.2 * _stated_bytes(net, mode, (3, 32, 32))


@pytest.mark.long
def test_a_net_of_linear_layers_is_compared_with_its_rows_once() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 400), torch.nn.ReLU(), torch.nn.Linear(400, 3))
    stated = _stated_bytes(net, "random", (64, 2, 2))
    assert stated <= 2 * 4 * sum(one.numel() for one in net.parameters())
    assert stated < _peak_bytes(net, "random") < 1.1 * stated
