"""The rule on a host's columns that share so few rows of a batch that their gradients determine the labels of these.

A column that has one value c but in some rows tells, with a column of ones or another such column, the sum of
(x_i - c) d_i over these rows alone. Columns that differ from their own most common value in the same 29 rows of 256
are about 29 labels, not about 256: four of them tell more bits than the 29 labels have, and trying halves finds all 29.

So the rule gives out each row's label once, in parts, to the columns that are not at their most common value in the
row. Where every column gets as many bits of labels as its gradient tells, no choice of columns tells more than the
labels of all its rows hold (Hall's condition, with parts). Scaling finds the parts: columns that lack bits get a larger
part of each row.
Source: Hall 1935, for the condition; Sinkhorn 1967, for the scaling.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Features, is_dense
from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.label_leak.cures import ways_out
from hekat.protocol.vertical_linear.label_leak.label_bits import bits_of_column, most_label_bits
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Columns that no parts of so many rounds satisfy are refused; a few rounds suffice where there is a tenth to spare.
_ROUNDS = 100
# Scaling comes near its aim without reaching it.
_AIM = 1.05
_ROUNDING = 1e-9


def check_column_rows(
    party: str, features: Features, batches: Iterable[IntArray], feature_bits: int, settings: VerticalLinearSettings
) -> None:
    """Raise PolicyError where a host's columns share too few rows of a batch, unless the job accepts that in words.

    `features` (rows, columns) are the columns as the protocol has them. A host does not know the labels, so the rule
    counts as many bits as labels can have.
    """
    if settings.label_leak_accepted == LEAK_ACCEPTED:
        return
    for rows in batches:
        told = bits_of_column(feature_bits, len(rows), settings)
        needed = told * len(rows) / most_label_bits(len(rows), settings) if len(rows) > 1 else np.inf
        lacking = count_crowded_columns(features[rows], needed)
        if lacking:
            raise PolicyError(
                f"{lacking} columns of host {party} share so few rows that they would tell the labels of these",
                expected=f"for each column {needed:.1f} rows of every batch in which it is not at its most common "
                "value, no row counted twice",
                got="fewer",
                cure=", ".join(
                    [
                        "leave out or merge columns that are empty or alike in most rows",
                        "use larger batches",
                        *ways_out(settings),
                    ]
                ),
            )


def count_crowded_columns(part: Features, needed: float) -> int:
    """Count the columns of a batch that get less than `needed` rows; 0 where all columns get enough.

    Each row is given out once, in parts, to the columns that are not at their most common value in it.
    """
    apart = _rows_apart(part)
    weights = np.ones(part.shape[1])
    lacking = 0
    for _ in range(_ROUNDS):
        of_rows = apart @ weights
        shares = weights * (apart.T @ np.divide(1.0, of_rows, out=np.zeros_like(of_rows), where=of_rows > 0))
        lacking = int((shares < needed * (1 - _ROUNDING)).sum())
        # Shares add up to the rows given out, and no round gives out more.
        if not lacking or not shares.all() or shares.sum() < needed * len(shares) * (1 - _ROUNDING):
            break
        weights *= np.maximum(_AIM * needed / shares, 1.0)
        weights /= weights.max()
    return lacking


def _rows_apart(part: Features) -> Any:
    """1 where a column is not at its most common value, else 0, (rows, columns), dense or sparse.

    A column in which all values differ has no most common value: 1 in every row.
    """
    if is_dense(part):
        return _apart_of_dense(part).astype(np.float64)
    from scipy.sparse import csc_array, hstack

    columns = csc_array(part)
    columns.eliminate_zeros()
    # Where a column stores at most half of the rows, no value is more common than zero.
    is_full = 2 * np.diff(columns.indptr) > part.shape[0]
    thin = columns[:, ~is_full]
    thin.data = np.ones_like(thin.data)
    full = csc_array(_apart_of_dense(columns[:, is_full].toarray()).astype(np.float64))
    return hstack([thin, full], format="csr")


def _apart_of_dense(part: FloatArray) -> BoolArray:
    """As `_rows_apart`, for dense rows."""
    if not part.size:
        return np.zeros(part.shape, np.bool_)
    ordered = np.sort(part, axis=0)
    places = np.arange(len(part))[:, np.newaxis]
    begins = np.ones(part.shape, np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    lengths = places - np.maximum.accumulate(np.where(begins, places, 0), axis=0) + 1
    last = lengths.argmax(axis=0)
    columns = np.arange(part.shape[1])
    return np.asarray((part != ordered[last, columns]) | (lengths[last, columns] == 1), np.bool_)
