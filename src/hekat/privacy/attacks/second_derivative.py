"""Slopes that an attack follows: a gradient of the module derived once more, which not every operation allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hekat.errors import InputError
from hekat.torch_library import import_torch

# PyTorch's texts where it has no second derivative; what else fails, memory, the device or the module, stays as it is.
_OPERATION = re.compile(r"derivative for '?((?:\w+::)?\w+)'? is not implemented")
_MISSING = re.compile(
    f"{_OPERATION.pattern}"
    "|trying to differentiate twice a function that was marked with @once_differentiable"
    r"|element \d+ of tensors does not require grad"
    r"|Can't call numpy\(\) on Tensor that requires grad"
    "|[Dd]ouble[ _]backwards? (is |does )?(not |un)(support|implemented)"
    "|support double backward"
)


def derive_again(value: Any, guess: Sequence[Any]) -> tuple[Any, ...]:
    """The slopes of `value` by each tensor of the guess, None by one that it does not depend on.

    Raises InputError where PyTorch cannot derive the gradients that `value` is made of.
    """
    torch = import_torch()
    with refusing_single_derivatives():
        return tuple(torch.autograd.grad(value, list(guess), allow_unused=True))


def leaves_of(value: Any) -> list[Any]:
    """The tensors at the ends of the graph of `value`, each once; `value` requires a gradient."""
    seen, left, leaves = {value.grad_fn}, [value.grad_fn], []
    while left:
        node = left.pop()
        if node.name() == "torch::autograd::AccumulateGrad":
            leaves.append(node.variable)
        found = {following for following, _ in node.next_functions if following is not None} - seen
        seen |= found
        left.extend(found)
    return leaves


@contextmanager
def refusing_single_derivatives() -> Iterator[None]:
    """A block that derives with a graph, or derives such a graph; a derivative missing there is an InputError."""
    try:
        yield
    except RuntimeError as error:
        if _MISSING.search(str(error)) is None:
            raise
        operation = _OPERATION.search(str(error))
        raise InputError(
            "the module's gradient cannot be derived once more",
            expected="operations with a second derivative in PyTorch: an attack follows how gradients change with rows",
            got="an operation without one" if operation is None else f"{operation[1]}, which has none",
            cure="build the module of other operations, or write a backward that can itself be derived, without "
            "once_differentiable and numpy(); what the update tells of the rows is not known by this",
        ) from error
