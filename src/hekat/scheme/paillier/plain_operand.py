"""Plain operands of ciphertexts: checked, and split into magnitudes and signs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.array_module import as_array, copy_to_host
from hekat.engine.interface import BoolArray, Engine
from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier.keys.key_pair import PublicKey
from hekat.scheme.paillier.twos_complement import check_within_bound, plaintext_from_ints


def plaintexts_for(
    public: PublicKey, plain: PackedPlaintext | Any, shape: tuple[int, ...], engine: Engine
) -> PackedPlaintext:
    """`plain` as one packed plaintext or one per ciphertext of `shape` in C order, within the plaintext space."""
    if isinstance(plain, PackedPlaintext):
        public.plaintext_space.check(plain)
        with engine.active(plain.limbs):
            check_within_bound(plain.limbs, plain.bound, engine, "the plaintext")
        if len(plain) not in (1, prod(shape)):
            raise InputError(
                "plaintexts and ciphertexts differ in number",
                expected=f"1 or {prod(shape)} plaintexts for ciphertexts of shape {shape}",
                got=str(len(plain)),
            )
        return plain
    values = integer_array(plain)
    try:
        # A single value stays single: one plaintext serves all.
        wide = values if values.size == 1 else np.broadcast_to(values, shape)
    except ValueError:
        raise InputError(
            "shapes do not broadcast", expected=f"integers that broadcast to {shape}", got=str(values.shape)
        ) from None
    return plaintext_from_ints([int(value) for value in wide.ravel()], public.plaintext_space.bound)


def signed_magnitudes(values: Any, public: PublicKey) -> tuple[LimbArray, BoolArray]:
    """|values| as canonical limbs, shape (*values.shape, limbs), and where they are negative.

    Raises BoundError for a magnitude beyond the plaintext space, InputError for what is no integer.
    """
    array = integer_array(values)
    bound = public.plaintext_space.bound
    if array.dtype.kind == "O":
        flat = [int(value) for value in array.ravel()]
        magnitudes = [abs(value) for value in flat]
        _check_magnitude(max(magnitudes, default=0), bound)
        limb_count = limbs_for_bits(max(magnitudes, default=0).bit_length())
        limbs = limbs_from_ints(magnitudes, limb_count).reshape(*array.shape, limb_count)
        return limbs, np.array([value < 0 for value in flat], np.bool_).reshape(array.shape)
    negative = np.asarray(array < 0)
    words = array.astype(np.uint64)
    # Unsigned negation is right for the lowest int64 too, whose magnitude int64 cannot hold.
    words = np.where(negative, np.uint64(0) - words, words)
    _check_magnitude(int(words.max(initial=0)), bound)
    return words[..., np.newaxis], negative


def integer_array(values: Any) -> npt.NDArray[Any]:
    """`values` as an array of the host of an integer dtype, or of Python integers; those on a GPU are copied.

    Raises InputError for anything else.
    """
    array: npt.NDArray[Any] = copy_to_host(as_array(values))
    if array.size == 0 and array.dtype.kind == "f" and isinstance(values, list | tuple):
        array = array.astype(np.int64)
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind == "O" and all(
        isinstance(value, int | np.integer) and not isinstance(value, bool) for value in array.ravel()
    ):
        return array
    if array.dtype.kind not in "iu":
        raise InputError(
            "plain operand refused",
            expected="integers",
            got=f"values of dtype {array.dtype}",
            cure="encode real values as integers at a public scale first; hekat.array does so",
        )
    return array


def _check_magnitude(largest: int, bound: int) -> None:
    if largest > bound:
        raise BoundError(
            "a plain integer is beyond the plaintext space",
            expected=f"magnitudes of at most {bound.bit_length()} bits",
            got="a larger one",
            cure="use smaller integers or a larger key",
        )
