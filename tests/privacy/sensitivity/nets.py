"""Small modules, and the map of a module as its definition says: second derivatives, one number after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


def conv_net(seed: int = 1) -> Any:
    """Two convolutions, one with a batch normalisation, dropout and a linear layer: 3 classes of 1 x 6 x 6 pictures."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3, padding=1),
        torch.nn.BatchNorm2d(3),
        torch.nn.Sigmoid(),
        torch.nn.Conv2d(3, 4, 3, stride=2),
        torch.nn.Sigmoid(),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(16, 3),
    )
    net[1].running_mean.uniform_(-0.1, 0.1)
    net[1].running_var.uniform_(0.1, 0.3)
    return net


def pictures(count: int, seed: int = 2) -> tuple[Any, Any]:
    """Rows and class numbers for `conv_net`."""
    draws = torch.Generator().manual_seed(seed)
    return torch.rand((count, 1, 6, 6), generator=draws), torch.randint(0, 3, (count,), generator=draws)


def cross_entropy_of_vector(outputs: Any, y: Any) -> Any:
    """-sum y_c log p_c."""
    return -(y * torch.log_softmax(outputs, dim=1)).sum()


def map_by_definition(
    module: Any,
    rows: Any,
    labels: Any,
    directions: Any,
    loss: Callable[[Any, Any], Any] = cross_entropy_of_vector,
) -> dict[str, np.ndarray[Any, Any]]:
    """Mean over rows of the norm over directions v of d/dw (dl/dy . v), by graphs of graphs.

    `labels` are vectors (rows, C), `directions` (rows, n, C).
    """
    module.eval()
    weights = {name: one for name, one in module.named_parameters() if one.requires_grad}
    total = {name: torch.zeros_like(one) for name, one in weights.items()}
    for row, label, own in zip(rows, labels, directions, strict=True):
        squares = {name: torch.zeros_like(one) for name, one in weights.items()}
        for v in own:
            y = label[None].clone().requires_grad_()
            (by_label,) = torch.autograd.grad(loss(module(row[None]), y), y, create_graph=True)
            found = torch.autograd.grad((by_label * v).sum(), list(weights.values()))
            for name, one in zip(weights, found, strict=True):
                squares[name] += one**2
        for name in weights:
            total[name] += squares[name].sqrt()
    return {name: (one / len(rows)).detach().numpy() for name, one in total.items()}


def one_hot(labels: Any, count: int = 3) -> Any:
    return torch.nn.functional.one_hot(labels, count).float()


def assert_maps_equal(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-3, atol=tolerance * np.abs(values).max(), err_msg=name)
