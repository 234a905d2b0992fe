"""A module whose gradient PyTorch cannot derive once more is refused by name, and not attacked by half its slopes."""

from __future__ import annotations

from typing import Any

import pytest

from hekat.errors import InputError
from hekat.privacy import Mask
from hekat.privacy.attacks import (
    AttackedModel,
    LabelReading,
    LineSearch,
    SignedAdam,
    VisibleUpdate,
    deep_leakage,
    invert,
)
from hekat.privacy.attacks.second_derivative import refusing_single_derivatives

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


class _Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Any) -> Any:
        ctx.save_for_backward(rows)
        return rows * rows


class _Once(_Square):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Any) -> Any:
        return 2 * slope * ctx.saved_tensors[0]


class _ByNumpy(_Square):
    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        return 2 * torch.from_numpy(slope.numpy()) * ctx.saved_tensors[0]


class _Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Any, text: str) -> Any:
        ctx.text = text
        return rows * rows

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        raise RuntimeError(ctx.text)


def _distances(rows: Any) -> Any:
    return torch.cdist(rows[:, None], torch.ones(1, 5, 5), p=1)[:, 0]


class _Net(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Slopes of the last layer follow the rows in any case, so that what is missing is not all."""

    def __init__(self, middle: Any) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.last, self._middle = torch.nn.Linear(4, 5), torch.nn.Linear(5, 3), middle

    def forward(self, rows: Any) -> Any:
        return self.last(self._middle(self.first(rows)))


@pytest.mark.parametrize(
    ("middle", "got"),
    [
        (_Once.apply, "an operation without one"),
        (_ByNumpy.apply, "an operation without one"),
        (_distances, "_cdist_backward, which has none"),
    ],
    ids=["once_differentiable", "numpy", "operation"],
)
def test_what_cannot_be_derived_twice_is_refused(middle: Any, got: str) -> None:
    model = AttackedModel(_Net(middle))
    update = model.gradient(torch.rand(1, 4, generator=torch.Generator().manual_seed(2)), torch.tensor([1]))
    seen = VisibleUpdate.adaptive(update, Mask.nothing({name: one.numel() for name, one in update.items()}))
    with pytest.raises(InputError, match="gradient cannot be derived once more") as refused:
        invert(deep_leakage(step_count=20), model, seen, LabelReading.known([1], 3), row_shape=(4,))
    assert got in str(refused.value)


@pytest.mark.parametrize("optimiser", [LineSearch(2), SignedAdam(2)])
def test_what_shows_in_a_later_step_is_refused(optimiser: Any) -> None:
    def lower(guess: Any) -> Any:
        return torch.autograd.grad(_Once.apply(guess[0]).sum(), guess[0], create_graph=True)[0].sum()

    with pytest.raises(InputError, match="cannot be derived once more"):
        optimiser.minimise(lower, [torch.tensor([[0.25]])], lambda step: None)


@pytest.mark.parametrize(
    "text",
    [
        "Double backwards is not supported for CuDNN RNNs due to limitations in the CuDNN API.",
        "grid_sampler_2d_double_backward does not support interpolation mode 2",
        "scatter_reduce(): Double backward is unsupported for src",
        "torch.compile with aot_autograd does not currently support double backward",
    ],
)
def test_texts_of_single_operations_are_refusals(text: str) -> None:
    with pytest.raises(InputError, match="cannot be derived once more"), refusing_single_derivatives():
        raise RuntimeError(text)


@pytest.mark.parametrize(
    "text",
    [
        "DefaultCPUAllocator: can't allocate memory",
        "CUDA error: an illegal memory access was encountered",
        "the module's own",
    ],
)
def test_what_else_fails_is_no_missing_derivative(text: str) -> None:
    def lower(guess: Any) -> Any:
        return _Failing.apply(guess[0], text).sum()

    with pytest.raises(RuntimeError) as raised:
        SignedAdam(2).minimise(lower, [torch.ones(1, 1)], lambda step: None)
    assert type(raised.value) is RuntimeError
    assert str(raised.value) == text


def test_tensors_of_the_module_that_are_no_parameters_hold_no_trace() -> None:
    scale = torch.ones(5, requires_grad=True)
    model = AttackedModel(_Net(lambda rows: torch.tanh(scale * rows)))
    assert model.moves_with(torch.ones(1, 4), torch.tensor([1]))
    assert scale.grad is None
