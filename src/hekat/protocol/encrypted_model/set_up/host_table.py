"""A host's rows as training takes them: checked, dense, labels as targets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.data import Table, check_finite, encode_labels, is_dense
from hekat.errors import InputError
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings

FloatArray = npt.NDArray[np.float64]

LEAST_ROWS = 10
"""Of a host that trains: sums over fewer rows tell them nearly outright to whoever takes other sums off."""


def features_of(table: Table, least_rows: int = LEAST_ROWS) -> FloatArray:
    """The columns (rows, columns). Raises InputError for none, sparse rows, fewer than `least_rows` rows, NaN."""
    features = table.features
    if not is_dense(features):
        raise InputError(
            f"{table.name} has sparse rows",
            expected="dense rows: a local epoch is one square matrix over all columns",
            got="sparse ones",
            cure="set sparse = false in the job, or protocol = 'horizontal'",
        )
    if not features.shape[1] or len(table) < least_rows:
        raise InputError(
            f"{table.name} is too small",
            expected=f"at least one column and {least_rows:,} rows",
            got=f"{features.shape[1]} columns, {len(table):,} rows",
            cure="check the site's data file",
        )
    check_finite(table)
    return features


def targets_of(table: Table, settings: EncryptedModelSettings) -> FloatArray:
    """Targets (rows, K): -1 or 1 for each class, or the numbers of a regression as they are. Raises InputError where
    labels are missing or none of the classes."""
    if table.labels is None:
        raise InputError(
            f"{table.name} has no labels",
            expected="a label for each row at every host",
            got="none",
            cure="name the label column in the host's site file",
        )
    labels = encode_labels(table, settings.classes).labels
    assert labels is not None
    if settings.task == "linear":
        return labels.astype(np.float64)[:, np.newaxis]
    if settings.target_count == 1:
        return np.where(labels == 1, 1.0, -1.0)[:, np.newaxis]
    return np.where(labels[:, np.newaxis] == np.arange(settings.target_count), 1.0, -1.0)
