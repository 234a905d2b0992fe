"""Bottoms that do not train: random features, principal components, and the columns as they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hekat.errors import InputError
from hekat.model.check_rows import check_features
from hekat.model.parameters import FloatArray, Parameters, check_same_shapes, shapes_of
from hekat.model.small_products import multiply_rows
from hekat.model.split.bottom import BottomTask, refuse_training

WEIGHT, BIAS = "weight", "bias"


class AffineMap:
    """X -> X weight + bias, cut at 0 where `rectified`; the tensors stay."""

    trains = False

    def __init__(self, kind: str, weight: FloatArray, bias: FloatArray, *, rectified: bool) -> None:
        self.kind = kind
        self._tensors = {WEIGHT: weight, BIAS: bias}
        self._rectified = rectified

    @property
    def width(self) -> int:
        return int(self._tensors[WEIGHT].shape[1])

    def evaluate(self, X: FloatArray) -> FloatArray:
        check_features(X, self._tensors[WEIGHT].shape[0])
        values = multiply_rows(X, self._tensors[WEIGHT]) + self._tensors[BIAS]
        return np.maximum(values, 0.0) if self._rectified else values

    forward = evaluate

    def backward(self, slopes: FloatArray) -> Parameters:
        raise refuse_training(self.kind)

    def step(self, gradient: Parameters) -> None:
        raise refuse_training(self.kind)

    def arrays(self) -> Parameters:
        return {name: values.copy() for name, values in self._tensors.items()}

    state_arrays = arrays

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        check_same_shapes("tensors", arrays, shapes_of(self._tensors))
        self._tensors = {name: values.copy() for name, values in arrays.items()}


class SourceColumns:
    """The columns themselves."""

    kind = "source"
    trains = False

    def __init__(self, column_count: int) -> None:
        self.width = column_count

    def evaluate(self, X: FloatArray) -> FloatArray:
        check_features(X, self.width)
        return X

    forward = evaluate

    def backward(self, slopes: FloatArray) -> Parameters:
        raise refuse_training("the columns themselves")

    def step(self, gradient: Parameters) -> None:
        raise refuse_training("the columns themselves")

    def arrays(self) -> Parameters:
        return {}

    state_arrays = arrays

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        check_same_shapes("tensors", arrays, {})


def random_features(task: BottomTask) -> AffineMap:
    """max(X W + b, 0) with W of normal weights of variance 1 / columns and b normal: the map is drawn, never fitted.

    Source: Rahimi and Recht 2008 (random kitchen sinks), with rectified features.
    """
    _refuse_trained(task, "random_features")
    rng = np.random.default_rng(task.seed)
    weight = rng.normal(size=(task.column_count, task.width)) / np.sqrt(task.column_count)
    return AffineMap("random_features", weight, rng.normal(size=task.width), rectified=True)


def principal_components(task: BottomTask) -> AffineMap:
    """The `width` directions of largest spread among the training rows, each divided by its spread.

    Raises InputError for more directions than the rows span.
    """
    _refuse_trained(task, "principal_components")
    means = task.features.mean(axis=0)
    _, spreads, directions = np.linalg.svd(task.features - means, full_matrices=False)
    spanned = int(np.count_nonzero(spreads > 1e-9 * spreads[:1].sum()))
    if task.width > spanned:
        raise InputError(
            "columns have fewer principal components than the job asks for",
            expected=f"network.host_width of at most {spanned} at this host",
            got=str(task.width),
            cure="lower network.host_width, or name this host under network.host_widths",
        )
    spread = spreads[: task.width] / np.sqrt(len(task.features))
    weight = directions[: task.width].T / spread
    return AffineMap("principal_components", weight, -means @ weight, rectified=False)


def affine_map(kind: str, tensors: Mapping[str, FloatArray]) -> AffineMap:
    """The map of that kind, "random_features" or "principal_components", with these tensors. Raises InputError."""
    if set(tensors) != {WEIGHT, BIAS} or tensors[WEIGHT].ndim != 2:
        raise InputError(
            f"tensors are no {kind}",
            expected=f"a matrix {WEIGHT!r} and {BIAS!r}",
            got=", ".join(sorted(tensors)) or "none",
        )
    fitted = AffineMap(kind, tensors[WEIGHT], np.zeros(tensors[WEIGHT].shape[1]), rectified=kind == "random_features")
    fitted.begin_from(tensors)
    return fitted


def source_columns(task: BottomTask) -> SourceColumns:
    """The columns as they are; `width` is their number."""
    return SourceColumns(task.column_count)


def _refuse_trained(task: BottomTask, kind: str) -> None:
    if task.trains:
        raise refuse_training(kind)
