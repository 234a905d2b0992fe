"""Slopes that an attack follows: a gradient of the module derived once more, which not every operation allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hekat.errors import InputError
from hekat.torch_library import import_torch

# PyTorch's texts name the operation; no other part of them is shown, since a module's own text could hold its rows.
_OPERATION = re.compile(r"derivative for '?((?:\w+::)?\w+)'? is not implemented")


def derive_again(value: Any, guess: Sequence[Any]) -> tuple[Any, ...]:
    """The slopes of `value` by each tensor of the guess, None by one that it does not depend on.

    Raises InputError where PyTorch cannot derive the gradients that `value` is made of.
    """
    torch = import_torch()
    with refusing_single_derivatives():
        return tuple(torch.autograd.grad(value, list(guess), allow_unused=True))


@contextmanager
def refusing_single_derivatives() -> Iterator[None]:
    """A block that derives with a graph, or derives such a graph; what PyTorch cannot do there is an InputError."""
    torch = import_torch()
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error):
            raise
        operation = _OPERATION.search(str(error))
        raise InputError(
            "the module's gradient cannot be derived once more",
            expected="operations with a second derivative in PyTorch: an attack follows how gradients change with rows",
            got="an operation without one" if operation is None else f"{operation[1]}, which has none",
            cure="build the module of other operations, or write a backward that can itself be derived, without "
            "once_differentiable and numpy(); what the update tells of the rows is not known by this",
        ) from error
