"""Python integers, nested lists and integer ndarrays into sign and magnitude, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.bigint.signed import Signed, make_signed
from hekat.engine.checks import index_text
from hekat.engine.limbs import ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.errors import InputError


def signed_from(values: Any) -> Signed:
    """The integers of `values`: an int, nested lists of ints, or an ndarray of an integer or object dtype.

    Raises InputError for floats, booleans, text and ragged lists.
    """
    if isinstance(values, np.ndarray | np.generic) and values.dtype.kind in "iu":
        return _from_machine_integers(np.asarray(values))
    if isinstance(values, np.ndarray | np.generic) and values.dtype.kind != "O":
        raise _refuse(f"an array of {values.dtype}", "the values are not integers")
    try:
        objects = np.array(values, dtype=object)
    except ValueError:
        raise _refuse_ragged() from None
    return _from_objects(objects)


def ints_from(signed: Signed) -> npt.NDArray[np.object_]:
    """Python ints in an object ndarray of the same shape."""
    magnitudes = ints_from_limbs(signed.magnitude)
    result = np.empty(len(magnitudes), dtype=object)
    result[:] = [-m if minus else m for m, minus in zip(magnitudes, signed.negative.ravel(), strict=True)]
    return result.reshape(signed.shape)


def _from_machine_integers(values: npt.NDArray[Any]) -> Signed:
    limbs = values[..., None]  # at least one axis: NumPy would warn of the wrap below for a scalar
    if values.dtype.kind == "u":
        return make_signed(limbs.astype(np.uint64), np.zeros(values.shape, np.bool_))
    negative = np.asarray(values < 0)
    # Two's complement: the wrapping negation of the bits is the magnitude, even for the lowest int64.
    bits = limbs.astype(np.int64).view(np.uint64)
    return make_signed(np.where(negative[..., None], ~bits + np.uint64(1), bits), negative)


def _from_objects(objects: npt.NDArray[np.object_]) -> Signed:
    flat = objects.ravel().tolist()
    for index, value in enumerate(flat):
        if isinstance(value, list | tuple):
            raise _refuse_ragged()
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            where = f"value at index {index_text(index, objects.shape)}" if objects.shape else "the value"
            raise _refuse(type(value).__name__, f"{where} is not an integer")
    ints = [int(value) for value in flat]
    limb_count = limbs_for_bits(max((value.bit_length() for value in ints), default=1))
    magnitude = limbs_from_ints([abs(value) for value in ints], limb_count)
    negative = np.array([value < 0 for value in ints], np.bool_)
    return make_signed(magnitude.reshape(*objects.shape, limb_count), negative.reshape(objects.shape))


def _refuse_ragged() -> InputError:
    return InputError(
        "nested lists of unequal lengths",
        expected="lists of one length along each axis",
        got="ragged lists",
        cure="pad them or make one array of each",
    )


def _refuse(got: str, what: str) -> InputError:
    cure = "pass Python ints"
    if "float" in got or "Fraction" in got or "Decimal" in got:
        cure = "round first, e.g. [int(round(v)) for v in values], or scale to integers"
    elif "bool" in got:
        cure = "turn booleans into 0 and 1, e.g. values.astype(int)"
    elif got.startswith(("an array of <U", "an array of |S")) or got == "str":
        cure = "turn text into integers, e.g. int(text)"
    return InputError(what, expected="Python ints or an integer dtype", got=got, cure=cure)
