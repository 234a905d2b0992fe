"""The last layer's part of an update: its gradient for one row is an outer product, and fills itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hekat.privacy.attacks.attacked_model import AttackedModel
from hekat.privacy.attacks.rank_one import BoolArray, FloatArray, RankOne, complete_rank_one
from hekat.privacy.attacks.visible_update import VisibleUpdate
from hekat.torch_library import import_torch


@dataclass(frozen=True)
class LastLayer:
    """Names of the last dense layer's tensors, `bias` None where it has none, and how many outputs it has."""

    weight: str
    bias: str | None
    output_count: int

    @classmethod
    def of(cls, model: AttackedModel) -> LastLayer | None:
        """The last torch.nn.Linear whose weights are trained, None for a module that does not end in one."""
        torch = import_torch()
        layers = [(path, part) for path, part in model.module.named_modules() if not list(part.children())]
        dense = [(path, part) for path, part in layers if isinstance(part, torch.nn.Linear)]
        if not dense:
            return None
        path, part = dense[-1]
        after = layers[layers.index((path, part)) + 1 :]
        weight, bias = (f"{path}.{name}".removeprefix(".") for name in ("weight", "bias"))
        if weight not in model.parameters or any(list(other.parameters()) for _, other in after):
            return None
        return cls(weight, bias if bias in model.parameters else None, int(part.out_features))

    def read(self, seen: VisibleUpdate) -> tuple[FloatArray, BoolArray]:
        """Values and visibility of the layer, shape (outputs, inputs + 1): the bias is the last column, as if its
        input were 1; without a bias that column is hidden."""
        names = [name for name in (self.weight, self.bias) if name is not None]
        values = [_array(seen.values[name]).reshape(self.output_count, -1) for name in names]
        flags = [_array(seen.compared[name]).astype(np.bool_).reshape(self.output_count, -1) for name in names]
        if self.bias is None:
            values.append(np.zeros((self.output_count, 1)))
            flags.append(np.zeros((self.output_count, 1), dtype=np.bool_))
        return np.concatenate(values, axis=1), np.concatenate(flags, axis=1)

    def complete(self, seen: VisibleUpdate) -> VisibleUpdate:
        """`seen` of one row with every entry of this layer that follows from visible ones in its row and column."""
        torch = import_torch()
        values, visible = self.read(seen)
        found = complete_rank_one(values, visible)
        filled, known = np.where(visible, values, found.filled), visible | found.known
        parts = {self.weight: (filled[:, :-1], known[:, :-1])}
        if self.bias is not None:
            parts[self.bias] = (filled[:, -1], known[:, -1])
        new_values, new_compared = dict(seen.values), dict(seen.compared)
        for name, (numbers, flags) in parts.items():
            old = seen.values[name]
            new_values[name] = torch.from_numpy(numbers.copy()).to(old).reshape(old.shape)
            new_compared[name] = torch.from_numpy(flags.copy()).to(old.device).reshape(old.shape)
        return replace(seen, values=new_values, compared=new_compared)

    def factors(self, seen: VisibleUpdate) -> RankOne:
        """The layer's gradient of one row as slopes of the outputs (left) times inputs (right)."""
        return complete_rank_one(*self.read(seen))


def _array(tensor: Any) -> FloatArray:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
