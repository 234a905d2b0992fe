"""The part of an upload that a mask leaves in the clear: levels of the same quantiser, and their sums."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hekat.codec import quantise_levels
from hekat.errors import BoundError, InputError
from hekat.fedml_he.model_vector import ModelShape

BoolVector = npt.NDArray[np.bool_]
_DIGEST_LABEL = b"hekat/fedml-he/mask/1"
_SUM = np.dtype("<i8")


class ChoosesValues(Protocol):
    """What says of each value of a tensor whether it is chosen, as `hekat.privacy.Mask` does."""

    def chosen(self, name: str) -> BoolVector: ...


@dataclass(frozen=True)
class ClearPart:
    """Values of one upload, or sums of several, that anybody reads.

    Attributes:
        count: Values.
        mask_digest: Of the mask that leaves them out.
        levels: Their levels as bytes: 1, 2 or 4 for each in an upload, 8 in a sum.
        is_sum: Whether these are sums.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import Params, enc, key_gen
        >>> pk, sk = key_gen(Params(client_count=3))
        >>> enc(pk[0], np.array([0.5, -0.25]), mask=np.array([True, False])).clear.count
        1
    """

    count: int
    mask_digest: bytes
    levels: bytes
    is_sum: bool = False


def flatten_mask(mask: ChoosesValues | Mapping[str, Any], shape: ModelShape) -> BoolVector:
    """The mask of a model's tensors in the order of its vector.

    Args:
        mask: A `hekat.privacy.Mask`, or booleans by tensor; tensors that it does not name are masked whole.
        shape: What `flatten` gave for the model.

    Returns:
        Booleans, shape (count,): which values are masked.

    Raises:
        InputError: The mask is of other tensors, or of other sizes.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import flatten, flatten_mask
        >>> vector, shape = flatten({"weights": np.ones((2, 2)), "bias": np.zeros(1)})
        >>> flatten_mask({"weights": np.eye(2) > 0}, shape)
        array([ True, False, False,  True,  True])
    """
    names = set(mask if isinstance(mask, Mapping) else getattr(mask, "sizes", ()))
    known = {tensor.name for tensor in shape.tensors}
    if names - known:
        raise InputError(
            "the mask is of other tensors",
            expected=f"names among {', '.join(sorted(known)[:5])}",
            got=", ".join(sorted(names - known)[:5]),
            cure="make the mask of the model that is flattened",
        )
    parts = []
    for tensor in shape.tensors:
        if tensor.name not in names:
            parts.append(np.ones(tensor.size, dtype=np.bool_))
            continue
        flags = np.asarray(mask[tensor.name] if isinstance(mask, Mapping) else mask.chosen(tensor.name))
        if flags.dtype != np.bool_ or flags.size != tensor.size:
            raise InputError(
                f"the mask of tensor {tensor.name!r} does not fit",
                expected=f"{tensor.size:,} booleans",
                got=f"{flags.size:,} values of {flags.dtype}",
            )
        parts.append(flags.reshape(-1))
    return np.concatenate(parts)


def check_mask(mask: Any, value_count: int) -> BoolVector:
    """The mask of a vector. Raises InputError for another form, and for one that masks nothing."""
    fits = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (value_count,)
    if not fits or not mask.any():
        got = f"shape {mask.shape} of {mask.dtype}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise InputError(
            "mask refused",
            expected=f"{value_count:,} booleans, at least one of them true, as flatten_mask gives",
            got="a mask of nothing" if fits else got,
            cure="leave the mask out to mask every value",
        )
    chosen: BoolVector = mask
    return chosen


def digest_mask(mask: BoolVector) -> bytes:
    """SHA-256 of how many values there are, and which of them are masked."""
    digest = hashlib.sha256(_DIGEST_LABEL + len(mask).to_bytes(8, "little"))
    digest.update(np.packbits(mask, bitorder="little").data)
    return digest.digest()


def write_clear(values: npt.NDArray[np.floating[Any]], mask: BoolVector, factor: float, level: int) -> ClearPart:
    """The values of one client that the mask leaves out."""
    levels = np.empty(values.size, np.int32)
    quantise_levels(values, factor, level, levels)
    return ClearPart(values.size, digest_mask(mask), levels.astype(_dtype_of(level)).tobytes())


def add_clear(parts: Sequence[ClearPart], level: int) -> ClearPart:
    """The sum of single clients' parts. Raises InputError for other forms or masks, and for what is no level."""
    first = parts[0]
    total = np.zeros(first.count, _SUM)
    for part in parts:
        if (part.count, part.mask_digest) != (first.count, first.mask_digest):
            raise InputError(
                "the clients mask other values",
                expected="one mask at all clients",
                got="two",
                cure="find out who has another mask: hekat.federate has the parties agree on one",
            )
        total += _read(part, _dtype_of(level), level)
    return replace(first, levels=total.tobytes(), is_sum=True)


def read_sums(part: ClearPart, addend_count: int, level: int) -> npt.NDArray[np.int64]:
    """The sums of so many clients' levels. Raises InputError or BoundError for anything else."""
    sums = _read(part, _SUM, addend_count * level) if part.is_sum else None
    if sums is None:
        raise InputError("not a sum", expected="what he_aggregate gave", got="one client's upload")
    return sums.astype(np.int64)


def _read(part: ClearPart, dtype: np.dtype[Any], most: int) -> npt.NDArray[Any]:
    if not isinstance(part.levels, bytes) or len(part.levels) != part.count * dtype.itemsize:
        raise InputError(
            "values in the clear of another form",
            expected=f"{part.count * dtype.itemsize:,} bytes",
            got="others",
            cure="take what enc and he_aggregate give as it is",
        )
    levels = np.frombuffer(part.levels, dtype)
    if levels.size and max(int(levels.max()), -int(levels.min())) > most:
        raise BoundError(
            "a value in the clear is out of range", expected=f"magnitudes up to {most:,}", got="a larger one"
        )
    return levels


def _dtype_of(level: int) -> np.dtype[Any]:
    return np.dtype("i1" if level < 1 << 7 else "<i2" if level < 1 << 15 else "<i4")
