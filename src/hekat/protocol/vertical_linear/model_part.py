"""ModelPart: what one party keeps of a trained model; no part is of use without the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ModelPart:
    """One party's part. `arrays` hold `weights` (columns, K) float64 and at the guest `intercept` (K,); in form
    `shared_weights` instead `weight_shares` (columns of both parties, K, 2) uint64 and `intercept_shares`.

    `model_id` is the same in all parts of one model. `means` and `spreads` (columns,) are those of the party's own
    training rows (0 and 1 without standardising), standardised features are kept within `limit_spreads` of 0 (0: no
    limit); `target_mean` and `target_spread` are the guest's, for a regression.
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
