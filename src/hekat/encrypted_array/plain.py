"""Reads what a caller passes as plain values: numbers of one kind in one array, or a refusal with its cure."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.array_module import array_module, as_array, copy_to_host, on_host
from hekat.errors import InputError

# int64, or object holding Python integers, or float64. Arrays on a GPU never hold Python integers.
NumberArray = npt.NDArray[Any]

PYTHON_INTEGER_BOUND = 1 << 63
FLOAT_BOUND = 1 << 31


@dataclass(frozen=True, eq=False)
class PlainValues:
    """Numbers of one kind: int64 or Python integers where `is_real` is False, float64 where it is True.

    `type_bound` is what the type (never the values) says about magnitudes: |v| <= type_bound. For floats it is
    the documented default, as their type says nothing useful.
    """

    numbers: NumberArray
    is_real: bool
    type_bound: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    def __repr__(self) -> str:
        # Never the numbers: they may be somebody's data.
        return f"PlainValues({'real' if self.is_real else 'integer'}, shape {self.shape})"


def read_plain(values: Any, *, allow_bool: bool, resident: bool = False) -> PlainValues:
    """The numbers in `values`: an array, a tensor, a number, or nested lists of numbers.

    Numbers on a GPU stay there where `resident` is true; otherwise they are copied to the host.
    Raises InputError for NaN, infinities, complex numbers, text, ragged lists and other objects, and for booleans
    unless `allow_bool` (then they count as 0 and 1, as in NumPy's arithmetic).
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(
            "masked values have no numbers to encrypt",
            expected="an array without masked values",
            got=f"{int(np.count_nonzero(np.ma.getmaskarray(values)))} masked",
            cure="fill or drop them first: values.filled(0) or values.compressed()",
        )
    if isinstance(values, np.ndarray | np.generic) or hasattr(values, "__array__") or not on_host(values):
        array = as_array(values) if resident else copy_to_host(as_array(values))
        if array.dtype != object:
            return _read_typed(array, allow_bool)
    else:
        array = _nested_to_array(values)
    return _read_objects(array, allow_bool)


def _read_typed(array: npt.NDArray[Any], allow_bool: bool) -> PlainValues:
    kind = array.dtype.kind
    if kind == "b":
        _check_bool(allow_bool)
        return PlainValues(array.astype(np.int64), False, 1)
    if kind == "i":
        return PlainValues(array.astype(np.int64), False, 1 << (8 * array.dtype.itemsize - 1))
    if kind == "u":
        bits = 8 * array.dtype.itemsize
        if bits == 64 and not on_host(array):
            _check_fits_int64(array)
            return PlainValues(array.astype(np.int64), False, (1 << bits) - 1)
        return PlainValues(array.astype(np.int64 if bits < 64 else object), False, (1 << bits) - 1)
    if kind == "f" and array.dtype.itemsize <= 8:
        return PlainValues(_check_finite(array.astype(np.float64)), True, FLOAT_BOUND)
    raise InputError(
        "values of this type cannot be encrypted or combined with encrypted values",
        expected="integers or floats of at most 64 bits",
        got=f"an array of {array.dtype}",
        cure="convert it first, for example with .astype(np.float64) or .astype(np.int64)",
    )


def _nested_to_array(values: Any) -> npt.NDArray[Any]:
    """As an object array, because NumPy's own guess turns integers beyond 64 bits into floats and so rounds them."""
    try:
        return np.array(values, dtype=object)
    except ValueError:
        raise _ragged() from None


def _read_objects(array: npt.NDArray[Any], allow_bool: bool) -> PlainValues:
    has_float = array.size == 0
    for value in array.flat:
        if isinstance(value, bool | np.bool_):
            _check_bool(allow_bool)
        elif isinstance(value, float | np.floating):
            has_float = True
        elif isinstance(value, list | tuple | np.ndarray):
            raise _ragged()
        elif not isinstance(value, numbers.Integral):
            raise InputError(
                "a value is not a number that can be encrypted",
                expected="integers or floats",
                got=f"an object of type {type(value).__name__}",
                cure="convert the values to int or float first",
            )
    if has_float:
        return PlainValues(_check_finite(_to_floats(array)), True, FLOAT_BOUND)
    integers = np.empty(array.shape, dtype=object)
    integers.reshape(-1)[:] = [int(value) for value in array.flat]
    return PlainValues(integers, False, PYTHON_INTEGER_BOUND)


def _to_floats(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise InputError(
            "integers and floats are mixed and an integer is beyond the range of floats",
            expected="magnitudes below 2^1024",
            got="a larger one",
            cure="pass integers only; they are exact at any size",
        ) from None


def _check_finite(array: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    xp = array_module(array)
    finite = xp.isfinite(array)
    if not finite.all():
        raise InputError(
            "values are not finite",
            expected="finite numbers",
            got=f"{int(finite.size - xp.count_nonzero(finite))} NaN or infinite of {finite.size}",
            cure="drop or fill them first (np.isfinite finds them)",
        )
    return array


def _check_fits_int64(array: npt.NDArray[np.uint64]) -> None:
    if (array >> np.uint64(63)).any():
        raise InputError(
            "unsigned integers on a GPU are beyond what is read there",
            expected="integers below 2^63",
            got="larger ones",
            cure="bring them to the host first, where integers of any size are taken",
        )


def _check_bool(allow_bool: bool) -> None:
    if not allow_bool:
        raise InputError(
            "booleans are not encrypted as such: their sums would not be booleans",
            expected="integers or floats",
            got="booleans",
            cure="say what they count: values.astype(np.int8)",
        )


def _ragged() -> InputError:
    return InputError(
        "nested lists do not form an array",
        expected="equal lengths at every level",
        got="lists of different lengths or depths",
        cure="pad them or encrypt each list on its own",
    )
