"""Sums along axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hekat.encrypted_array.indexing import gather, positions_of
from hekat.encrypted_array.values import Array
from hekat.errors import InputError
from hekat.scheme.paillier import evaluate


def sum_axes(x: Array, axis: int | tuple[int, ...] | None, keepdims: bool) -> Array:
    """The sum over `axis`, all axes if None; the bound grows by the number of addends, an empty sum is 0."""
    axes = _summed_axes(axis, x.ndim)
    if x.encoding.packing and x.ndim - 1 in axes:
        raise InputError(
            "a sum over the packed axis would add values that share ciphertexts",
            expected=f"axes before the last one ({x.ndim - 1})",
            got="axis=None" if axis is None else f"axis={axis}",
            cure="sum the other axes and add the rest after decryption, or encrypt without pack=",
        )
    if not axes:
        return x
    kept = [i for i in range(x.ndim) if i not in axes]
    kept_shape = tuple(x.shape[i] for i in kept)
    count = int(np.prod([x.shape[i] for i in axes], dtype=np.int64))
    bound = x.encoding.check_bound(x.scaled_bound * count, x.key.plaintext_space, f"a sum of {count} values")
    positions = positions_of(x).transpose(*axes, *kept).reshape(count, *kept_shape)
    addends = gather(x, np.ascontiguousarray(positions), "this sum")
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape)) if keepdims else kept_shape
    total = evaluate.sum_along(addends.ciphertexts, 0)
    return replace(
        x,
        ciphertexts=total.reshape(x.encoding.cipher_shape(shape)),
        shape=shape,
        scaled_bound=bound,
        is_fresh=False,
    )


def _summed_axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    asked = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a + ndim if a < 0 else a for a in asked)
    if len(set(axes)) != len(axes) or any(not 0 <= a < ndim for a in axes):
        raise InputError("axis refused", expected=f"different axes from {-ndim} to {ndim - 1}", got=str(axis))
    return tuple(sorted(axes))
