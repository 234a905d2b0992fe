"""The weights in shares, and the optimiser that moves them by known multiples and truncations; nothing is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, StateError
from hekat.model.optimisers import Momentum, Sgd
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    constant,
    multiply,
    subtract,
    zero_shares,
)
from hekat.protocol.vertical_linear.objective import make_job_optimiser
from hekat.protocol.vertical_linear.shared_weights.factors import FACTOR_BITS, as_integer
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.scales import rows_shift
from hekat.protocol.vertical_linear.training_settings import LinearTraining

Arrays = Mapping[str, npt.NDArray[Any]]
WEIGHTS, VELOCITY, STEP_COUNT = "weights", "velocity", "step_count"
MODEL_WEIGHTS, MODEL_INTERCEPT = "weight_shares", "intercept_shares"
_BEGIN_ANEW = "resume both parties from the states that this job saved, or begin anew"


class SharedWeights:
    """One party's shares of weights (size, K, 2) at 2^-value_bits, and of the velocity where there is momentum.

    sgd: w <- w - rate (g + l2 w); momentum: v <- momentum v + g + l2 w, w <- w - rate v. Each step moves a weight, and
    with momentum the velocity, to within 2^-value_bits plus 2^-37 of the multiplied numbers' size of exact arithmetic.
    """

    def __init__(self, pair: Pair, training: LinearTraining) -> None:
        self._pair, self._l2 = pair, training.l2
        optimiser = make_job_optimiser(training)
        assert isinstance(optimiser, Sgd | Momentum)
        self._optimiser = optimiser
        shape = (pair.size, pair.target_count)
        self.weights = zero_shares(shape)
        self._velocity = zero_shares(shape) if isinstance(optimiser, Momentum) else None
        self._steps_done = 0

    def move(self, gradient: ShareArray, row_count: int) -> None:
        """Make one step, against shares of the gradient's sum / 2^rows_shift over a batch of `row_count` rows."""
        mean = 2.0 ** rows_shift(row_count) / row_count
        rate = self._optimiser.learning_rate / (1.0 + self._optimiser.decay * self._steps_done)
        self._steps_done += 1
        if self._velocity is None:
            step = self._combine((gradient, rate * mean), (self._penalised(), rate * self._l2))
        else:
            assert isinstance(self._optimiser, Momentum)
            before = (self._velocity, self._optimiser.momentum)
            self._velocity = self._combine(before, (gradient, mean), (self._penalised(), self._l2))
            step = self._combine((self._velocity, rate))
        self.weights = subtract(self.weights, step)

    def begin_from_state(self, arrays: Arrays, steps_done: int) -> None:
        """Go on from the `state_arrays` of an earlier run, which must count `steps_done` steps.

        Raises StateError for arrays of another job, for damaged ones, and for another count.
        """
        try:
            self.weights = _checked(arrays, WEIGHTS, self.weights.shape)
            if self._velocity is not None:
                self._velocity = _checked(arrays, VELOCITY, self._velocity.shape)
            found = int(_checked(arrays, STEP_COUNT, ()))
        except InputError as error:
            raise StateError(error.what, expected=error.expected, got=error.got, cure=_BEGIN_ANEW) from None
        if found != steps_done:
            raise StateError(
                "the state counts other steps than its epochs have",
                expected=str(steps_done),
                got=str(found),
                cure=_BEGIN_ANEW,
            )
        self._steps_done = steps_done

    def begin_from_model(self, arrays: Arrays) -> None:
        """Begin with the weights of an earlier part of this form. Raises InputError for parts of another model."""
        size, target_count, limbs = self.weights.shape
        weights = _checked(arrays, MODEL_WEIGHTS, (size - 1, target_count, limbs))
        intercept = _checked(arrays, MODEL_INTERCEPT, (target_count, limbs))
        self.weights = np.concatenate([intercept[np.newaxis], weights])

    def state_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that training resumes from."""
        arrays: dict[str, npt.NDArray[Any]] = {WEIGHTS: self.weights, STEP_COUNT: np.array(self._steps_done, np.uint64)}
        return arrays if self._velocity is None else {**arrays, VELOCITY: self._velocity}

    def model_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a model part."""
        return {MODEL_WEIGHTS: self.weights[1:].copy(), MODEL_INTERCEPT: self.weights[0].copy()}

    def _penalised(self) -> ShareArray:
        """The weights, with 0 in place of the intercept, which has no penalty."""
        weights = self.weights.copy()
        weights[0] = 0
        return weights

    def _combine(self, *terms: tuple[ShareArray, float]) -> ShareArray:
        """Shares of the sum of terms, each shares times a known factor; off by less than 1."""
        total = zero_shares(self.weights.shape[:-1])
        for shares, factor in terms:
            total = add_shares(total, multiply(shares, constant(as_integer(factor))))
        return self._pair.truncation.truncate(total, FACTOR_BITS)


def _checked(arrays: Arrays, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    found = arrays.get(name)
    if found is None or found.shape != shape or found.dtype != np.uint64:
        raise InputError(
            f"there are no such {name} to begin from",
            expected=f"uint64 of shape {shape}",
            got="none" if found is None else f"shape {found.shape} of {found.dtype}",
            cure="begin from a part of this form, of the same columns and classes at both parties",
        )
    return found.copy()
