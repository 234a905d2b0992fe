"""A map holds the model, sums of its size and one tensor's gradient, and never a whole gradient beside them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.privacy.sensitivity.nets import torch

from hekat.privacy.attacks import leaky_lenet
from hekat.privacy.sensitivity import sensitivity_map


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


@pytest.mark.long
@pytest.mark.parametrize(("mode", "sums"), [("random", 1), ("exact", 2)])
def test_no_whole_gradient_is_held(mode: Any, sums: int) -> None:
    layers = [torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(12)]
    net = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(256, 3))
    size = 4 * sum(one.numel() for one in net.parameters())
    # A tensor is a twelfth of the model; activations are a hundredth.
    assert sums * size < _peak_bytes(net, mode) < (sums + 0.2) * size


@pytest.mark.parametrize(("mode", "models"), [("random", 2), ("exact", 3)])
def test_a_net_of_nearly_one_tensor_takes_three_models_at_most(mode: Any, models: int) -> None:
    net = leaky_lenet(class_count=100)
    assert _peak_bytes(net, mode, (3, 32, 32)) <= models * 4 * sum(one.numel() for one in net.parameters())
