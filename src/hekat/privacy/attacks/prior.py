"""What an attacker holds likely of rows before it has seen an update: smooth pictures, a range, known statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from hekat.torch_library import import_torch

# Below this difference of neighbours, in units of the rows, total variation is quadratic: line searches need a slope.
_SMOOTH_BELOW = 1e-3


class Prior(Protocol):
    """A differentiable number that is larger for less likely rows; it is asked right after the rows' gradient."""

    def __call__(self, rows: Any) -> Any: ...


@dataclass(frozen=True)
class TotalVariation:
    """`weight` times the mean absolute difference of neighbours across plus down.

    Args:
        weight: Geiping et al. tune 1e-6 to 1e-1 to the net.
        picture_shape: (channels, height, width) that a row is looked at as.

    Source: Geiping et al., Inverting Gradients (2020), equation 4.
    """

    weight: float
    picture_shape: tuple[int, int, int]

    def __call__(self, rows: Any) -> Any:
        pictures = rows.reshape(-1, *self.picture_shape)
        across = pictures[..., :, 1:] - pictures[..., :, :-1]
        down = pictures[..., 1:, :] - pictures[..., :-1, :]
        return self.weight * sum(
            (steps.square() + _SMOOTH_BELOW**2).sqrt().mean() for steps in (across, down) if steps.numel()
        )


@dataclass(frozen=True)
class Box:
    """`weight` times the mean square by which values leave [`low`, `high`]."""

    low: float = 0.0
    high: float = 1.0
    weight: float = 1.0

    def __call__(self, rows: Any) -> Any:
        torch = import_torch()
        return self.weight * (torch.relu(self.low - rows) + torch.relu(rows - self.high)).square().mean()


class BatchNormStatistics:
    """`weight` times how far mean and variance of the rows lie from the running ones, in every batch normalisation.

    A net with batch normalisation tells these statistics with its weights, also where rounds train in train() mode.

    Source: Yin et al., See through Gradients (2021), equation 9.
    """

    def __init__(self, module: Any, weight: float) -> None:
        torch = import_torch()
        self._weight = weight
        self._inputs: dict[Any, Any] = {}
        self._parts = [
            part
            for part in module.modules()
            if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None
        ]
        for part in self._parts:
            part.register_forward_pre_hook(self._keep)

    def _keep(self, part: Any, arguments: Any) -> None:
        self._inputs[part] = arguments[0]

    def __call__(self, rows: Any) -> Any:
        found = rows.new_zeros(())
        for part in self._parts:
            values = self._inputs[part]
            axes = [axis for axis in range(values.ndim) if axis != 1]
            found = found + (values.mean(axes) - part.running_mean).square().mean()
            found = found + (values.var(axes, correction=0) - part.running_var).square().mean()
        return self._weight * found
