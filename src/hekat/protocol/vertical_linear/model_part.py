"""ModelPart: what one party keeps of a trained model. No part is of use without the other parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

CALIBRATION = "calibration"
"""The name among the guest's arrays of slopes and offsets of its scores, from which probabilities follow: (K, 2) of
each score by itself, or with three classes or more (K, K + 1) of all together, for a softmax."""


@dataclass(frozen=True)
class ModelPart:
    """One party's part of a model; all parts of one model have the same `model_id`.

    In form `arbiter`, `arrays` holds `weights` (columns, K) float64 and, at the guest, `intercept` (K,). In form
    `shared_weights` it holds `weight_shares` (columns of all parties, K, 2) uint64 and `intercept_shares` (K, 2), or at
    a party that holds no shares `noise_key` (4,) uint64. `share_holders` are the two that do; empty: the guest and the
    only host.

    `label_privacy` is the epsilon by which labels were replaced; None: they were not.

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
    share_holders: tuple[str, ...] = ()
    label_privacy: float | None = None

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)

    @property
    def target_count(self) -> int:
        """K, the number of weight vectors: one, or one for each class of three or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @property
    def holders(self) -> tuple[str, ...]:
        """The two parties that hold shares in form `shared_weights`, in the order of parties."""
        return self.share_holders or (self.guest, self.hosts[0])

    @property
    def needs_key(self) -> bool:
        """Whether the party encrypts under a key of its own to predict."""
        return self.form == "shared_weights" and self.party in self.holders

    @property
    def quiet_parties(self) -> tuple[str, ...]:
        """The parties that hold no shares in form `shared_weights`."""
        return tuple(name for name in self.parties if name not in self.holders)
