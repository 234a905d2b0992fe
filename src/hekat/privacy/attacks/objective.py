"""How far an update that a guess would give lies from the update that was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hekat.privacy.attacks.visible_update import VisibleUpdate
from hekat.torch_library import import_torch


class Objective(Protocol):
    """A differentiable number, 0 where all compared values agree."""

    def __call__(self, guessed: Mapping[str, Any], seen: VisibleUpdate) -> Any: ...


@dataclass(frozen=True)
class SquaredDifference:
    """The sum over tensors of |guessed - seen|^2 / |seen|^2, over compared values; a tensor that was seen as zeros is
    divided by the mean of the others' norms.

    Source: Zhu et al., Deep Leakage from Gradients (2019), equation 4; the division makes every layer count.
    """

    def __call__(self, guessed: Mapping[str, Any], seen: VisibleUpdate) -> Any:
        norms = {name: float(tensor.square().sum()) for name, tensor in seen.values.items()}
        known = [norm for norm in norms.values() if norm > 0]
        otherwise = sum(known) / len(known) if known else 1.0
        return sum(
            ((guessed[name] - value) * seen.compared[name]).square().sum() / (norms[name] or otherwise)
            for name, value in seen.values.items()
        )


@dataclass(frozen=True)
class CosineDistance:
    """1 - the cosine between the compared values, all tensors as one vector.

    Source: Geiping et al., Inverting Gradients (2020), equation 4.
    """

    def __call__(self, guessed: Mapping[str, Any], seen: VisibleUpdate) -> Any:
        torch = import_torch()
        taken = {name: guessed[name] * seen.compared[name] for name in seen.values}
        product = sum((taken[name] * value).sum() for name, value in seen.values.items())
        norms = [sum(tensor.square().sum() for tensor in each.values()) for each in (taken, seen.values)]
        # The root of nothing has no slope.
        tiny = torch.finfo(product.dtype).tiny
        return 1 - product / torch.sqrt(norms[0] * norms[1] + tiny)
