"""Sums of segments: which encrypted values belong together is public to the party that computes, the values are not.

FLASH's operation O6, ciphertext histogram building. Source: FLASH (NSDI 2023), Table 2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hekat.array_module import as_array, copy_to_host
from hekat.encrypted_array.indexing import Positions, reshape
from hekat.encrypted_array.plain import read_plain
from hekat.encrypted_array.values import Array, EncryptedValues
from hekat.errors import InputError
from hekat.scheme.paillier import evaluate


def segment_sum(x: Array, segment_ids: Any, num_segments: int | None = None) -> Array:
    """Sums of the entries of `x` along its first axis that have the same segment: a histogram with encrypted weights.

    One operation whatever the number of segments. The result is under the randomisers of its addends, and `to_bytes`
    re-randomises it, so its receiver learns of `segment_ids` no more than the sums tell.

    Args:
        x: At least one axis; for a packed array at least two, and slots stay as they are.
        segment_ids: Plain integers of shape (len(x),), each in [0, num_segments), in any order.
        num_segments: The length of the result; by default the largest of `segment_ids` plus one.

    Returns:
        An array of shape (num_segments, *x.shape[1:]); a segment without entries is 0. Its bound is the bound of `x`
        times len(x), which tells nothing of `segment_ids`. Where there is no room for that, it is the bound times the
        entries of the largest segment, and is not public.

    Raises:
        InputError: `segment_ids` are encrypted, no integers, out of range, or of another shape.
        BoundError: The largest segment's sum could pass the plaintext space, or a slot.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> from hekat.encrypted_array import segment_sum
        >>> keys = hekat.paillier.generate_keys()
        >>> x = hekat.array([[1, 2], [3, 4], [5, 6]], key=keys.public)
        >>> segment_sum(x, [1, 0, 1]).decrypt(keys.private).tolist()
        [[3, 4], [6, 8]]
        >>> np.bincount([2, 0, 2], weights=x[:, 0]).decrypt(keys.private).tolist()
        [3, 0, 6]
    """
    if not isinstance(x, EncryptedValues):
        raise InputError("segment_sum adds encrypted values", expected="an EncryptedArray", got=type(x).__name__)
    _check_axis(x, 0)
    ids = _public_integers(segment_ids, "segment_ids")
    if ids.shape != x.shape[:1]:
        raise InputError("segment_ids do not fit", expected=f"shape {x.shape[:1]}", got=f"shape {ids.shape}")
    count = int(ids.max(initial=-1)) + 1 if num_segments is None else _count(num_segments, "num_segments")
    _check_range(ids, count, "segment_ids", "give num_segments= above the largest, or leave out entries by indexing x")
    return _sum_rows(x, np.arange(len(ids), dtype=np.int64), ids, count, 0)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> EncryptedValues:
    """np.bincount for encrypted weights of one axis."""
    ids = _public_integers(x, "the indices of np.bincount")
    if weights.ndim != 1 or ids.shape != weights.shape:
        raise InputError(
            "np.bincount takes one weight to an index",
            expected="indices and weights of one shape (count,)",
            got=f"{ids.shape} and {weights.shape}",
            cure="for weights of several axes use hekat.encrypted_array.segment_sum",
        )
    count = max(int(ids.max(initial=-1)) + 1, _count(minlength, "minlength"))
    sums: EncryptedValues = segment_sum(weights, ids, count)
    return sums


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[EncryptedValues, npt.NDArray[Any]]:
    """np.histogram of plain `a` for encrypted weights of the same shape: the sums and the edges of the bins."""
    if isinstance(a, EncryptedValues):
        raise InputError("encrypted values have no public bin", cure="np.histogram(plain, weights=encrypted) adds them")
    if density:
        raise InputError("a density divides by a secret sum", cure="decrypt the sums, then divide")
    values = _numbers(a)
    if values.shape != weights.shape:
        raise InputError("weights do not fit", expected=f"shape {values.shape}", got=f"shape {weights.shape}")
    try:
        edges = np.histogram_bin_edges(values, bins, range, None if not isinstance(bins, str) else values)
    except (ValueError, TypeError) as error:
        raise InputError(f"bins refused ({error})", expected="a number of bins, or ascending edges") from None
    places = np.searchsorted(edges, values.ravel(), "right").astype(np.int64) - 1
    places[values.ravel() == edges[-1]] = len(edges) - 2
    inside = np.flatnonzero((places >= 0) & (places < len(edges) - 1)).astype(np.int64)
    flat: EncryptedValues = reshape(weights, (-1,))
    _check_axis(flat, 0)
    return _sum_rows(flat, inside, places[inside], len(edges) - 1, 0), edges


def _numbers(values: Any) -> npt.NDArray[Any]:
    """Plain numbers that NumPy can compare. Raises InputError for integers beyond int64."""
    numbers = read_plain(values, allow_bool=True).numbers
    if numbers.dtype != object:
        return numbers
    try:
        return numbers.astype(np.int64)
    except OverflowError:
        raise InputError(
            "a value has no bin",
            expected="integers of at most 64 bits",
            got="a larger one",
            cure="scale them down first",
        ) from None


def reduceat(x: Array, indices: Any, axis: int = 0) -> Array:
    """np.add.reduceat: sums of x[indices[i]:indices[i + 1]] along `axis`, x[indices[i]] where that is no slice."""
    place = _check_axis(x, axis)
    starts = _public_integers(indices, "the indices of np.add.reduceat")
    if starts.ndim != 1:
        raise InputError("indices of np.add.reduceat refused", expected="one axis", got=f"shape {starts.shape}")
    length = x.shape[place]
    _check_range(starts, length, "the indices of np.add.reduceat", "the last slice ends with the axis")
    lengths = np.maximum(np.diff(starts, append=length), 1)
    segments = np.repeat(np.arange(len(starts), dtype=np.int64), lengths)
    offsets = np.arange(len(segments), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return _sum_rows(x, starts[segments] + offsets, segments, len(starts), place)


def refuse_encrypted(what: str) -> NoReturn:
    """Raise InputError for indices that are encrypted."""
    raise InputError(
        f"{what} cannot be encrypted",
        expected="public integers",
        got="an EncryptedArray",
        cure="exchange the roles: plain indices, encrypted weights",
    )


def _sum_rows(x: Array, rows: Positions, segments: Positions, count: int, axis: int) -> Array:
    """Entries `rows` along `axis` added by segment, `count` of them; every segment takes a row at most once."""
    places = np.moveaxis(np.arange(x.ciphertexts.size, dtype=np.int64).reshape(x.ciphertexts.shape), axis, 0)
    lines = places.shape[1:]
    line_count = int(np.prod(lines, dtype=np.int64))
    bound, is_public = _bound(x, segments, axis)
    flat = x.ciphertexts.reshape(-1)
    members = np.ascontiguousarray(places[rows]).reshape(-1)
    groups = (segments[:, np.newaxis] * line_count + np.arange(line_count, dtype=np.int64)).ravel()
    sums = evaluate.segment_sum(flat, groups, count * line_count, members).reshape((count, *lines))
    if axis:
        order = np.arange(sums.size, dtype=np.int64).reshape(sums.shape)
        sums = sums.take(np.ascontiguousarray(np.moveaxis(order, 0, axis)))
    return replace(
        x,
        ciphertexts=sums,
        shape=(*x.shape[:axis], count, *x.shape[axis + 1 :]),
        scaled_bound=bound,
        bound_is_public=x.bound_is_public and is_public,
        is_fresh=False,
    )


def _bound(x: Array, segments: Positions, axis: int) -> tuple[int, bool]:
    """The bound of the sums and whether it is public. Raises BoundError where the largest segment has no room."""
    space = x.key.plaintext_space
    # No segment has more entries than the axis, a number that everybody sees in the array's shape.
    of_all = max(x.scaled_bound * x.shape[axis], 1)
    if of_all <= x.encoding.limit(space):
        return of_all, True
    largest = int(np.bincount(segments).max(initial=1))
    return x.encoding.check_bound(x.scaled_bound * largest, space, "a sum by segments"), False


def _check_axis(x: EncryptedValues, axis: Any) -> int:
    """`axis` counted from the front. Raises InputError where x has no such axis or packs along it."""
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer) or not -x.ndim <= axis < x.ndim:
        raise InputError("there is no such axis to sum along", expected=f"one of {x.ndim} axes", got=f"axis={axis!r}")
    place = int(axis) % x.ndim
    if x.encoding.packing and place == x.ndim - 1:
        raise InputError(
            "sums by segment along the packed axis would add values that share ciphertexts",
            expected="an axis before the last one",
            got=f"axis {place} of {x.ndim}",
            cure="encrypt without pack=, or with the values of one entry along the last axis",
        )
    return place


def _public_integers(values: Any, what: str) -> Positions:
    if isinstance(values, EncryptedValues):
        refuse_encrypted(what)
    array = np.asarray(copy_to_host(as_array(values)))
    if array.size == 0 and isinstance(values, list | tuple):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{what} refused", expected="integers", got=f"dtype {array.dtype}")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63:
        raise InputError(f"{what} refused", expected="integers below 2^63", got="larger ones")
    return array.astype(np.int64)


def _check_range(ids: Positions, count: int, what: str, cure: str) -> None:
    outside = int(np.count_nonzero((ids < 0) | (ids >= count)))
    if outside:
        raise InputError(f"{what} out of range", expected=f"0 to {count - 1}", got=f"{outside} outside", cure=cure)


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError(f"{what} refused", expected="an integer of 0 or more", got=repr(value))
    return int(value)
