"""L-BFGS steps of a whole model: where to look at the loss next, from the loss and slope that the parties summed.

A round gives loss f and slope g of the mean loss over all rows at one point, the candidate. If f has fallen enough
(Armijo), the candidate becomes the kept point, and the next candidate lies along

    direction = -H g,    H from the last MEMORY pairs (step, change of slope), and H_0 before them.

Otherwise the next candidate lies nearer to the kept point. So the kept loss never rises, and no rate is to be chosen.
H_0 is the inverse of the Gram matrix' bound on the curvature where there is one (`gram.py`): for least squares that
is the exact inverse, so the second candidate is the solution; else a multiple of the identity. No point is looked at
twice, so no two sums hold the same update of a party.

Source: Nocedal and Wright 2006, Algorithms 3.1, 7.4; the bound: Boehning 1992.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.model import OptimiserState
from hekat.protocol.horizontal.training.gram import Curvature
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.aggregation import flatten, unflatten
from hekat.protocol.secure_sum.streamed_tensor import Tensors

MEMORY = 10
# The fall of the loss that a step must bring, as a part of what its slope foretells.
SUFFICIENT_FALL = 1e-4
# Training has settled once a step foretells a smaller fall than this part of the loss, or this much.
LEAST_FALL_PART = 5e-5
LEAST_FALL = 1e-7
# For least squares, where the first step solves the problem and the next ones only take out rounding.
LEAST_FALL_PART_OF_SQUARES = 1e-7
# A candidate so near to the kept point, in units of the direction, that the loss will not fall there either.
LEAST_STEP = 2.0**-20
# A pair whose step and change of slope are nearly at right angles tells nothing of the curvature.
LEAST_COSINE = 1e-10


@dataclass(frozen=True)
class RoundTotals:
    """What a round's sum tells of its candidate: the mean loss over `row_count` rows, how far off its rounding can be,
    and whether a value of the slope was clipped."""

    loss: float
    loss_error: float
    row_count: int
    is_clipped: bool


class LineSearchStep:
    """The common step of `lbfgs`, the same at every party; its state is arrays of fixed shapes, for checkpoints."""

    def __init__(self, trained: TrainedTensors, shapes: dict[str, tuple[int, ...]], *, is_least_squares: bool) -> None:
        self._names = trained.weights
        self._like = {name: np.zeros(shapes[name]) for name in self._names}
        self._size = sum(values.size for values in self._like.values())
        self._fall_part = LEAST_FALL_PART_OF_SQUARES if is_least_squares else LEAST_FALL_PART
        self._least_fall = 0.0 if is_least_squares else LEAST_FALL

    def init_state(self, curvature: Curvature, *, penalty: float, own_penalty: float) -> OptimiserState:
        """The state before the first round. Vectors hold all weights by name, in units of `scale`.

        `penalty` is lambda of the penalty that the step adds to the model's own, which has `own_penalty`.
        """
        size = self._size
        return {
            "scale": flatten(self._spread(curvature.scale)),
            "inverse": curvature.inverse(penalty + own_penalty),
            "penalty": np.array(penalty),
            "row_count": np.array(0.0),
            "point": np.zeros(size),
            "loss": np.array(0.0),
            "slope": np.zeros(size),
            "direction": np.zeros(size),
            "step_size": np.array(0.0),
            "steps": np.zeros((MEMORY, size)),
            "changes": np.zeros((MEMORY, size)),
            "settled": np.array(0.0),
        }

    def begin_again(self, state: OptimiserState, *, penalty: float) -> OptimiserState:
        """The state before the first round of another training with the same units and first curvature."""
        kept = {"scale": state["scale"], "inverse": state["inverse"], "penalty": np.array(penalty)}
        return {name: kept.get(name, np.zeros_like(values)) for name, values in state.items()}

    def to_units(self, gradient: Tensors, state: OptimiserState) -> Tensors:
        """A party's gradient in the units in which it is sent: so columns of any size have bits enough."""
        return unflatten(flatten({name: gradient[name] for name in self._names}) / state["scale"], self._like)

    def apply(
        self, parameters: Tensors, mean: Tensors, state: OptimiserState, totals: RoundTotals
    ) -> tuple[Tensors, OptimiserState]:
        """The next candidate and state; `mean` is the slope at the candidate `parameters`, in units of `to_units`."""
        state = dict(state)
        scale, penalty = state["scale"], float(state["penalty"])
        point = flatten({name: parameters[name] for name in self._names}) * scale
        slope, loss = self._penalised(mean, point / scale, scale, penalty, totals.loss)
        if totals.row_count != state["row_count"]:
            # The first round, or other parties than before: losses over other rows are not comparable.
            state |= {"row_count": np.array(float(totals.row_count)), "steps": np.zeros_like(state["steps"])}
            state |= {"changes": np.zeros_like(state["changes"])}
            self._keep(state, point, loss, slope, totals)
        elif self._has_fallen(state, loss, totals):
            self._remember(state, point - state["point"], slope - state["slope"])
            self._keep(state, point, loss, slope, totals)
        else:
            self._shorten(state, loss, totals)
        return self._parameters_at(parameters, self._candidate(state), scale), state

    def conclude(self, parameters: Tensors, state: OptimiserState) -> Tensors:
        """The kept point: the model that training ends with."""
        return self._parameters_at(parameters, state["point"], state["scale"])

    def _spread(self, row_scale: FloatArray) -> Tensors:
        """The scale of each weight: of its column where `row_scale` has one for each, and 1 elsewhere."""
        spread = {name: np.ones_like(values) for name, values in self._like.items()}
        if row_scale.size:
            spread["weight"] = spread["weight"] * row_scale[1:, np.newaxis]
        return spread

    def _penalised(
        self, mean: Tensors, weights: FloatArray, scale: FloatArray, penalty: float, loss: float
    ) -> tuple[FloatArray, float]:
        penalised = flatten({name: np.full_like(values, values.ndim > 1) for name, values in self._like.items()})
        slope = flatten({name: mean[name] for name in self._names}) + penalty * penalised * weights / scale
        return slope, loss + 0.5 * penalty * float(np.sum(penalised * weights**2))

    def _has_fallen(self, state: OptimiserState, loss: float, totals: RoundTotals) -> bool:
        foretold = float(state["step_size"]) * float(state["direction"] @ state["slope"])
        allowed = float(state["loss"]) + SUFFICIENT_FALL * foretold + totals.loss_error
        return not totals.is_clipped and loss <= allowed

    def _keep(
        self, state: OptimiserState, point: FloatArray, loss: float, slope: FloatArray, totals: RoundTotals
    ) -> None:
        """Keep this point, and look along the direction from there."""
        state |= {"point": point, "loss": np.array(loss), "slope": slope, "step_size": np.array(1.0)}
        state["direction"] = direction = self._direction(state)
        fall = -0.5 * float(direction @ slope)
        settled = fall <= self._fall_part * loss + self._least_fall
        # A clipped slope foretells less than the true one.
        state["settled"] = np.array(float(settled and not totals.is_clipped))

    def _shorten(self, state: OptimiserState, loss: float, totals: RoundTotals) -> None:
        """Look nearer to the kept point: at the minimum of the parabola through what is known, within bounds."""
        step = float(state["step_size"])
        foretold = step * float(state["direction"] @ state["slope"])
        excess = loss - float(state["loss"]) - foretold
        part = 0.5 if totals.is_clipped or excess <= 0 else -0.5 * foretold / excess
        step *= min(max(part, 0.1), 0.5)
        state["step_size"] = np.array(step)
        # A sum with clipped values says nothing of the loss: whoever claims some in every round would end training.
        state["settled"] = np.array(float(step < LEAST_STEP and not totals.is_clipped))

    def _candidate(self, state: OptimiserState) -> FloatArray:
        candidate: FloatArray = state["point"] + state["step_size"] * state["direction"]
        return candidate

    def _parameters_at(self, parameters: Tensors, point: FloatArray, scale: FloatArray) -> Tensors:
        return {**parameters, **unflatten(point / scale, self._like)}

    def _remember(self, state: OptimiserState, step: FloatArray, change: FloatArray) -> None:
        """Take a pair in, the newest last, unless it says nothing sure of the curvature."""
        if step @ change > LEAST_COSINE * np.linalg.norm(step) * np.linalg.norm(change):
            state["steps"] = np.vstack([state["steps"][1:], step])
            state["changes"] = np.vstack([state["changes"][1:], change])

    def _direction(self, state: OptimiserState) -> FloatArray:
        """-H g by the two loops over the pairs."""
        pairs = [(s, y) for s, y in zip(state["steps"], state["changes"], strict=True) if s.any()]
        rest = state["slope"].copy()
        parts = []
        for step, change in reversed(pairs):
            part = (step @ rest) / (step @ change)
            parts.append(part)
            rest -= part * change
        rest = self._precondition(state["inverse"], rest) * self._first_factor(state, pairs)
        for (step, change), part in zip(pairs, reversed(parts), strict=True):
            rest += (part - (change @ rest) / (step @ change)) * step
        return -rest

    def _first_factor(self, state: OptimiserState, pairs: list[tuple[FloatArray, FloatArray]]) -> float:
        if pairs:
            step, change = pairs[-1]
            return float((step @ change) / (change @ self._precondition(state["inverse"], change)))
        if state["inverse"].size and state["inverse"].any():
            return 1.0
        length = float(np.linalg.norm(state["slope"]))
        return 1.0 / length if length > 1.0 else 1.0

    def _precondition(self, inverse: FloatArray, values: FloatArray) -> FloatArray:
        if not inverse.any():
            return values.copy()
        # By name the bias comes before the weights, as in the Gram matrix.
        found: FloatArray = (inverse @ values.reshape(inverse.shape[0], -1)).ravel()
        return found


def has_settled(state: OptimiserState) -> bool:
    """Whether no further step would lower the loss by more than the least fall that counts."""
    return bool(state["settled"])


def penalty_of(state: OptimiserState) -> float:
    """lambda of the penalty that the step adds to the model's own; 0 in another step's state."""
    return float(state.get("penalty", 0.0))
