"""A party's columns and the guest's targets as the integers of form `shared_weights`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Features, is_dense
from hekat.errors import BoundError
from hekat.protocol.vertical_linear.columns import Targets, TrainingColumns
from hekat.protocol.vertical_linear.fixed_point import encode_features, encode_numbers
from hekat.protocol.vertical_linear.shared_weights.scales import LIMIT_BITS, Scales

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OwnColumns:
    """A party's own side of the rows: `integers` (rows, columns), dense or sparse; `targets` (rows, K) at the guest;
    `batches` of row numbers."""

    party: str
    column_names: tuple[str, ...]
    columns: TrainingColumns
    integers: Any
    targets: IntArray | None
    batches: Sequence[IntArray]

    @property
    def sparse(self) -> bool:
        return not is_dense(self.columns.features)

    def dense_integers(self) -> IntArray:
        """The integers as an array, sparse ones written out."""
        return self.integers if isinstance(self.integers, np.ndarray) else np.asarray(self.integers.toarray())

    @property
    def row_count(self) -> int:
        return int(self.integers.shape[0])

    @property
    def column_count(self) -> int:
        return int(self.integers.shape[1])


def encode_own_features(features: Features, scales: Scales, party: str) -> Any:
    """Round prepared features to integers below 2^feature_limit_bits, dense or sparse as they are. Raises
    BoundError."""
    integers = encode_features(features, scales.fixed_point, party)
    if integers.size and int(abs(integers).max()) >> scales.feature_limit_bits:
        raise BoundError(
            f"features of {party} are too large for shares",
            expected=f"magnitudes below 2^{LIMIT_BITS}",
            got="a larger one",
            cure="standardise the columns (training.standardise = true), or change their unit",
        )
    return integers


def encode_targets(targets: Targets, scales: Scales, party: str) -> IntArray:
    """Round targets to integers below 2^target_limit_bits. Raises BoundError."""
    return encode_numbers(targets.values, scales.target_bits, scales.target_limit_bits, f"targets of {party}")
