"""What a party sends of its rows in a round: one gradient, or the difference after several local steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hekat.errors import InputError
from hekat.privacy.attacks.attacked_model import AttackedModel, Tensors


class SentUpdate(Protocol):
    """Computes the update that a party with these rows sends, differentiable in rows and labels on request, and reads
    such an update as one mean gradient."""

    def of(self, model: AttackedModel, rows: Any, labels: Any, *, differentiable: bool) -> Tensors: ...

    def as_gradient(self, update: Mapping[str, Any]) -> Tensors: ...


@dataclass(frozen=True)
class OneGradient:
    """The mean gradient of all rows as one batch.

    The opened mean of several parties' gradients, each weighted by its rows, is the same with all of their rows.
    """

    def of(self, model: AttackedModel, rows: Any, labels: Any, *, differentiable: bool) -> Tensors:
        return model.gradient(rows, labels, differentiable=differentiable)

    def as_gradient(self, update: Mapping[str, Any]) -> Tensors:
        return dict(update)


@dataclass(frozen=True)
class LocalSteps:
    """The weights after `step_count` steps of gradient descent on all rows, less the weights before: unrolled, so the
    attack goes through every step.

    Args:
        step_count: Steps E of one party, at least 1.
        learning_rate: Of each step, above 0.
        party_count: The rows stand party after party, in as many equal parts; the update is the parties' mean.

    Source: Geiping et al., Inverting Gradients (2020), section 6.
    """

    step_count: int
    learning_rate: float
    party_count: int = 1

    def __post_init__(self) -> None:
        if self.step_count < 1 or self.party_count < 1 or not self.learning_rate > 0:
            raise InputError(
                "there are no such local steps",
                expected="at least 1 step and 1 party, and a learning rate above 0",
                got=f"{self.step_count} steps, {self.party_count} parties, a rate of {self.learning_rate:g}",
                cure="give the numbers of the job",
            )

    def of(self, model: AttackedModel, rows: Any, labels: Any, *, differentiable: bool) -> Tensors:
        if len(rows) % self.party_count:
            raise InputError(
                "the rows cannot be shared out to the parties",
                expected=f"a multiple of {self.party_count:,} rows",
                got=f"{len(rows):,} rows",
                cure="attack parties of equal size",
            )
        size = len(rows) // self.party_count
        parts = [slice(start, start + size) for start in range(0, len(rows), size)]
        moved = [self._moved(model, rows[part], labels[part], differentiable) for part in parts]
        return {name: sum(one[name] for one in moved) / self.party_count for name in model.parameters}

    def as_gradient(self, update: Mapping[str, Any]) -> Tensors:
        return as_mean_gradient(update, step_count=self.step_count, learning_rate=self.learning_rate)

    def _moved(self, model: AttackedModel, rows: Any, labels: Any, differentiable: bool) -> Tensors:
        weights: Mapping[str, Any] = model.parameters
        for _ in range(self.step_count):
            slopes = model.gradient(rows, labels, at=weights, differentiable=differentiable)
            weights = {name: tensor - self.learning_rate * slopes[name] for name, tensor in weights.items()}
        return {name: tensor - model.parameters[name] for name, tensor in weights.items()}


def as_mean_gradient(difference: Mapping[str, Any], *, step_count: int, learning_rate: float) -> Tensors:
    """A difference of weights after several steps, read as one mean gradient: exact for one step alone.

    Args:
        difference: Weights after the round less weights before.
        step_count: Steps E of the round.
        learning_rate: Of each step.

    Returns:
        -(w1 - w0) / (learning rate * E), which `OneGradient` is compared with.

    Examples:
        >>> import torch
        >>> from hekat.privacy.attacks import as_mean_gradient
        >>> as_mean_gradient({"w": torch.tensor([-0.5, 0.25])}, step_count=5, learning_rate=0.5)["w"].tolist()
        [0.20000000298023224, -0.10000000149011612]
    """
    return {name: tensor / (-learning_rate * step_count) for name, tensor in difference.items()}
