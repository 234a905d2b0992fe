"""Encryption of a flat vector of floats, `batch` values to a ciphertext, under the public key."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError, InputError
from hekat.scheme.ckks.ciphertexts import Ciphertexts
from hekat.scheme.ckks.keys import PublicKey
from hekat.scheme.ckks.parameters import CkksParameters
from hekat.scheme.ckks.seal import load_library

FloatVector = npt.NDArray[np.floating[Any]]


def encrypt(key: PublicKey, values: FloatVector) -> Ciphertexts:
    """`values`, a vector of floats within the set's `value_bound`, under `key`, fresh randomness for each ciphertext.

    Raises InputError for another layout, an empty vector, NaN and infinity; BoundError for a value beyond the bound,
    without the value.
    """
    parameters, context, library = key.parameters, key.context, load_library()
    check_values(parameters, values)
    encryptor, plain = key.encryptor(), library.Plaintext()
    chunks = []
    for start in range(0, values.size, parameters.batch):
        part = values[start : start + parameters.batch].astype(np.float64)
        context.encoder.encode(part.tolist(), parameters.scale, plain)
        chunk = library.Ciphertext()
        encryptor.encrypt(plain, chunk)
        chunks.append(chunk)
    return Ciphertexts(key, values.size, tuple(chunks))


def block_values(parameters: CkksParameters, target_values: int) -> int:
    """How many values make a block: as many whole ciphertexts as fit into `target_values`, at least one."""
    return max(1, target_values // parameters.batch) * parameters.batch


def check_values(parameters: CkksParameters, values: FloatVector) -> None:
    """Raise InputError unless `values` is a vector of finite floats, BoundError where one is beyond the set's bound."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or values.ndim != 1 or not values.size:
        got = type(values).__name__
        if isinstance(values, np.ndarray):
            got = f"shape {values.shape} of {values.dtype}"
        raise InputError("values have the wrong layout", expected="a vector of at least one float", got=got)
    lowest, highest = float(values.min()), float(values.max())
    if not (np.isfinite(lowest) and np.isfinite(highest)):
        raise InputError("values are not finite", expected="finite floats", got="NaN or infinity among them")
    if max(-lowest, highest) > parameters.value_bound:
        raise BoundError(
            "a value does not fit the parameter set",
            expected=f"values within +-{parameters.value_bound:g}",
            got="one beyond",
            cure="clip or scale the values, or make parameters with a larger value_bound",
        )
