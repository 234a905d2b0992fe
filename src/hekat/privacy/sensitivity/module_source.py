"""The rows of a PyTorch module: one gradient a row and direction, or a batch at once where that gives the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hekat.errors import InputError
from hekat.privacy.embeddings import embeddings_of
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.sensitivity.evaluation_mode import (
    check_rows_have_gradients,
    in_evaluation_mode,
    trained_weights,
)
from hekat.privacy.sensitivity.linear_layers import LinearPass, linear_layers_of
from hekat.privacy.sensitivity.module_loss import LossName, make_loss
from hekat.privacy.sensitivity.row_gradients import RowGradients
from hekat.privacy.sensitivity.source import AnyFloats, Places
from hekat.torch_library import import_torch

BATCH_ROWS = 64
_PROBE_ROWS = 2
_MOST_DIFFERENCE = 1e-3


class ModuleSource:
    """Sums are tensors on the module's device, of its precision."""

    output_axis = 0

    def __init__(
        self,
        module: Any,
        rows: Any,
        labels: Any,
        loss: LossName | Callable[[Any, Any], Any] | None,
        directions: Directions,
    ) -> None:
        self._module, self._directions = module, directions
        self._weights = trained_weights(module)
        check_rows_have_gradients(module)
        tables = embeddings_of(module)
        self.embeddings = tuple(name for name in self._weights if name in tables)
        self._inputs = rows if isinstance(rows, tuple) else (rows,)
        self._loss = make_loss(loss, labels)
        self.row_count = _common_length([*self._inputs, labels])
        self._layers = linear_layers_of(module, self._weights) if not self._loss.is_second_order else None
        if self._layers is not None and not self._batches_agree():
            self._layers = None
        self._sums = self._zeros()

    @property
    def held_bytes(self) -> int:
        """Two sums where batches are compared with rows one by one first, and where a row has a sum of its own."""
        sizes = [tensor.numel() * tensor.element_size() for tensor in self._weights.values()]
        has_two = self._layers is not None or self._directions.mode == "exact"
        return int((2 if has_two else 1) * sum(sizes) + max(sizes))

    def add_rows(self, places: Places) -> None:
        if self._layers is None:
            self._add_row_by_row(places, self._directions, self._sums)
        else:
            for start in range(0, len(places), BATCH_ROWS):
                self._add_batch(places[start : start + BATCH_ROWS], self._directions, self._sums)

    def sums(self) -> dict[str, AnyFloats]:
        return {name: tensor.cpu().numpy() for name, tensor in self._sums.items()}

    def _zeros(self) -> dict[str, Any]:
        torch = import_torch()
        return {name: torch.zeros_like(tensor, requires_grad=False) for name, tensor in self._weights.items()}

    def _add_row_by_row(self, places: Places, directions: Directions, sums: dict[str, Any]) -> None:
        with in_evaluation_mode(self._module, self._weights):
            gradients = RowGradients(self._weights, sums)
            with gradients.taking():
                for place in places:
                    chosen = np.array([place])
                    outputs = self._checked(self._module(*self._rows_at(chosen)), 1)
                    gradients.add_row(self._loss.slopes(outputs, chosen, directions))

    def _add_batch(self, places: Places, directions: Directions, sums: dict[str, Any]) -> bool:
        """Whether the batch could be added at once."""
        with in_evaluation_mode(self._module, self._weights):
            batch = LinearPass(self._layers or ())
            outputs = self._checked(batch.forward(self._module, self._rows_at(places)), len(places))
            if not batch.is_one_vector_a_row(len(places)):
                return False
            batch.add(self._loss.slopes(outputs, places, directions), sums)
            return True

    def _batches_agree(self) -> bool:
        """Whether a few rows at once have the map that they have one by one: a module may mix rows, or use a layer's
        weight elsewhere."""
        places = np.arange(min(_PROBE_ROWS, self.row_count))
        at_once, one_by_one = self._zeros(), self._zeros()
        if not self._add_batch(places, Directions("random", 0), at_once):
            return False
        self._add_row_by_row(places, Directions("random", 0), one_by_one)
        return all(
            bool(at_once[name].sub_(expected).abs_().max() <= _MOST_DIFFERENCE * expected.max())
            for name, expected in one_by_one.items()
        )

    def _rows_at(self, places: Places) -> tuple[Any, ...]:
        torch = import_torch()
        weight = next(iter(self._weights.values()))
        found = []
        for one in self._inputs:
            if isinstance(one, torch.Tensor):
                rows = one[torch.from_numpy(places).to(one.device)].detach()
            else:
                chosen = one[places]
                rows = torch.from_numpy(
                    np.ascontiguousarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen)
                )
            found.append(rows.to(weight) if rows.is_floating_point() else rows.to(weight.device))
        return tuple(found)

    def _checked(self, outputs: Any, row_count: int) -> Any:
        torch = import_torch()
        if not isinstance(outputs, torch.Tensor) or outputs.ndim < 1 or outputs.shape[0] != row_count:
            got = f"shape {tuple(outputs.shape)}" if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        elif not outputs.requires_grad:
            raise InputError(
                "a module without gradients",
                expected="outputs that depend on its trained weights",
                got="outputs that were cut from them",
                cure="take no_grad() and detach() out of the module's forward",
            )
        elif not self._loss.is_second_order and outputs.ndim == 1:
            return outputs[:, None]
        elif self._loss.is_second_order or outputs.ndim == 2:
            return outputs
        else:
            got = f"shape {tuple(outputs.shape)}"
        raise InputError(
            "a module's outputs have another form",
            expected=f"a tensor of shape (rows, numbers), here ({row_count}, ...)",
            got=got,
            cure="wrap the module in one that returns its logits",
        )


def _common_length(arrays: list[Any]) -> int:
    lengths = {int(one.shape[0]) if hasattr(one, "shape") and len(one.shape) else -1 for one in arrays}
    if len(lengths) != 1 or -1 in lengths:
        raise InputError(
            "rows and labels do not fit",
            expected="arrays or tensors with one first axis, as long for rows and labels",
            got=", ".join("no array" if length < 0 else str(length) for length in sorted(lengths)),
            cure="give one label for each row",
        )
    return lengths.pop()
