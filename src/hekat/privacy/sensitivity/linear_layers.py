"""Modules whose weights are all in linear layers on one vector a row: |delta|^T |a| sums a whole batch at once.

The gradient of such a layer's weight is an outer product for each row, so its absolute value is the product of absolute
values. A layer that a row uses at several positions adds them before the absolute value, and has no such form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hekat.privacy.sensitivity.directions import mark_last
from hekat.torch_library import import_torch


@dataclass(frozen=True)
class LinearLayer:
    """One layer with the names of its trained weights, "" for one that is not trained."""

    part: Any
    weight: str
    bias: str


def linear_layers_of(module: Any, weights: dict[str, Any]) -> tuple[LinearLayer, ...] | None:
    """The layers that hold all of `weights`, each weight in one of them; None where some are elsewhere."""
    torch = import_torch()
    names = {id(tensor): name for name, tensor in weights.items()}
    layers = tuple(
        LinearLayer(part, names.get(id(part.weight), ""), names.get(id(part.bias), ""))
        for part in module.modules()
        if type(part) is torch.nn.Linear and {id(one) for one in part.parameters(recurse=False)} & names.keys()
    )
    held = sorted(name for layer in layers for name in (layer.weight, layer.bias) if name)
    return layers if held == sorted(weights) else None


class LinearPass:
    """One batch forward through a module, with what came into its linear layers and what left them."""

    def __init__(self, layers: tuple[LinearLayer, ...]) -> None:
        self._layers = layers
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._order: list[LinearLayer] = []

    def forward(self, module: Any, inputs: tuple[Any, ...]) -> Any:
        """The module's outputs."""
        hooks = [layer.part.register_forward_hook(self._keeper_of(layer)) for layer in self._layers]
        try:
            return module(*inputs)
        finally:
            for hook in hooks:
                hook.remove()

    def is_one_vector_a_row(self, row_count: int) -> bool:
        """Whether each layer was used once at most, on one vector of each row."""
        shapes_fit = all(one.ndim == 2 and one.shape[0] == row_count for one in self._inputs)
        return shapes_fit and len({id(layer) for layer in self._order}) == len(self._order)

    def add(self, slopes: Iterator[tuple[Any, Any]], sums: dict[str, Any]) -> None:
        """Go back from each origin and its vector, and add the batch's sensitivities to the sums."""
        torch = import_torch()
        deltas: list[Any] = []
        has_several = False
        for (origin, slope), is_last in mark_last(slopes):
            found = self._back(origin, slope, is_last=is_last)
            if is_last and not has_several:
                deltas = [one.abs() for one in found]
                break
            deltas = deltas or [torch.zeros_like(one) for one in found]
            has_several = True
            for total, one in zip(deltas, found, strict=True):
                total.addcmul_(one, one)
        with torch.no_grad():
            for layer, values, delta in zip(self._order, self._inputs, deltas, strict=True):
                norms = delta.sqrt_() if has_several else delta
                if layer.weight:
                    sums[layer.weight].addmm_(norms.T, values.abs())
                if layer.bias:
                    sums[layer.bias].add_(norms.sum(dim=0))

    def _back(self, origin: Any, slope: Any, *, is_last: bool) -> list[Any]:
        torch = import_torch()
        found = torch.autograd.grad(origin, self._outputs, slope, retain_graph=not is_last, allow_unused=True)
        return [
            torch.zeros_like(output) if delta is None else delta
            for output, delta in zip(self._outputs, found, strict=True)
        ]

    def _keeper_of(self, layer: LinearLayer) -> Any:
        def keep(part: Any, inputs: tuple[Any, ...], output: Any) -> Any:
            self._order.append(layer)
            self._inputs.append(inputs[0].detach())
            self._outputs.append(output)
            # The next layer may work in place, and would change what is gone back to.
            return output.clone()

        return keep
