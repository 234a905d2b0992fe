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
from hekat.privacy.sensitivity.linear_layers import LinearLayer, LinearPass, linear_layers_of
from hekat.privacy.sensitivity.module_loss import LossName, make_loss
from hekat.privacy.sensitivity.row_gradients import RowGradients
from hekat.privacy.sensitivity.source import AnyFloats, Places
from hekat.privacy.sensitivity.weight_parts import WeightPart, bytes_of, in_one_part, in_parts, is_plain
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
        self._parts, self._batch_rows = self._find_parts()
        self._sums = self._zeros()

    @property
    def held_bytes(self) -> int:
        """Under `exact` a part has a sum of one row's squares; to compare, each weight's gradient is made once."""
        is_exact = self._directions.mode == "exact"
        plain = in_one_part(self._weights)
        compared = 0 if is_plain(self._parts) else plain[0].held_bytes(is_exact=False)
        sums = sum(map(bytes_of, self._weights.values()))
        return sums + max(compared, *(part.held_bytes(is_exact=is_exact) for part in self._parts))

    def add_rows(self, places: Places) -> None:
        for part in self._parts:
            self._add_part(part, places, self._batch_rows, self._directions, self._sums)

    def sums(self) -> dict[str, AnyFloats]:
        return {name: tensor.cpu().numpy() for name, tensor in self._sums.items()}

    def _zeros(self) -> dict[str, Any]:
        torch = import_torch()
        return {name: torch.zeros_like(tensor, requires_grad=False) for name, tensor in self._weights.items()}

    def _find_parts(self) -> tuple[tuple[WeightPart, ...], int]:
        """The parts that are taken one after another, and the rows that are looked at together.

        All weights in one part, rows one by one and every gradient made, where a few rows have another map than so: a
        module may mix rows, use a layer's weight elsewhere, or compute otherwise without the gradients of some weights.
        """
        layers = () if self._loss.is_second_order or not self.row_count else self._layers_on_one_vector()
        # A direction is drawn once, and the exact ones are the same for every part.
        divide = in_parts if self._directions.mode == "exact" else in_one_part
        for chosen in (layers, ()) if layers else ((),):
            parts = divide(self._weights, chosen)
            for size in (1,) if any(part.others for part in parts) else (BATCH_ROWS, 1):
                if is_plain(parts) or not self.row_count or self._agrees(parts, size):
                    return parts, size
        return in_one_part(self._weights), 1

    def _layers_on_one_vector(self) -> tuple[LinearLayer, ...]:
        layers = linear_layers_of(self._module, self._weights)
        if not layers:
            return ()
        first = LinearPass(layers)
        with in_evaluation_mode(self._module, self._weights, self._weights):
            first.forward(self._module, self._rows_at(np.array([0])))
        return first.on_one_vector(1)

    def _add_part(
        self, part: WeightPart, places: Places, batch_rows: int, directions: Directions, sums: dict[str, Any]
    ) -> None:
        if not part.layers:
            self._add_row_by_row(part, places, directions, sums)
            return
        for start in range(0, len(places), batch_rows):
            batch = places[start : start + batch_rows]
            if not self._add_batch(part, batch, directions, sums):
                self._add_row_by_row(part, batch, directions, sums)

    def _add_row_by_row(
        self, part: WeightPart, places: Places, directions: Directions, sums: dict[str, Any], *, takes_off: bool = False
    ) -> None:
        with in_evaluation_mode(self._module, self._weights, part.weights):
            gradients = RowGradients(part.weights, sums, takes_off=takes_off)
            with gradients.taking():
                for place in places:
                    chosen = np.array([place])
                    outputs = self._checked(self._module(*self._rows_at(chosen)), 1)
                    if self._has_slopes(outputs, part):
                        gradients.add_row(self._loss.slopes(outputs, chosen, directions))

    def _add_batch(self, part: WeightPart, places: Places, directions: Directions, sums: dict[str, Any]) -> bool:
        """Whether the batch could be added at once; nothing was where not."""
        with in_evaluation_mode(self._module, self._weights, part.weights):
            batch = LinearPass(part.layers)
            outputs = self._checked(batch.forward(self._module, self._rows_at(places)), len(places))
            if not batch.is_one_vector_a_row(len(places)):
                return False
            gradients = RowGradients(part.others, sums)
            if self._has_slopes(outputs, part):
                with gradients.taking():
                    batch.add(self._loss.slopes(outputs, places, directions), sums, gradients)
            return True

    def _agrees(self, parts: tuple[WeightPart, ...], batch_rows: int) -> bool:
        """Whether a few rows have in these parts, so many together, the map that they have one by one in no parts."""
        places = np.arange(min(_PROBE_ROWS, self.row_count))
        sums = self._zeros()
        try:
            for part in parts:
                self._add_part(part, places, batch_rows, Directions("random", 0), sums)
        except RuntimeError:
            # Parts that are computed again on the way back may not be gone back to in part.
            return False
        most = {name: float(values.max()) for name, values in sums.items()}
        (whole,) = in_one_part(self._weights)
        self._add_row_by_row(whole, places, Directions("random", 0), sums, takes_off=True)
        return all(bool(values.abs_().max() <= _MOST_DIFFERENCE * most[name]) for name, values in sums.items())

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

    def _has_slopes(self, outputs: Any, part: WeightPart) -> bool:
        """Whether outputs depend on the part. Raises InputError where they do not, and the part is all weights."""
        if not outputs.requires_grad and len(part.weights) == len(self._weights):
            raise InputError(
                "a module without gradients",
                expected="outputs that depend on its trained weights",
                got="outputs that were cut from them",
                cure="take no_grad() and detach() out of the module's forward",
            )
        return bool(outputs.requires_grad)

    def _checked(self, outputs: Any, row_count: int) -> Any:
        torch = import_torch()
        if not isinstance(outputs, torch.Tensor) or outputs.ndim < 1 or outputs.shape[0] != row_count:
            got = f"shape {tuple(outputs.shape)}" if isinstance(outputs, torch.Tensor) else type(outputs).__name__
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
