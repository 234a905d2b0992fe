"""First-order optimisers as pure functions: (parameters, direction, state) -> (parameters, state).

Every party applies an optimiser to the same bytes and must end with the same bytes, whatever its machine. So optimisers
use only additions, products, quotients and square roots, whose rounding IEEE 754 fixes, and no power or exponential.
Parameters, direction and state are read, never changed. The state is a flat dict of float64 arrays: "step_count" (a
scalar array) and one entry per moment and parameter, "first_moment/weight" and so on.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hekat.errors import InputError
from hekat.model.parameters import FloatArray, Parameters, check_same_shapes, shapes_of

OptimiserState = dict[str, FloatArray]

STEP_COUNT = "step_count"


class Optimiser(Protocol):
    """Moves parameters against `direction` (a gradient, or what stands for one)."""

    @property
    def name(self) -> str: ...

    def init_state(self, params: Parameters) -> OptimiserState:
        """The state before the first step."""
        ...

    def step(
        self, params: Parameters, direction: Parameters, state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        """New parameters and state after one step. Raises InputError where names, shapes or dtypes do not match."""
        ...


class _Stepper:
    """The base of the optimisers: the learning rate and its decay, the step count, the checks.

    The rate of step t (0 for the first) is learning_rate / (1 + decay * t).
    """

    name: str
    moments: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()

    def __init__(self, learning_rate: float, decay: float) -> None:
        _check_setting("learning_rate", learning_rate, "a finite number above 0", learning_rate > 0)
        _check_setting("decay", decay, "a finite number >= 0", decay >= 0)
        self.learning_rate = float(learning_rate)
        self.decay = float(decay)

    def init_state(self, params: Parameters) -> OptimiserState:
        state: OptimiserState = {STEP_COUNT: np.zeros(())}
        state.update({scalar: np.ones(()) for scalar in self.scalars})
        for moment in self.moments:
            state.update({f"{moment}/{name}": self._first(moment, values) for name, values in params.items()})
        return state

    def _first(self, moment: str, values: FloatArray) -> FloatArray:
        """A moment of `values` before the first step."""
        return np.zeros(values.shape)

    def _begin(self, params: Parameters, direction: Parameters, state: OptimiserState) -> tuple[float, OptimiserState]:
        """The rate of this step, and a state that counts it and lacks only the new moments."""
        check_same_shapes("directions", direction, shapes_of(params))
        check_same_shapes("optimiser state", state, shapes_of(self.init_state(params)))
        steps_done = float(state[STEP_COUNT])
        rate = self.learning_rate / (1.0 + self.decay * steps_done)
        return rate, {**state, STEP_COUNT: np.array(steps_done + 1.0)}


class Sgd(_Stepper):
    """p <- p - rate * d."""

    name = "sgd"

    def __init__(self, learning_rate: float = 0.1, decay: float = 0.0) -> None:
        super().__init__(learning_rate, decay)

    def step(
        self, params: Parameters, direction: Parameters, state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        rate, after = self._begin(params, direction, state)
        moved: Parameters = {}
        for name, values in params.items():
            # In one new array: for large models fresh memory takes longer than the arithmetic.
            step = np.multiply(direction[name], rate, out=np.empty(values.shape))
            moved[name] = np.subtract(values, step, out=step)
        return moved, after


class Momentum(_Stepper):
    """v <- momentum * v + d;  p <- p - rate * v. Source: Polyak 1964, without Nesterov's look-ahead."""

    name = "momentum"
    moments = ("velocity",)

    def __init__(self, learning_rate: float = 0.1, momentum: float = 0.9, decay: float = 0.0) -> None:
        super().__init__(learning_rate, decay)
        _check_fraction("momentum", momentum)
        self.momentum = float(momentum)

    def step(
        self, params: Parameters, direction: Parameters, state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        rate, after = self._begin(params, direction, state)
        moved: Parameters = {}
        for name, values in params.items():
            velocity = self.momentum * state[f"velocity/{name}"] + direction[name]
            after[f"velocity/{name}"] = velocity
            moved[name] = values - rate * velocity
        return moved, after


class RmsProp(_Stepper):
    """s <- rho * s + (1 - rho) * d^2;  p <- p - rate * d / (sqrt(s) + epsilon). Source: Tieleman and Hinton 2012."""

    name = "rmsprop"
    moments = ("mean_square",)

    def __init__(
        self, learning_rate: float = 0.01, rho: float = 0.9, epsilon: float = 1e-8, decay: float = 0.0
    ) -> None:
        super().__init__(learning_rate, decay)
        _check_fraction("rho", rho)
        _check_setting("epsilon", epsilon, "a finite number above 0", epsilon > 0)
        self.rho = float(rho)
        self.epsilon = float(epsilon)

    def step(
        self, params: Parameters, direction: Parameters, state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        rate, after = self._begin(params, direction, state)
        moved: Parameters = {}
        for name, values in params.items():
            mean_square = self.rho * state[f"mean_square/{name}"] + (1.0 - self.rho) * direction[name] * direction[name]
            after[f"mean_square/{name}"] = mean_square
            moved[name] = values - rate * direction[name] / (np.sqrt(mean_square) + self.epsilon)
        return moved, after


class _TwoMoments(_Stepper):
    """The base of Adam and Yogi: means of the direction and of its square, with their rates of forgetting."""

    moments = ("first_moment", "second_moment")

    def __init__(self, learning_rate: float, beta_1: float, beta_2: float, epsilon: float, decay: float) -> None:
        super().__init__(learning_rate, decay)
        _check_fraction("beta_1", beta_1)
        _check_fraction("beta_2", beta_2)
        _check_setting("epsilon", epsilon, "a finite number above 0", epsilon > 0)
        self.beta_1 = float(beta_1)
        self.beta_2 = float(beta_2)
        self.epsilon = float(epsilon)


class Adam(_TwoMoments):
    """Bias-corrected moments m, s:  p <- p - rate * m_hat / (sqrt(s_hat) + epsilon).

    Source: Kingma and Ba 2015, Algorithm 1. beta^t is carried in the state as a running product, since a library's
    power function may round differently on another machine.
    """

    name = "adam"
    scalars = ("beta_1_power", "beta_2_power")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        decay: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, decay)

    def step(
        self, params: Parameters, direction: Parameters, state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        rate, after = self._begin(params, direction, state)
        power_1 = float(state["beta_1_power"]) * self.beta_1
        power_2 = float(state["beta_2_power"]) * self.beta_2
        after["beta_1_power"] = np.array(power_1)
        after["beta_2_power"] = np.array(power_2)
        moved: Parameters = {}
        for name, values in params.items():
            slope = direction[name]
            first = self.beta_1 * state[f"first_moment/{name}"] + (1.0 - self.beta_1) * slope
            second = self.beta_2 * state[f"second_moment/{name}"] + (1.0 - self.beta_2) * slope * slope
            after[f"first_moment/{name}"] = first
            after[f"second_moment/{name}"] = second
            step = (first / (1.0 - power_1)) / (np.sqrt(second / (1.0 - power_2)) + self.epsilon)
            moved[name] = values - rate * step
        return moved, after


class Yogi(_TwoMoments):
    """m as Adam's;  s <- s - (1 - beta_2) * d^2 * sign(s - d^2);  p <- p - rate * m / (sqrt(s) + epsilon).

    s begins at epsilon^2, and nothing is corrected for bias. Source: Zaheer et al. 2018, Algorithm 2, in the form of
    Reddi et al. 2021, Algorithm 2.
    """

    name = "yogi"

    def __init__(
        self,
        learning_rate: float = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-3,
        decay: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, decay)

    def _first(self, moment: str, values: FloatArray) -> FloatArray:
        return np.full(values.shape, self.epsilon * self.epsilon if moment == "second_moment" else 0.0)

    def step(
        self, params: Parameters, direction: Parameters, state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        rate, after = self._begin(params, direction, state)
        moved: Parameters = {}
        for name, values in params.items():
            slope, before = direction[name], state[f"second_moment/{name}"]
            square = slope * slope
            first = self.beta_1 * state[f"first_moment/{name}"] + (1.0 - self.beta_1) * slope
            second = before - (1.0 - self.beta_2) * square * np.sign(before - square)
            after[f"first_moment/{name}"] = first
            after[f"second_moment/{name}"] = second
            moved[name] = values - rate * first / (np.sqrt(second) + self.epsilon)
        return moved, after


class Adagrad(_Stepper):
    """s <- s + d^2;  p <- p - rate * d / (sqrt(s) + epsilon); s begins at epsilon^2.

    Source: Duchi et al. 2011, in the form of Reddi et al. 2021, Algorithm 2, with beta_1 = 0.
    """

    name = "adagrad"
    moments = ("square_sum",)

    def __init__(self, learning_rate: float = 0.01, epsilon: float = 1e-8, decay: float = 0.0) -> None:
        super().__init__(learning_rate, decay)
        _check_setting("epsilon", epsilon, "a finite number above 0", epsilon > 0)
        self.epsilon = float(epsilon)

    def _first(self, moment: str, values: FloatArray) -> FloatArray:
        return np.full(values.shape, self.epsilon * self.epsilon)

    def step(
        self, params: Parameters, direction: Parameters, state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        rate, after = self._begin(params, direction, state)
        moved: Parameters = {}
        for name, values in params.items():
            square_sum = state[f"square_sum/{name}"] + direction[name] * direction[name]
            after[f"square_sum/{name}"] = square_sum
            moved[name] = values - rate * direction[name] / (np.sqrt(square_sum) + self.epsilon)
        return moved, after


def _check_fraction(name: str, value: float) -> None:
    _check_setting(name, value, "a number from 0 to below 1", 0 <= value < 1)


def _check_setting(name: str, value: float, expected: str, holds: bool) -> None:
    if not (holds and math.isfinite(value)):
        raise InputError(f"optimiser setting {name} refused", expected=expected, got=str(value), cure=f"change {name}")
