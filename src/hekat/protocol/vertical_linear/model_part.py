"""ModelPart: what one party keeps of a trained model. No part is of use without the other parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

CALIBRATION = "calibration"
"""The name among the guest's arrays of slopes and offsets (K, 2) of its scores, from which probabilities follow."""


@dataclass(frozen=True)
class ModelPart:
    """One party's part of a model; all parts of one model have the same `model_id`.

    In form `arbiter`, `arrays` holds `weights` (columns, K) float64 and, at the guest, `intercept` (K,). In form
    `shared_weights` it holds `weight_shares` (columns of both parties, K, 2) uint64 and `intercept_shares` (K, 2).

    Either form may have `mixing`, the combinations of the party's columns that were trained on, and at the guest
    CALIBRATION.

    `means` and `spreads` (columns,) describe the party's own training rows; without standardising they are 0 and 1.
    Standardised features are kept within `limit_spreads` of 0 (0: no limit). `target_mean` and `target_spread` describe
    the target of a regression, at the guest.
    """

    party: str
    guest: str
    hosts: tuple[str, ...]
    form: str
    task: str
    classes: tuple[str, ...] | None
    columns: tuple[str, ...]
    model_id: str
    means: FloatArray
    spreads: FloatArray
    feature_bits: int
    value_bits: int
    key_bits: int
    arrays: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    limit_spreads: float = 0.0
    target_mean: float = 0.0
    target_spread: float = 1.0
