"""Moving values: indexing, reshaping, transposing, joining. NumPy moves positions; ciphertexts follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.encrypted_array.encoding import check_same_encoding
from hekat.encrypted_array.packing import SlotPacking
from hekat.encrypted_array.residency import check_together
from hekat.encrypted_array.values import Array, EncryptedValues
from hekat.errors import InputError
from hekat.scheme.paillier import Ciphertexts

Positions = npt.NDArray[np.int64]


def positions_of(x: Array) -> Positions:
    """The flat (C order) position of every value, in the array's shape."""
    return np.arange(x.size, dtype=np.int64).reshape(x.shape)


def gather(x: Array, positions: Positions, operation: str) -> Array:
    """The values at flat `positions`, in their shape. Raises InputError where a packed ciphertext would be split."""
    packing = x.encoding.packing
    indices = positions if packing is None else _whole_ciphertexts(positions, x.shape[-1], packing, operation)
    return replace(x, ciphertexts=x.ciphertexts.take(indices), shape=positions.shape, is_fresh=False)


def _whole_ciphertexts(positions: Positions, row_length: int, packing: SlotPacking, operation: str) -> Positions:
    """The ciphertexts that hold the values at `positions`, if these are whole ciphertexts in slot order."""
    if positions.ndim == 0:
        raise _split(operation)
    new_length = positions.shape[-1]
    count = packing.ciphertext_count(new_length)
    starts = positions[..., :: packing.slots]
    row, column = np.divmod(starts, max(row_length, 1))
    # A run of slots must go from a ciphertext's first slot, in order, to its last slot in use.
    in_order = np.repeat(starts, packing.slots, axis=-1)[..., :new_length] + np.arange(new_length) % packing.slots
    lengths = np.minimum(packing.slots, new_length - packing.slots * np.arange(count))
    in_use = np.minimum(packing.slots, row_length - column)
    if (positions != in_order).any() or (column % packing.slots != 0).any() or (lengths != in_use).any():
        raise _split(operation)
    return np.asarray(row * packing.ciphertext_count(row_length) + column // packing.slots, dtype=np.int64)


def _split(operation: str) -> InputError:
    return InputError(
        f"{operation} would split ciphertexts of a packed array",
        expected="whole ciphertexts: the last axis stays as it is, or is cut at multiples of pack",
        got="values taken out of their slots",
        cure="index the other axes only, or encrypt without pack=",
    )


def index(x: Array, key: Any) -> Array:
    """`x[key]` as NumPy indexes. Raises IndexError as NumPy does, InputError for an encrypted or float index."""
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, EncryptedValues):
            raise InputError(
                "an encrypted array cannot be an index",
                expected="public integers, slices or masks",
                got="an EncryptedArray",
                cure="decrypt the index, or multiply by a plain 0/1 mask",
            )
    return gather(x, np.asarray(positions_of(x)[key], dtype=np.int64), "this index")


def reshape(x: Array, shape: Sequence[int | tuple[int, ...]]) -> Array:
    """As NumPy's reshape in C order."""
    wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
    try:
        positions = positions_of(x).reshape(wanted)  # type: ignore[arg-type]
    except ValueError:
        raise InputError(
            "reshape does not keep the number of values",
            expected=f"a shape of {x.size} values",
            got=str(tuple(wanted)),
        ) from None
    if x.encoding.packing is None:
        return replace(x, ciphertexts=x.ciphertexts.reshape(positions.shape), shape=positions.shape)
    return replace(gather(x, positions, "this shape"), is_fresh=x.is_fresh)


def transpose(x: Array, axes: Sequence[int | tuple[int, ...]]) -> Array:
    """As NumPy's transpose."""
    try:
        positions = positions_of(x).transpose(*axes)
    except (ValueError, TypeError):
        raise InputError(
            "transpose refused", expected=f"a permutation of the axes 0 to {x.ndim - 1}", got=str(tuple(axes))
        ) from None
    return gather(x, np.array(positions, order="C"), "this transposition")


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """As NumPy's broadcast_to; repeated values repeat their ciphertexts, so the result is not fresh."""
    if shape == x.shape:
        return x
    try:
        positions = np.broadcast_to(positions_of(x), shape)
    except ValueError:
        raise InputError(
            "shapes do not broadcast", expected=f"a shape that {x.shape} broadcasts to", got=str(shape)
        ) from None
    return gather(x, np.ascontiguousarray(positions), "this broadcast")


