"""How an attack walks from its first guess to the lowest objective: L-BFGS with a line search, or Adam on signs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hekat.privacy.attacks.second_derivative import derive_again
from hekat.torch_library import import_torch

# Steps between two reports, and between two looks at whether L-BFGS still moves.
_REPORT_STEPS = 20
# Shares of all steps after which Adam's step shrinks tenfold.
_DROPS = (3 / 8, 5 / 8, 7 / 8)

Tell = Callable[[int], None]


@dataclass(frozen=True)
class Found:
    """A guess as its tensors, and its objective, priors included; infinity where it is no number."""

    guess: list[Any]
    value: float


class Optimiser(Protocol):
    """Lowers `objective` from `start`; `tell` hears how many steps are done."""

    @property
    def step_count(self) -> int: ...

    def minimise(self, objective: Callable[[Sequence[Any]], Any], start: Sequence[Any], tell: Tell) -> Found: ...


@dataclass(frozen=True)
class LineSearch:
    """L-BFGS with a strong-Wolfe line search.

    Args:
        step_count: At most as many steps; it ends earlier where it does not move any more.
        history: Pairs of the inverse Hessian's approximation, 50 to 100.

    Source: Zhu et al., Deep Leakage from Gradients (2019), section 4.1, which names no line search.
    """

    step_count: int = 600
    history: int = 100

    def minimise(self, objective: Callable[[Sequence[Any]], Any], start: Sequence[Any], tell: Tell) -> Found:
        torch = import_torch()
        guess = [tensor.detach().clone().contiguous().requires_grad_() for tensor in start]
        search = torch.optim.LBFGS(
            guess,
            max_iter=_REPORT_STEPS,
            max_eval=4 * _REPORT_STEPS,
            history_size=self.history,
            line_search_fn="strong_wolfe",
            tolerance_grad=1e-12,
            tolerance_change=1e-16,
        )

        def evaluate() -> Any:
            value = objective(guess)
            if not math.isfinite(float(value.detach())):
                raise _NoNumberError
            for tensor, slope in zip(guess, derive_again(value, guess), strict=True):
                tensor.grad = torch.zeros_like(tensor) if slope is None else slope.detach().contiguous()
            return value.detach()

        best = Found([tensor.detach().clone() for tensor in guess], math.inf)
        # One step more than are taken: a step tells the value that it began with.
        for done in range(0, self.step_count + _REPORT_STEPS, _REPORT_STEPS):
            tell(min(done, self.step_count))
            begun = [tensor.detach().clone() for tensor in guess]
            try:
                value = float(evaluate() if done >= self.step_count else search.step(evaluate))
            except _NoNumberError:
                break
            if not value < best.value:
                break
            best = Found(begun, value)
        return best


class _NoNumberError(Exception):
    """A line search went where the objective is no number."""


@dataclass(frozen=True)
class SignedAdam:
    """Adam on the sign of the gradient; steps shrink tenfold after 3/8, 5/8 and 7/8 of them, and the first tensor of
    the guess, the rows, stays within `box`.

    Args:
        step_count: 4,800 for small pictures, 24,000 for ImageNet's.
        step_size: Of the first steps.
        box: Lowest and highest value of a row's cells; None for none.

    Source: Geiping et al., Inverting Gradients (2020), section 5.
    """

    step_count: int = 4800
    step_size: float = 0.1
    box: tuple[float, float] | None = (0.0, 1.0)

    def minimise(self, objective: Callable[[Sequence[Any]], Any], start: Sequence[Any], tell: Tell) -> Found:
        torch = import_torch()
        guess = [tensor.detach().clone().requires_grad_() for tensor in start]
        adam = torch.optim.Adam(guess, lr=self.step_size)
        drops = [round(share * self.step_count) for share in _DROPS]
        schedule = torch.optim.lr_scheduler.MultiStepLR(adam, milestones=drops, gamma=0.1)
        best = Found([tensor.detach().clone() for tensor in guess], math.inf)
        for done in range(self.step_count + 1):
            if done % _REPORT_STEPS == 0:
                tell(done)
            value = objective(guess)
            if float(value.detach()) < best.value:
                best = Found([tensor.detach().clone() for tensor in guess], float(value.detach()))
            for tensor, slope in zip(guess, derive_again(value, guess), strict=True):
                tensor.grad = torch.zeros_like(tensor) if slope is None else slope.sign()
            adam.step()
            schedule.step()
            if self.box is not None:
                with torch.no_grad():
                    guess[0].clamp_(*self.box)
        return best
