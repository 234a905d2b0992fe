"""Argument checks and refusals that every engine shares, so that bad input is answered the same everywhere."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, SupportsIndex

import numpy as np

from hekat.array_module import is_array, on_host
from hekat.engine.interface import (
    BoolArray,
    Engine,
    FixedBaseTable,
    IndexArray,
    Modulus,
    ResidueArray,
    check_same_modulus,
)
from hekat.engine.limbs import LimbArray
from hekat.engine.sparse_exponents import SparseExponents
from hekat.errors import EngineError, InputError

Shape = tuple[int, ...]

MAX_WINDOW_BITS = 16
MAX_TABLE_EXPONENT_BITS = 1 << 20


def check_limbs(limbs: LimbArray, what: str) -> Shape:
    """The leading shape of canonical limbs. Raises InputError unless they are a (..., k >= 1) array of uint64.

    The array may lie on the host or on a device: an engine refuses arrays that it cannot reach.
    """
    if not is_array(limbs) or limbs.dtype != np.uint64 or limbs.ndim < 1 or limbs.shape[-1] < 1:
        raise InputError(
            f"{what} have the wrong layout",
            expected="an array of uint64 limbs, shape (..., limbs)",
            got=describe(limbs),
            cure="make limbs with hekat.engine.limbs.limbs_from_ints",
        )
    return tuple(limbs.shape[:-1])


def refuse_device_limbs(limbs: Any) -> None:
    """Raise EngineError for limbs on a device, which an engine on the host cannot reach."""
    if not on_host(limbs):
        raise EngineError(
            "limbs on a device do not reach an engine of the host",
            expected="limbs on the host",
            got=f"{describe(limbs)} on a device",
            cure="compute with the engine of their device, or bring them to the host first",
        )


def check_load(limbs: LimbArray, modulus: Modulus) -> Shape:
    """The leading shape of limbs to load. Raises InputError for a wrong layout or more limbs than the modulus has.

    The engine itself checks whether each value is below the modulus, and raises `refuse_not_below_modulus`.
    """
    shape = check_limbs(limbs, "residues")
    if limbs.shape[-1] > modulus.limb_count:
        raise InputError(
            "residues have more limbs than their modulus",
            expected=f"at most {modulus.limb_count} limbs",
            got=f"{limbs.shape[-1]} limbs",
            cure="use reduce for values that may reach the modulus",
        )
    return shape


def check_reduce(limbs: LimbArray, modulus: Modulus) -> Shape:
    """The leading shape of limbs to reduce. Raises InputError above twice the modulus' limbs."""
    shape = check_limbs(limbs, "values to reduce")
    if limbs.shape[-1] > 2 * modulus.limb_count:
        raise InputError(
            "values are too wide to reduce",
            expected=f"at most {2 * modulus.limb_count} limbs, twice as many as the modulus has",
            got=f"{limbs.shape[-1]} limbs",
            cure="divide with int_divmod first",
        )
    return shape


def check_one_plus(a: ResidueArray, values: LimbArray) -> tuple[Shape, LimbArray]:
    """The shape of the products a (1 + v root), and the root, shape (limbs,).

    The engine itself checks whether each value is below the root, and raises `refuse_not_below_root`. Raises
    InputError where there is no root, for values with more limbs than it, and for shapes that do not broadcast.
    """
    shape = broadcast_shape(a.shape, check_limbs(values, "values"))
    root = a.modulus.root_limbs
    if root is None:
        raise InputError(
            "the modulus has no known root",
            expected="residues modulo a square, Modulus(n * n, root=n)",
            got=repr(a.modulus),
        )
    if values.shape[-1] > root.size:
        raise InputError(
            "values have more limbs than the modulus' root",
            expected=f"at most {root.size} limbs",
            got=f"{values.shape[-1]} limbs",
        )
    return shape, root


def check_own(engine: Engine, a: ResidueArray) -> None:
    """Raise EngineError unless `a` is a ResidueArray of this engine."""
    if not isinstance(a, ResidueArray) or a.engine is not engine:
        raise EngineError(
            "operand belongs to another engine",
            expected=f"residues of engine {engine.name}",
            got=repr(a) if isinstance(a, ResidueArray) else type(a).__name__,
            cure="store it and load it again in this engine",
        )