def concatenate(arrays: Sequence[Array], axis: int = 0) -> Array:
    """Encrypted arrays joined along an existing axis, as NumPy's concatenate.

    Args:
        arrays: At least one array, all of one key, scale, packing and engine.
        axis: The axis to join along.

    Returns:
        The joined array.

    Raises:
        InputError: There is no array, or scales, packings or shapes do not fit.
        KeyRefusedError: The arrays are under different keys.
        EngineError: Different engines hold the arrays.

    Examples:
        >>> import hekat
        >>> from hekat.encrypted_array import concatenate
        >>> keys = hekat.paillier.generate_keys()
        >>> a, b = hekat.array([1, 2], key=keys.public), hekat.array([3], key=keys.public)
        >>> concatenate([a, b]).decrypt(keys.private).tolist()
        [1, 2, 3]
    """
    return _join(arrays, lambda positions: np.concatenate(positions, axis=axis))


def stack(arrays: Sequence[Array], axis: int = 0) -> Array:
    """Encrypted arrays joined along a new axis, as NumPy's stack.

    Args:
        arrays: At least one array, all of one key, scale, packing, engine and shape.
        axis: Where the new axis stands.

    Returns:
        The joined array.

    Raises:
        InputError: There is no array, or scales, packings or shapes do not fit.
        KeyRefusedError: The arrays are under different keys.
        EngineError: Different engines hold the arrays.

    Examples:
        >>> import hekat
        >>> from hekat.encrypted_array import stack
        >>> keys = hekat.paillier.generate_keys()
        >>> a, b = hekat.array([1, 2], key=keys.public), hekat.array([3, 4], key=keys.public)
        >>> stack([a, b]).decrypt(keys.private).tolist()
        [[1, 2], [3, 4]]
    """
    return _join(arrays, lambda positions: np.stack(positions, axis=axis))


def _join(arrays: Sequence[Array], join_positions: Any) -> Array:
    if len(arrays) == 0:
        raise InputError("nothing to join", expected="at least one encrypted array", got="none")
    first = arrays[0]
    for other in arrays[1:]:
        if not isinstance(other, EncryptedValues):
            raise InputError(
                "only encrypted arrays can be joined",
                expected="EncryptedArray",
                got=type(other).__name__,
                cure="encrypt the plain part first with hekat.array",
            )
        check_same_encoding(first.encoding, other.encoding)
        check_together(first, other)
    if first.encoding.packing and len({x.shape[-1] for x in arrays}) > 1:
        raise _split("joining rows of unequal length")
    offsets = np.cumsum([0] + [x.size for x in arrays[:-1]])
    try:
        positions = join_positions([positions_of(x) + offset for x, offset in zip(arrays, offsets, strict=True)])
    except ValueError as error:
        raise InputError(
            "the arrays do not join",
            expected="equal shapes, except along the axis they are joined along",
            got=", ".join(str(x.shape) for x in arrays),
            cure=f"reshape or choose another axis ({error})",
        ) from None
    row_shape = (-1, first.shape[-1]) if first.encoding.packing else (-1,)
    total = sum(x.size for x in arrays)
    joined = replace(
        first,
        ciphertexts=Ciphertexts.concatenate([x.ciphertexts.reshape((x.ciphertexts.size,)) for x in arrays]),
        shape=np.empty(total, dtype=np.int8).reshape(row_shape).shape,
        scaled_bound=max(x.scaled_bound for x in arrays),
        bound_is_public=all(x.bound_is_public for x in arrays),
        encoding=replace(first.encoding, is_real=any(x.encoding.is_real for x in arrays)),
    )
    return gather(joined, positions, "this join")
