"""A party's columns of the joined rows, prepared as the party prepared them for the run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical.columns import apply_standardiser, prepare_columns
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.network_settings import NetworkTraining
from hekat.run.vertical.role import PartyOutcome

FloatArray = npt.NDArray[np.float64]


def joined_columns(
    outcome: PartyOutcome[NetworkPart], training: NetworkTraining, *, is_guest: bool
) -> tuple[FloatArray, FloatArray]:
    """The columns (rows, columns) of the party's training rows and of its test rows; a guest may have none."""
    assert outcome.test_rows is not None  # all parties have test rows where one has
    prepared = prepare_columns(
        outcome.rows, standardise=training.standardise, limit_spreads=training.limit_spreads, may_be_empty=is_guest
    )
    tested = apply_standardiser(outcome.test_rows.features, prepared.means, prepared.spreads, training.limit)
    return np.asarray(prepared.features, np.float64), np.asarray(tested, np.float64)
