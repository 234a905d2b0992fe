"""Stop rules: they decide from the losses whether training ends before its last round or epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class StopSettings(Protocol):
    """What a stop rule needs of training settings; 0 turns a rule off."""

    @property
    def patience(self) -> int: ...

    @property
    def min_improvement(self) -> float: ...

    @property
    def stop_at_loss(self) -> float: ...


_SETTLED_STEPS = 3
_LEAST_SETTLED = 1e-5


def has_settled(losses: Sequence[float], unit: float) -> bool:
    """True once three steps moved the loss by no more than 1e-5 of it, up or down, after five losses at least.

    `unit` is how finely losses are told: where it is coarser than that, nobody can say, and it is False.
    """
    if len(losses) < _SETTLED_STEPS + 2:
        return False
    recent = losses[-_SETTLED_STEPS - 1 :]
    least = _LEAST_SETTLED * abs(losses[-1])
    return unit <= least and max(recent) - min(recent) <= least


def should_stop(losses: Sequence[float], training: StopSettings) -> bool:
    """True once the last loss is at most `stop_at_loss`, or nothing improves any more.

    Nothing improves where the best loss of the last `patience` rounds is not `min_improvement` below the best before
    them.
    """
    if training.stop_at_loss and losses and losses[-1] <= training.stop_at_loss:
        return True
    if not training.patience or len(losses) <= training.patience:
        return False
    recent, before = losses[-training.patience :], losses[: -training.patience]
    return min(recent) > min(before) - training.min_improvement
