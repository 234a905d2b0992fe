"""NumPy's functions on encrypted arrays: the functions that ciphertexts support, and a helpful error for all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hekat.encrypted_array import arithmetic, indexing, products, segments, sums
from hekat.encrypted_array.refusals import refuse, refuse_comparison, refuse_division
from hekat.encrypted_array.values import EncryptedValues

_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.maximum, np.minimum)
_DIVISIONS = (np.true_divide, np.floor_divide, np.remainder, np.divmod, np.fmod, np.reciprocal)
_CURE = "decrypt first; encrypted arrays have +, -, * and @ with plain numbers, sum, and everything that moves values"


class NumpyProtocol:
    """Makes `np_array + x`, `np_array @ x`, `np.sum(x)` and the like one operation of x, not one per element."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.add and method == "reduce":
            return _sum(*inputs, **{"axis": 0, **options})
        if ufunc is np.add and method == "reduceat":
            return _reduceat(*inputs, **options)
        if method == "at":
            refuse(
                f"np.{ufunc.__name__}.at would change an encrypted array, which never changes",
                "x + hekat.encrypted_array.segment_sum(addends, indices, len(x)) adds at indices",
            )
        if any(value is not None for value in options.values()) or method != "__call__":
            refuse(f"np.{ufunc.__name__} with {method} or options does not work on encrypted arrays", _CURE)
        if ufunc in _COMPARISONS:
            refuse_comparison()
        if ufunc in _DIVISIONS:
            refuse_division()
        if ufunc not in _UFUNCS:
            refuse(f"np.{ufunc.__name__} does not work on encrypted arrays", _CURE)
        return _UFUNCS[ufunc](*inputs)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if func not in _FUNCTIONS:
            refuse(f"np.{func.__name__} does not work on encrypted arrays", _CURE)
        return _FUNCTIONS[func](*args, **kwargs)


def _is_encrypted(value: Any) -> bool:
    return isinstance(value, EncryptedValues)


def _add(a: Any, b: Any) -> Any:
    return arithmetic.add(a, b) if _is_encrypted(a) else arithmetic.add(b, a)


def _subtract(a: Any, b: Any) -> Any:
    return arithmetic.subtract(a, b) if _is_encrypted(a) else arithmetic.subtract_from(b, a)


def _multiply(a: Any, b: Any) -> Any:
    return products.multiply(a, b) if _is_encrypted(a) else products.multiply(b, a)


def _matmul(a: Any, b: Any) -> Any:
    return products.matmul_right(a, b) if _is_encrypted(a) else products.matmul_left(a, b)


def _dot(a: Any, b: Any) -> Any:
    """np.dot: a product with a scalar, else the matrix product."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return _multiply(a, b)
    return _matmul(a, b)


def _sum(x: EncryptedValues, axis: Any = None, keepdims: Any = False, **options: Any) -> EncryptedValues:
    _check_default(options)
    return sums.sum_axes(x, axis, keepdims is True)


def _reduceat(x: Any, indices: Any, axis: Any = 0, **options: Any) -> EncryptedValues:
    _check_default(options)
    if not _is_encrypted(x):
        segments.refuse_encrypted("the indices of np.add.reduceat")
    sums: EncryptedValues = segments.reduceat(x, indices, axis)
    return sums


def _reshape(x: EncryptedValues, shape: Any, **options: Any) -> EncryptedValues:
    _check_default(options, order="C")
    return indexing.reshape(x, (shape,))


def _transpose(x: EncryptedValues, axes: Any = None) -> EncryptedValues:
    return indexing.transpose(x, () if axes is None else (axes,))


def _joined(join: Callable[..., EncryptedValues]) -> Callable[..., EncryptedValues]:
    def joined(arrays: Any, axis: int = 0, **options: Any) -> EncryptedValues:
        _check_default(options, casting="same_kind")
        return join(arrays, axis)

    return joined


def _check_default(options: Mapping[str, Any], **defaults: Any) -> None:
    """Raise InputError for NumPy options that would have to do something here."""
    for name, value in options.items():
        if value is not None and value is not np._NoValue and value != defaults.get(name):
            refuse(f"the option {name}= does not work on encrypted arrays", "leave it out")


_UFUNCS: dict[np.ufunc, Callable[..., EncryptedValues]] = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.matmul: _matmul,
    np.negative: arithmetic.negate,
    np.positive: lambda x: x,
}

_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.sum: _sum,
    np.dot: _dot,
    np.bincount: segments.bincount,
    np.histogram: segments.histogram,
    np.concatenate: _joined(indexing.concatenate),
    np.stack: _joined(indexing.stack),
    np.reshape: _reshape,
    np.ravel: lambda x: indexing.reshape(x, (-1,)),
    np.transpose: _transpose,
    np.broadcast_to: lambda x, shape: indexing.broadcast_to(x, shape if isinstance(shape, tuple) else (shape,)),
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
}
