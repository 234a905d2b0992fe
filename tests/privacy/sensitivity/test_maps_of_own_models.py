"""Models in NumPy have the map of the PyTorch module that computes the same, from dense and from sparse rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.privacy.sensitivity.nets import torch

from hekat.model import make_model
from hekat.model.torch_model import TorchModel
from hekat.privacy.sensitivity import sensitivity_map

ROWS = np.random.default_rng(1).normal(size=(40, 5)) * (np.random.default_rng(2).random((40, 5)) < 0.6)


def _module(sizes: list[int], activation: Any) -> Any:
    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(inputs, outputs, dtype=torch.float64), activation()]
    return torch.nn.Sequential(*layers[:-1])


@pytest.mark.quick_values
@pytest.mark.parametrize("mode", ["label", "random", "exact"])
@pytest.mark.parametrize(
    ("name", "class_count", "options"),
    [
        ("logistic", 2, {}),
        ("logistic", 3, {"l2": 0.5}),
        ("linear", None, {}),
        ("mlp", 3, {"hidden": (4, 3)}),
        ("mlp", None, {"hidden": (4,), "activation": "tanh"}),
    ],
)
def test_a_model_and_its_module_have_one_map(
    name: str, class_count: int | None, options: dict[str, Any], mode: Any
) -> None:
    model = make_model(name, 5, class_count, **options)
    draws = np.random.default_rng(3)
    params = {key: draws.normal(size=shape) for key, shape in model.parameter_shapes.items()}
    labels = draws.normal(size=40) if class_count is None else draws.integers(0, class_count, 40)
    outputs = 1 if class_count in (None, 2) else class_count
    activation = torch.nn.Tanh if options.get("activation") == "tanh" else torch.nn.ReLU
    module = _module([5, *options.get("hidden", ()), outputs], activation)
    with torch.no_grad():
        for own, values in zip(module.parameters(), params.values(), strict=True):
            own.copy_(torch.from_numpy(values.T))
    asked = {"mode": mode, "row_count": 30, "seed": 4}
    found = sensitivity_map(model, ROWS, labels, params=params, **asked)
    sparse = sensitivity_map(model, csr_array(ROWS), labels, params=params, **asked)
    column = labels[:, None] if class_count is None else labels
    expected = sensitivity_map(module, ROWS, column, **asked)
    assert found.row_count == expected.row_count
    for key, values in zip(params, expected.tensors.values(), strict=True):
        np.testing.assert_allclose(found.tensors[key], values.T, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(sparse.tensors[key], values.T, rtol=1e-9, atol=1e-12)


def test_a_site_s_own_module_takes_the_weights_that_it_is_given() -> None:
    module = torch.nn.Linear(5, 1)
    model = TorchModel("net", lambda: torch.nn.Linear(5, 1), column_count=5, class_count=2)
    labels = np.arange(40) % 2
    params = {name: one.detach().double().numpy() for name, one in module.named_parameters()}
    found = sensitivity_map(model, csr_array(ROWS), labels, params=params)
    expected = sensitivity_map(module, ROWS, labels)
    assert all(np.array_equal(found.tensors[name], expected.tensors[name]) for name in params)
