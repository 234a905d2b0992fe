"""A module as its map is computed on it: in evaluation mode, no gradient of its own touched, and then as before."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from hekat.errors import InputError
from hekat.torch_library import import_torch


@contextmanager
def in_evaluation_mode(module: Any, weights: dict[str, Any], asked: Collection[str]) -> Iterator[None]:
    """A block in which dropout is off and normalisations use their running statistics; `weights` have no gradient, and
    only the ones in `asked` ask for one."""
    torch = import_torch()
    modes = [(part, part.training) for part in module.modules()]
    gradients = {name: tensor.grad for name, tensor in weights.items()}
    try:
        module.eval()
        for name, tensor in weights.items():
            tensor.grad = None
            tensor.requires_grad_(name in asked)
        with torch.enable_grad():
            yield
    finally:
        for part, training in modes:
            part.training = training
        for name, tensor in weights.items():
            tensor.requires_grad_()
            tensor.grad = gradients[name]


def trained_weights(module: Any) -> dict[str, Any]:
    """The parameters that require a gradient, by name, each once. Raises InputError for none, and for half floats."""
    torch = import_torch()
    weights = {name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad}
    if not weights:
        raise InputError(
            "a module without gradients",
            expected="at least one parameter that requires a gradient",
            got="none",
            cure="unfreeze the parameters that are trained: requires_grad_()",
        )
    for name, tensor in weights.items():
        if isinstance(tensor, torch.nn.parameter.UninitializedParameter):
            raise InputError(
                "a module whose layers are not made yet",
                expected="weights of known sizes",
                got=f"{name}, which a lazy layer makes at the first row",
                cure="put one row through the module first",
            )
        if tensor.dtype not in (torch.float32, torch.float64):
            raise InputError(
                "weights of another precision",
                expected="float32 or float64",
                got=f"{name}, of {tensor.dtype}",
                cure="compute the map on module.float()",
            )
    return weights


def check_rows_have_gradients(module: Any) -> None:
    """Raise InputError for a batch normalisation that takes the batch's statistics also in evaluation mode."""
    torch = import_torch()
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is None:
            raise InputError(
                "a row of this module has no gradient of its own",
                expected="batch normalisations with running statistics",
                got=f"{name or 'one'}, which normalises by the other rows of the batch",
                cure="set track_running_stats=True, or normalise by GroupNorm or LayerNorm",
            )
