"""The kinds of tensors in a PyTorch module's state dict: weights, frozen weights, statistics, or a party's own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hekat.errors import InputError
from hekat.model.parameters import FloatArray, Parameters, Shapes, check_same_shapes
from hekat.torch_library import import_torch


@dataclass(frozen=True)
class ModuleTensors:
    """The live tensors of one module, by their names in its state dict.

    `shared` are the tensors of real numbers, each once: a tensor that the module holds under two names goes by the
    first, and `twins` maps the other to it. `local` are whole numbers and booleans, which no party sends. `variances`
    are the running variances of normalisations, which are among the `averaged`.
    """

    shared: dict[str, Any] = field(repr=False)
    local: dict[str, Any] = field(repr=False)
    twins: dict[str, str]
    frozen: frozenset[str]
    averaged: frozenset[str]
    variances: frozenset[str]

    @classmethod
    def of(cls, module: Any, name: str) -> ModuleTensors:
        """The tensors of `module`; refusals call the model `name`.

        Raises InputError for a module that cannot be trained.
        """
        torch = import_torch()
        shared: dict[str, Any] = {}
        local: dict[str, Any] = {}
        twins: dict[str, str] = {}
        for key, tensor in module.state_dict(keep_vars=True).items():
            _check_tensor(torch, name, key, tensor)
            first = next((other for other, held in shared.items() if held is tensor), None)
            if first is not None:
                twins[key] = first
            else:
                (shared if tensor.is_floating_point() else local)[key] = tensor
        averaged = frozenset(key for key, tensor in shared.items() if not isinstance(tensor, torch.nn.Parameter))
        frozen = frozenset(key for key, tensor in shared.items() if key not in averaged and not tensor.requires_grad)
        if len(averaged) + len(frozen) == len(shared):
            raise InputError(
                f"model {name} has nothing to train",
                expected="a module with at least one parameter that requires a gradient",
                got=f"{len(frozen)} frozen parameters, {len(averaged)} buffers",
                cure="correct the model's function",
            )
        return cls(shared, local, twins, frozen, averaged, _variances_in(torch, module, averaged))

    @property
    def trained(self) -> tuple[str, ...]:
        """The names of the weights that move."""
        return tuple(key for key in self.shared if key not in self.frozen and key not in self.averaged)

    @property
    def shapes(self) -> Shapes:
        """The shape of each shared tensor."""
        return {key: tuple(tensor.shape) for key, tensor in self.shared.items()}

    def read(self) -> Parameters:
        """Copies of the shared tensors as float64."""
        return {key: to_float64(tensor) for key, tensor in self.shared.items()}

    def write(self, parameters: Parameters) -> None:
        """Put `parameters` into the module, rounded to its own precision. Raises InputError for other names or
        shapes."""
        torch = import_torch()
        check_same_shapes("parameters", parameters, self.shapes)
        with torch.no_grad():
            for key, tensor in self.shared.items():
                values = parameters[key]
                tensor.copy_(torch.from_numpy(values if values.flags.writeable else values.copy()))


def _variances_in(torch: Any, module: Any, averaged: frozenset[str]) -> frozenset[str]:
    normalisations = (
        path for path, part in module.named_modules() if isinstance(part, torch.nn.modules.batchnorm._NormBase)
    )
    return averaged & {f"{path}.running_var".removeprefix(".") for path in normalisations}


def to_float64(tensor: Any) -> FloatArray:
    """A copy of a tensor as a float64 array."""
    torch = import_torch()
    return np.array(tensor.detach().to(device="cpu", dtype=torch.float64).numpy(), dtype=np.float64)


def _check_tensor(torch: Any, name: str, key: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        expected, got = "tensors alone in the module's state dict", f"{key}, of type {type(tensor).__name__}"
    elif tensor.is_complex() or tensor.is_sparse or tensor.is_quantized:
        expected, got = "dense tensors of real or whole numbers", f"{key}, of {tensor.dtype}"
    elif tensor.is_floating_point() and math.prod(tensor.shape) == 0:
        expected, got = "tensors with at least one value", f"{key}, of shape {tuple(tensor.shape)}"
    else:
        return
    raise InputError(
        f"model {name} has a tensor that cannot be trained together",
        expected=expected,
        got=got,
        cure="change the model's function",
    )
