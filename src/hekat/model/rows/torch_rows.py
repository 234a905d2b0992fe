"""The gradient of each row of a PyTorch module, by opacus, an optional extra: its optimisers and noise are not used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hekat.errors import InputError, missing_extra
from hekat.model.module_tensors import to_float64
from hekat.model.parameters import FloatArray, Parameters
from hekat.torch_library import import_torch, seeded

# Gradients of so many values are held at once: 512 MiB of float64.
MOST_VALUES = 2**26
# Of the largest output: kernels round other than this by the size of a batch.
_MOST_DIFFERENCE = 1e-4


@contextmanager
def row_gradients(module: Any, name: str) -> Iterator[Any]:
    """A wrapped `module`: after a backward pass each parameter's `grad_sample` holds a row's gradient in each entry.

    Raises InputError without the extra, and for a module that mixes rows.
    """
    try:
        from opacus import GradSampleModule
    except ImportError as error:
        raise missing_extra(
            "opacus is not installed, which takes the gradient of each row of a PyTorch module", "privacy-torch", error
        ) from None
    try:
        wrapped = GradSampleModule(module, loss_reduction="sum", strict=True)
    except (NotImplementedError, ValueError) as error:
        raise _mixed(name, type(error).__name__) from None
    try:
        yield wrapped
    finally:
        wrapped._close()  # takes its hooks and attributes off the module again


def check_rows_apart(module: Any, rows: Any, name: str) -> None:
    """Raise InputError unless each row's outputs are the same alone and among others.

    Opacus refuses some layers by their class; what else mixes rows, outputs show. `module` is in train() mode, at
    weights without a zero that would hide a layer; `rows` is a tensor of a few. Batch normalisation is refused in every
    form. Of what a module draws at random only dropout is known to be of each row's own: other draws are refused.
    """
    torch = import_torch()
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            raise _mixed(name, type(part).__name__)
    dropouts = [part for part in module.modules() if isinstance(part, torch.nn.modules.dropout._DropoutNd)]
    try:
        for part in dropouts:
            part.eval()
        with torch.no_grad():
            with seeded(1):
                together = module(rows)
            with seeded(2):
                again = module(rows)
            alone = torch.cat([module(rows[place : place + 1]) for place in range(rows.shape[0])])
    finally:
        for part in dropouts:
            part.train()
    most = _MOST_DIFFERENCE * together.abs().max()
    if not bool((again - together).abs().max() <= most):
        raise _mixed(name, "outputs with random numbers that no Dropout layer drew")
    if not bool((alone - together).abs().max() <= most):
        raise _mixed(name, "outputs of a row that other rows change")


def _mixed(name: str, got: str) -> InputError:
    return InputError(
        f"the rows of model {name} have no gradients of their own",
        expected="layers that treat each row by itself, without statistics of a batch",
        got=got,
        cure="take GroupNorm or LayerNorm in place of batch normalisation, or privacy.unit = 'party'",
    )


def clipped_sum(
    tensors: dict[str, Any], factors_of: Callable[[FloatArray], FloatArray], names: Collection[str], row_count: int
) -> Parameters:
    """The sum over rows of factor times gradient, in float64, from the `grad_sample` of each named tensor."""
    parts = {
        key: to_float64(tensors[key].grad_sample)
        for key in names
        if getattr(tensors[key], "grad_sample", None) is not None
    }
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sum((np.einsum("ij,ij->i", part, part) for part in _as_rows(parts, row_count)), np.zeros(row_count))
        factors = factors_of(np.sqrt(squares))
    good = factors > 0
    sums = {key: np.tensordot(factors[good], part[good], axes=1) for key, part in parts.items()}
    return {key: sums[key] if key in sums else np.zeros(tuple(tensors[key].shape)) for key in names}


def _as_rows(parts: dict[str, FloatArray], row_count: int) -> Iterator[FloatArray]:
    for part in parts.values():
        yield part.reshape(row_count, -1)
