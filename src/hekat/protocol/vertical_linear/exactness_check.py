"""The run's own check, on one machine only: is each gradient within its bound of centralised training?"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.data import Features
from hekat.data.columns.moments import largest_magnitudes
from hekat.errors import BoundError, DivergedError
from hekat.model import Parameters
from hekat.protocol.vertical_linear.fixed_point import column_error_bound, float_error, step_error_bound
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, residual_of
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StepCheck:
    """One checked step: the deviation that takes up most of its bound, over all parties' gradients, and that bound."""

    step: str
    party: str
    largest_error: float
    bound: float


@dataclass
class _Step:
    parameters: dict[str, Parameters] = field(default_factory=dict)
    gradients: dict[str, Parameters] = field(default_factory=dict)
    allowances: dict[str, float] = field(default_factory=dict)


class ExactnessCheck:
    """Collects the columns, weights and gradients of all parties in this process; it never exists where sites are
    apart."""

    def __init__(self, settings: VerticalLinearSettings) -> None:
        self._settings = settings
        self._residual = residual_of(settings.task)
        self._lock = threading.Lock()
        self._features: dict[str, Features] = {}
        self._targets: FloatArray | None = None
        self._steps: dict[str, _Step] = {}
        self.checks: list[StepCheck] = []

    def begin(self, party: str, features: Features, targets: FloatArray | None = None) -> None:
        """Take the prepared columns (rows, columns) of a party, not yet rounded, and targets (rows, K) of the guest."""
        with self._lock:
            self._features[party] = features
            if targets is not None:
                self._targets = targets

    def deposit(
        self,
        step: str,
        rows: npt.NDArray[np.int64],
        party: str,
        parameters: Parameters,
        gradient: Parameters,
        allowance: float = 0.0,
        limit: float = math.inf,
    ) -> None:
        """Take a party's weights before a step on batch `rows`, and the gradient of the loss that it got.

        Both hold `weights` (columns, K), and at the guest `intercept` (K,) too. `allowance` is what the form's own
        rounding adds to the bound. The form's arithmetic holds every gradient below `limit` in magnitude.

        The last party of a step starts the comparison. Raises BoundError where a gradient is further from the
        centralised gradient than its bound: DivergedError, if the centralised gradient reaches the limit; otherwise
        the arithmetic is wrong.
        """
        with self._lock:
            deposited = self._steps.setdefault(step, _Step())
            deposited.parameters[party] = parameters
            deposited.gradients[party] = gradient
            deposited.allowances[party] = allowance
            if len(deposited.gradients) < len(self._settings.parties):
                return
            del self._steps[step]
            check, largest_gradient = self._compare(step, rows, deposited)
            self.checks.append(check)
        if check.largest_error > check.bound:
            if largest_gradient >= limit:
                raise DivergedError(
                    f"training diverges: gradients in {step} are beyond what the arithmetic of this form bears",
                    expected=f"gradients below {limit:g}",
                    got="larger ones",
                    cure="lower training.learning_rate, or standardise the columns",
                )
            raise BoundError(
                f"the gradient of {check.party} in {step} is further from the centralised one than its bound",
                expected=f"at most {check.bound:.3g}",
                got=f"{check.largest_error:.3g}",
                cure="this is a defect in Hekat: please report it with the job file",
            )

    def _compare(self, step: str, rows: npt.NDArray[np.int64], deposited: _Step) -> tuple[StepCheck, float]:
        """The worst of the step's gradients, and the largest magnitude of any centralised gradient."""
        parties = self._settings.parties
        assert self._targets is not None
        columns = {party: self._features[party][rows] for party in parties}
        weights = {party: deposited.parameters[party][WEIGHTS] for party in parties}
        intercept = deposited.parameters[parties[0]][INTERCEPT]
        scores = sum(np.asarray(columns[party] @ weights[party]) for party in parties) + intercept
        d = self._residual.of(scores, self._targets[rows])
        sizes = sum(np.asarray(abs(columns[party]) @ np.abs(weights[party])) for party in parties) + np.abs(intercept)
        score_size = float(sizes.max() + np.abs(self._targets[rows]).max())
        term_count = sum(one.shape[1] for one in columns.values())
        mean_residual = float(np.abs(d).mean(axis=0).max())
        weight_size = float(sum(np.abs(one).sum(axis=0) for one in weights.values()).max())
        worst, largest_gradient = StepCheck(step, parties[0], -1.0, 1.0), 0.0
        for party in parties:
            largest = max(1.0, float(largest_magnitudes(columns[party]).max(initial=0.0)))
            bound = step_error_bound(largest, len(parties), self._settings.fixed_point)
            bound += column_error_bound(
                largest, weight_size, self._residual.score_factor, mean_residual, self._settings.fixed_point
            )
            bound += float_error(largest, score_size, term_count, len(rows)) + deposited.allowances[party]
            exact = {WEIGHTS: np.asarray(columns[party].T @ d) / len(rows), INTERCEPT: d.sum(axis=0) / len(rows)}
            error = max(
                float(np.abs(deposited.gradients[party][name] - exact[name]).max(initial=0.0))
                for name in deposited.gradients[party]
            )
            largest_gradient = max(
                largest_gradient, *(float(np.abs(values).max(initial=0.0)) for values in exact.values())
            )
            if error / bound > worst.largest_error / worst.bound:
                worst = StepCheck(step, party, error, bound)
        return worst, largest_gradient
