"""PyTorch modules as bottoms: trained from slopes that come from outside, or frozen; odd ones are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.model.split import BottomTask, DenseTop, TopTask, dense_bottom, module_bottom, module_top

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


def task_of(*, trains: bool, width: int = 4) -> BottomTask:
    features = np.random.default_rng(2).normal(size=(40, 3))
    return BottomTask(features, width, trains, seed=5, learning_rate=0.05)


def linear() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()).double()


def test_a_module_trains_as_the_dense_network_does() -> None:
    task = task_of(trains=True)
    module, dense = module_bottom(linear)(task), dense_bottom(task)
    tensors = module.arrays()
    dense.begin_from({"layer_1.weight": tensors["0.weight"].T.copy(), "layer_1.bias": tensors["0.bias"]})
    slopes = np.random.default_rng(3).normal(size=(40, 4))
    for _ in range(3):
        np.testing.assert_allclose(module.forward(task.features), dense.forward(task.features), atol=1e-9)
        module.step(module.backward(slopes))
        dense.step(dense.backward(slopes))
    np.testing.assert_allclose(module.evaluate(task.features), dense.evaluate(task.features), atol=1e-9)
    again = module_bottom(linear)(task)
    again.begin_from(module.state_arrays())
    np.testing.assert_array_equal(again.evaluate(task.features), module.evaluate(task.features))


def test_a_frozen_module_gives_the_same_features_in_training() -> None:
    def with_dropout() -> Any:
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(4))

    task = task_of(trains=False)
    bottom = module_bottom(with_dropout)(task)
    np.testing.assert_array_equal(bottom.forward(task.features), bottom.evaluate(task.features))
    with pytest.raises(InputError, match="does not train"):
        bottom.backward(np.zeros((40, 4)))
    again = module_bottom(with_dropout)(BottomTask(task.features, 4, False, seed=9))
    again.begin_from(bottom.arrays())
    np.testing.assert_array_equal(again.evaluate(task.features), bottom.evaluate(task.features))


class Drawing(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module whose features differ from call to call, in eval() mode too."""

    def forward(self, x: Any) -> Any:
        return torch.cat([x, torch.rand(len(x), 1)], dim=1)


class Counting(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module that counts its calls in eval() mode too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.layer(x)


class Unused(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module with a buffer of NaN that its features do not depend on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)
        self.register_buffer("unused", torch.full((2,), torch.nan))

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def broken() -> Any:
    layer = torch.nn.Linear(3, 4)
    torch.nn.init.constant_(layer.bias[:1], torch.nan)
    return layer


def test_a_buffer_of_nan_that_stays_as_it_is_is_no_change() -> None:
    assert module_bottom(Unused)(task_of(trains=False)).width == 4


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (broken, "features of a bottom hold NaN or infinity; .*40 others of 160"),
        (Drawing, "changes from call to call"),
        (Counting, "changes from call to call"),
        (lambda: torch.nn.Linear(3, 5), "features of another form"),
        (lambda: torch.nn.Linear(2, 4), "the module of a bottom raised"),
        (lambda: torch.nn.Flatten(0), "features of another form"),
        (lambda: "no module", "returns no module"),
    ],
)
def test_odd_modules_are_refused(make: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        module_bottom(make)(task_of(trains=False))


def test_a_module_is_a_top_as_the_dense_network_is() -> None:
    def make() -> Any:
        return torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 2)).double()

    top = module_top(make)(TopTask(4, 2, 0.05, seed=3))
    dense = DenseTop(4, (), 2, activation="relu", learning_rate=0.05, seed=1)
    tensors = top.arrays()
    dense.begin_from({"layer_1.weight": tensors["1.weight"].T.copy(), "layer_1.bias": tensors["1.bias"]})
    rng = np.random.default_rng(4)
    Z, slopes = rng.normal(size=(20, 4)), rng.normal(size=(20, 2))
    for _ in range(2):
        np.testing.assert_allclose(top.forward(Z), dense.forward(Z), atol=1e-9)
        (gradient, ours), (other, theirs) = top.backward(slopes), dense.backward(slopes)
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
        top.step(gradient)
        dense.step(other)
    np.testing.assert_allclose(top.evaluate(Z), dense.evaluate(Z), atol=1e-9)
    with pytest.raises(InputError, match="features of another form"):
        module_top(make)(TopTask(4, 3, 0.05, seed=3))
