"""Magnitudes, means and deviations of each column of features, dense or sparse; zeros left out count too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hekat.data.features import Features, FloatArray, is_dense

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def largest_magnitudes(features: Features) -> FloatArray:
    """The largest magnitude of each column, shape (columns,); 0 for no rows. A cell to be filled does not count."""
    if is_dense(features):
        return np.asarray(np.fmax.reduce(np.abs(features), axis=0, initial=0.0))
    largest = np.zeros(features.shape[1])
    np.fmax.at(largest, features.indices, np.abs(features.data))
    return largest


def mean_squares(features: Features) -> FloatArray:
    """The mean square of each column over all rows, shape (columns,)."""
    if is_dense(features):
        return np.asarray(np.einsum("ij,ij->j", features, features) / features.shape[0])
    return np.asarray(_column_sums(features, features.data**2) / features.shape[0])


def column_sums(features: Features) -> FloatArray:
    """The sum of each column over all rows, shape (columns,); exact for columns of 0 and 1."""
    return np.asarray(features.sum(axis=0) if is_dense(features) else _column_sums(features, features.data))


def column_means(features: Features, unit: FloatArray) -> FloatArray:
    """The mean of each column over all rows, in its unit."""
    if is_dense(features):
        return np.asarray((features / unit).mean(axis=0))
    return np.asarray(_column_sums(features, features.data / unit[features.indices]) / features.shape[0])


def largest_deviations(features: Features, centre: FloatArray, unit: FloatArray) -> FloatArray:
    """The largest |x - centre| of each column, in its unit."""
    if is_dense(features):
        return np.asarray(np.abs((features - centre) / unit).max(axis=0))
    largest = np.where(_zero_counts(features) > 0, np.abs(centre / unit), 0.0)
    np.maximum.at(largest, features.indices, np.abs(_stored_deviations(features, centre, unit)))
    return largest


def deviation_moments(features: Features, centre: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean of x - centre and of its square for each column over all rows, in its unit."""
    if is_dense(features):
        deviations = (features - centre) / unit
        return np.asarray(deviations.mean(axis=0)), np.asarray((deviations**2).mean(axis=0))
    stored, of_zero, zeros = _stored_deviations(features, centre, unit), -centre / unit, _zero_counts(features)
    mean = (_column_sums(features, stored) + zeros * of_zero) / features.shape[0]
    square = (_column_sums(features, stored**2) + zeros * of_zero**2) / features.shape[0]
    return mean, square


def _stored_deviations(rows: csr_array, centre: FloatArray, unit: FloatArray) -> FloatArray:
    columns = rows.indices
    return np.asarray((rows.data - centre[columns]) / unit[columns])


def _column_sums(rows: csr_array, stored: FloatArray) -> FloatArray:
    return np.bincount(rows.indices, weights=stored, minlength=rows.shape[1]).astype(np.float64)


def _zero_counts(rows: csr_array) -> FloatArray:
    """How many rows leave each column out."""
    return np.asarray(rows.shape[0] - np.bincount(rows.indices, minlength=rows.shape[1]), dtype=np.float64)
