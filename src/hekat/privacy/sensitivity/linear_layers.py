"""Linear layers on one vector a row: |delta|^T |a| sums a whole batch at once, and no gradient is made.

The gradient of such a layer's weight is an outer product for each row, so its absolute value is the product of absolute
values. A layer that a row uses at several positions adds them before the absolute value, and has no such form. Weights
of other layers take their gradients as ever, a row at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hekat.privacy.sensitivity.directions import mark_last
from hekat.privacy.sensitivity.row_gradients import RowGradients
from hekat.torch_library import import_torch


@dataclass(frozen=True)
class LinearLayer:
    """One layer with the names of its trained weights, "" for one that is not trained."""

    part: Any
    weight: str
    bias: str

    @property
    def names(self) -> tuple[str, ...]:
        """The weights that the layer trains."""
        return tuple(name for name in (self.weight, self.bias) if name)


def linear_layers_of(module: Any, weights: dict[str, Any]) -> tuple[LinearLayer, ...]:
    """The linear layers that train some of `weights`, and share none of them with another one."""
    torch = import_torch()
    names = {id(tensor): name for name, tensor in weights.items()}
    layers = tuple(
        LinearLayer(part, names.get(id(part.weight), ""), names.get(id(part.bias), ""))
        for part in module.modules()
        if type(part) is torch.nn.Linear and {id(one) for one in part.parameters(recurse=False)} & names.keys()
    )
    uses = Counter(name for layer in layers for name in layer.names)
    return tuple(layer for layer in layers if all(uses[name] == 1 for name in layer.names))


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

    def on_one_vector(self, row_count: int) -> tuple[LinearLayer, ...]:
        """The layers that were used once, on one vector of each row."""
        uses = Counter(id(layer) for layer in self._order)
        return tuple(
            layer
            for layer, one in zip(self._order, self._inputs, strict=True)
            if uses[id(layer)] == 1 and one.ndim == 2 and one.shape[0] == row_count
        )

    def is_one_vector_a_row(self, row_count: int) -> bool:
        """Whether layers were used, each once, on one vector of each row."""
        return 0 < len(self._order) == len(self.on_one_vector(row_count))

    def add(self, slopes: Iterator[tuple[Any, Any]], sums: dict[str, Any], others: RowGradients) -> None:
        """Go back from each origin and its vector, and add the batch's sensitivities to the sums; `others` take the
        gradients of all other weights, of a batch of one row."""
        torch = import_torch()
        deltas: list[Any] = []
        has_several = False
        for (origin, slope), is_last in mark_last(slopes):
            found = self._back(origin, slope, others, is_last=is_last)
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
        others.end_row()

    def _back(self, origin: Any, slope: Any, others: RowGradients, *, is_last: bool) -> list[Any]:
        torch = import_torch()
        others.begin(is_last=is_last)
        origin.backward(slope, retain_graph=not is_last, inputs=[*self._outputs, *others.weights])
        found = [output.grad for output in self._outputs]
        for output in self._outputs:
            output.grad = None
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