def check_own_table(engine: Engine, table: FixedBaseTable) -> None:
    """Raise EngineError unless `table` was made by this engine."""
    if not isinstance(table, FixedBaseTable) or table.engine is not engine:
        raise EngineError(
            "fixed-base table belongs to another engine",
            expected=f"a table of engine {engine.name}",
            got=f"one of {table.engine.name}" if isinstance(table, FixedBaseTable) else type(table).__name__,
            cure="make the table with the engine that uses it",
        )


def check_table(
    base: LimbArray, modulus: Modulus, exponent_bits: int, window_bits: int | None, uses: int | None
) -> None:
    """Raise InputError unless the arguments of `fixed_base_table` are one base and sizes in range."""
    if check_load(base, modulus) != ():
        raise InputError("a fixed-base table is of one base", expected="limbs of shape (k,)", got=f"shape {base.shape}")
    if not 1 <= exponent_bits <= MAX_TABLE_EXPONENT_BITS:
        raise InputError(
            "fixed-base table refused",
            expected=f"exponent_bits from 1 to {MAX_TABLE_EXPONENT_BITS}",
            got=str(exponent_bits),
        )
    if window_bits is not None and not 1 <= window_bits <= MAX_WINDOW_BITS:
        raise InputError(
            "fixed-base table refused", expected=f"window_bits from 1 to {MAX_WINDOW_BITS}", got=str(window_bits)
        )
    if uses is not None and uses < 1:
        raise InputError("fixed-base table refused", expected="uses of 1 or more, or None", got=str(uses))


def check_multi_exp(a: ResidueArray, exponents: LimbArray, negative: BoolArray | None) -> tuple[int, int]:
    """The (k, m) of a multi-exponentiation. Raises InputError unless all shapes agree."""
    shape = check_limbs(exponents, "exponents")
    if len(a.shape) != 1 or len(shape) != 2 or shape[0] != a.shape[0]:
        raise InputError(
            "shapes do not fit a multi-exponentiation",
            expected="residues (k,) and exponents (k, m, limbs)",
            got=f"residues {a.shape} and exponents {exponents.shape}",
        )
    if negative is not None and (
        not isinstance(negative, np.ndarray) or negative.dtype != np.bool_ or negative.shape != shape
    ):
        raise InputError(
            "signs do not fit the exponents", expected=f"an array of bool, shape {shape}", got=describe(negative)
        )
    return shape[0], shape[1]


def check_sparse_multi_exp(a: ResidueArray, exponents: SparseExponents, negative: BoolArray | None) -> None:
    """Raise InputError unless every entry of `exponents` names a residue of `a` and carries its own sign."""
    if len(a.shape) != 1:
        raise InputError(
            "shapes do not fit a multi-exponentiation", expected="residues (k,)", got=f"residues {a.shape}"
        )
    if negative is not None:
        raise InputError(
            "sparse exponents carry their own signs",
            expected="no array of signs beside them",
            got="one",
            cure="pass the signs to SparseExponents(..., negative=...)",
        )
    _check_index_array(exponents.bases, "bases of sparse exponents", a.shape[0])


def check_segments(
    a: ResidueArray, segments: IndexArray, segment_count: int, members: IndexArray | None = None
) -> None:
    """Raise InputError unless `segments` names one of `segment_count` segments for each residue of `a`, or for each of
    the `members` that name one."""
    if segment_count < 0:
        raise InputError("segment_count refused", expected="0 or more", got=str(segment_count))
    _check_index_array(segments, "segments", segment_count)
    if members is not None:
        _check_index_array(members, "members", a.size)
    factors = a if members is None else members
    if len(a.shape) != 1 or len(factors.shape) != 1 or segments.shape != factors.shape:
        raise InputError(
            "shapes do not fit a segment product",
            expected="residues (or members of them) and segments of one shape (count,)",
            got=f"residues {a.shape}, members {None if members is None else members.shape}, segments {segments.shape}",
        )


def check_indices(indices: IndexArray, size: int) -> None:
    """Raise InputError unless `indices` is an int64 array of flat indices in [0, size)."""
    _check_index_array(indices, "indices", size)


def check_reshape(a: ResidueArray, shape: Sequence[SupportsIndex]) -> Shape:
    """`shape` as a tuple of ints. Raises InputError unless it holds exactly the residues of `a`."""
    wanted = tuple(operator.index(length) for length in shape)
    if any(length < 0 for length in wanted) or prod(wanted) != a.size:
        raise InputError("reshape refused", expected=f"a shape of {a.size} residues", got=f"{wanted}")
    return wanted


