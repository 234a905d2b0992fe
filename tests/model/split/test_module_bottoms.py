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


def test_lazy_layers_are_made_from_the_first_rows_and_the_seed() -> None:
    made = [module_bottom(lambda: torch.nn.LazyLinear(4))(task_of(trains=True)) for _ in range(2)]
    assert made[0].arrays()["weight"].shape == (4, 3)
    np.testing.assert_array_equal(made[0].arrays()["weight"], made[1].arrays()["weight"])


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


class Logarithm(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module of outputs that are no numbers for half of all rows."""

    def forward(self, x: Any) -> Any:
        return torch.log(x)


class OddTop(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A top whose outputs differ from call to call, in eval() mode too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, z: Any) -> Any:
        return self.layer(z) + torch.rand(len(z), 2)


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


class Ignoring(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module whose outputs follow from its tensors alone, or from nothing."""

    def __init__(self, *, detached: bool) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(2))
        self.detached = detached

    def forward(self, z: Any) -> Any:
        outputs = self.bias.repeat(len(z), 1)
        return outputs.detach() if self.detached else outputs


class Steep(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module of finite outputs, whose gradient at its first weights is infinite."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
        torch.nn.init.zeros_(self.layer.weight)
        torch.nn.init.zeros_(self.layer.bias)

    def forward(self, z: Any) -> Any:
        return torch.sqrt(torch.abs(self.layer(z)))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda: torch.nn.Linear(4, 3),
            r"a top returns outputs of another form; .*\(rows, 2\).*last layer: one output",
        ),
        (lambda: torch.nn.Linear(5, 2), "the module of a top raised; expected a module that takes rows of 4 units"),
        (lambda: torch.nn.Sequential(torch.nn.Linear(4, 2), Logarithm()), "outputs of a top hold NaN or infinity"),
        (OddTop, "the module of a top changes from call to call; .*the same outputs"),
        (lambda: torch.nn.Unflatten(1, (2, 2)), "outputs of another form"),
        (lambda: torch.nn.AvgPool1d(2), "model top has nothing to train"),
        (lambda: 3, "the function of a top returns no module"),
    ],
)
def test_odd_tops_are_refused_by_their_own_name(make: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        module_top(make)(TopTask(4, 2, 0.05, seed=3))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Ignoring(detached=True), "outputs of a top do not depend on its tensors"),
        (lambda: Ignoring(detached=False), "outputs of a top do not depend on its units"),
        (Steep, "gradients of a top hold NaN or infinity"),
    ],
)
def test_a_top_that_no_gradient_goes_through_is_refused(make: Any, match: str) -> None:
    top = module_top(make)(TopTask(4, 2, 0.05, seed=3))
    top.forward(np.ones((3, 4)))
    with pytest.raises(InputError, match=match):
        top.backward(np.ones((3, 2)))


def test_outputs_of_a_top_that_turn_to_nan_in_training_are_refused() -> None:
    top = module_top(lambda: torch.nn.Linear(4, 2))(TopTask(4, 2, 0.05, seed=3))
    top.begin_from({name: values * np.nan for name, values in top.arrays().items()})
    for outputs in (top.forward, top.evaluate):
        with pytest.raises(InputError, match=r"outputs of a top hold NaN or infinity; .*6 others of 6"):
            outputs(np.ones((3, 4)))


def test_a_top_may_begin_with_a_layer_that_works_in_place() -> None:
    tops = [
        module_top(lambda inplace=inplace: torch.nn.Sequential(torch.nn.ReLU(inplace), torch.nn.Linear(4, 2)))(
            TopTask(4, 2, 0.05, seed=3)
        )
        for inplace in (False, True)
    ]
    Z, slopes = np.random.default_rng(5).normal(size=(20, 4)), np.ones((20, 2))
    (outputs, to_inputs), (same, same_inputs) = ((top.forward(Z), top.backward(slopes)[1]) for top in tops)
    np.testing.assert_array_equal(outputs, same)
    np.testing.assert_array_equal(to_inputs, same_inputs)
