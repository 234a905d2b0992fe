"""The run's own check, on one machine only: is each decoded mean within the stated bound of the float one?"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hekat.codec import clip
from hekat.codec.clip import FloatArray
from hekat.errors import BoundError
from hekat.protocol.secure_sum.aggregation import SumRequest, flatten, scale_by_weight
from hekat.protocol.secure_sum.streamed_tensor import Tensors, arrays_of


@dataclass(frozen=True)
class BoundCheck:
    """One checked sum: the largest error found and the bound it was held against, both in units of the update.

    `clipped_excess` is the largest distance by which clipping moved the mean; 0 where nothing was clipped.
    """

    step: str
    largest_error: float
    bound: float
    clipped_excess: float


class ExactnessCheck:
    """Collects every party's float update in this process and compares; sites that are apart have none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._updates: dict[str, dict[str, tuple[FloatArray, FloatArray, int]]] = {}
        self.checks: list[BoundCheck] = []

    def deposit(self, step: str, party: str, update: Tensors, clipped: Tensors, weight: int) -> None:
        """One party's update before and after clipping, in units of the update."""
        with self._lock:
            self._updates.setdefault(step, {})[party] = (flatten(update), flatten(clipped), weight)

    def deposit_request(self, request: SumRequest, party: str, weight_max: int) -> None:
        """As `deposit`, of what is clipped once it is scaled by its weight.

        Streams are left out: the check compares values that this machine holds as arrays anyway.
        """
        tensors, bounds = arrays_of(request.tensors), request.bounds
        scaled = scale_by_weight(tensors, request.weight, weight_max)
        back = weight_max / request.weight
        clipped = {name: clip(values, bounds[name])[0] * back for name, values in scaled.items()}
        self.deposit(request.step, party, tensors, clipped, request.weight)

    def check(self, step: str, decoded: Tensors, bounds: Tensors, included: Iterable[str]) -> None:
        """Hold the decoded mean against the float mean of the clipped updates of `included`; once per step.

        Raises BoundError, which ends the run, where any value is further away than its bound: the codec is then wrong.
        """
        with self._lock:
            deposited = self._updates.pop(step, None)
        if deposited is None or not bounds:
            return
        updates = [deposited[party] for party in included]
        weight_sum = sum(weight for _, _, weight in updates)
        exact = sum(update * weight for update, _, weight in updates) / weight_sum
        clipped = sum(update * weight for _, update, weight in updates) / weight_sum
        errors, allowed = np.abs(flatten(decoded) - clipped), flatten(bounds)
        worst = int(np.argmax(errors / allowed))
        self.checks.append(
            BoundCheck(
                step, float(errors[worst]), float(allowed[worst]), float(np.abs(exact - clipped).max(initial=0.0))
            )
        )
        if errors[worst] > allowed[worst]:
            raise BoundError(
                f"the aggregate of {step} is further from the float one than the codec states",
                expected=f"at most {allowed[worst]:.3g}",
                got=f"{errors[worst]:.3g}",
                cure="this is a defect in Hekat: please report it with the job file",
            )