def check_axis(a: ResidueArray, axis: int) -> int:
    """`axis` counted from the front. Raises InputError where `a` has no such axis."""
    if not -len(a.shape) <= axis < len(a.shape):
        raise InputError("axis out of range", expected=f"an axis of shape {a.shape}", got=str(axis))
    return axis % len(a.shape)


def check_concatenate(engine: Engine, arrays: Sequence[ResidueArray]) -> Shape:
    """The shape of the joined arrays. Raises InputError for none or for shapes that do not join."""
    if not arrays:
        raise InputError("nothing to concatenate", expected="at least one array", got="none")
    first = arrays[0]
    for array in arrays:
        check_own(engine, array)
        check_same_modulus(first, array)
        if not array.shape or array.shape[1:] != first.shape[1:]:
            raise InputError(
                "shapes do not concatenate",
                expected="arrays of one axis or more, equal beyond the first",
                got=f"{first.shape} and {array.shape}",
            )
    return (sum(array.shape[0] for array in arrays), *first.shape[1:])


def broadcast_shape(a: Shape, b: Shape) -> Shape:
    """The shape two leading shapes broadcast to. Raises InputError where they do not."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise InputError(
            "shapes do not broadcast", expected="equal lengths or 1 along each axis", got=f"{a} and {b}"
        ) from None


def refuse_not_below_modulus(index: int, shape: Shape, modulus: Modulus) -> InputError:
    """The error for a value to load that is not below the modulus, at flat `index` of `shape`."""
    return _at(
        index,
        f"value at index {index_text(index, shape)} is not below its modulus",
        expected=f"values below the modulus of {modulus.bits} bits",
        got="a larger one",
        cure="use reduce for values that may reach the modulus",
    )


def refuse_not_below_root(index: int, shape: Shape, modulus: Modulus) -> InputError:
    """The error for a value that is not below the root of the modulus, at flat `index` of `shape`."""
    return _at(
        index,
        f"value at index {index_text(index, shape)} is not below the root of its modulus",
        expected=f"values below the root of the modulus of {modulus.bits} bits",
        got="a larger one",
    )


def refuse_not_invertible(index: int, shape: Shape) -> InputError:
    """The error for a residue that shares a factor with the modulus, at flat `index` of `shape`."""
    return _at(
        index,
        f"residue at index {index_text(index, shape)} has no inverse",
        expected="residues coprime to the modulus",
        got="one that shares a factor with it",
    )


def refuse_wide_exponent(index: int, shape: Shape, table: FixedBaseTable) -> InputError:
    """The error for an exponent beyond the table's bits, at flat `index` of `shape`."""
    return _at(
        index,
        f"exponent at index {index_text(index, shape)} is wider than its fixed-base table",
        expected=f"exponents below 2^{table.exponent_bits}",
        got="a larger one",
        cure="make the table with more exponent_bits",
    )


def refuse_zero_divisor(index: int, shape: Shape) -> InputError:
    """The error for a zero divisor, at flat `index` of `shape`."""
    return _at(index, f"divisor at index {index_text(index, shape)} is zero", expected="divisors above 0", got="0")


def index_text(index: int, shape: Shape) -> str:
    """A flat index in the notation of an array of `shape`: `4`, or `(1, 0)` for several axes."""
    if len(shape) < 2:
        return str(index)
    return str(tuple(int(i) for i in np.unravel_index(index, shape)))


def describe(value: Any) -> str:
    """Shape and type of an array, or the class of anything else: all that an error may say about it."""
    if is_array(value):
        return f"shape {value.shape} of {value.dtype}"
    return type(value).__name__


def _at(index: int, what: str, *, expected: str, got: str, cure: str = "") -> InputError:
    error = InputError(what, expected=expected, got=got, cure=cure)
    error.index = index
    return error


def _check_index_array(indices: IndexArray, what: str, limit: int) -> None:
    if not isinstance(indices, np.ndarray) or indices.dtype != np.int64:
        raise InputError(f"{what} have the wrong layout", expected="an array of int64", got=describe(indices))
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= limit):
        outside = int(indices.min()) if int(indices.min()) < 0 else int(indices.max())
        raise InputError(f"{what} out of range", expected=f"0 <= index < {limit}", got=str(outside))
