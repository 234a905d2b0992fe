"""From ciphertexts to the values they stand for, with the holder's private key."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.encrypted_array.fixed_point import (
    decode_fixed_point,
    decode_integers,
    max_magnitude,
)
from hekat.encrypted_array.plaintexts import integers_from_plaintext
from hekat.encrypted_array.values import EncryptedValues
from hekat.engine.signed_limbs import IntegerArray
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.paillier import PrivateKey
from hekat.scheme.paillier import decrypt as decrypt_ciphertexts


def decrypt_array(x: EncryptedValues, key: PrivateKey, dtype: npt.DTypeLike | None) -> npt.NDArray[Any]:
    """The values of `x` in its shape; see EncryptedArray.decrypt."""
    _check_key(x, key)
    wanted = None if dtype is None else _check_dtype(np.dtype(dtype), x.encoding.is_real)
    try:
        plain = decrypt_ciphertexts(key, x.ciphertexts, bound=x.encoding.plaintext_bound(x.scaled_bound))
    except BoundError:
        raise _claims_too_little(x) from None
    integers = integers_from_plaintext(plain).reshape(x.ciphertexts.shape)
    if x.encoding.packing:
        integers = x.encoding.packing.unpack(integers, x.shape[-1]).reshape(x.shape)
    if max_magnitude(integers) > x.scaled_bound:
        # Slots within a plaintext that is within its own bound.
        raise _claims_too_little(x)
    if x.encoding.is_real:
        floats = decode_fixed_point(integers, x.scale_bits)
        return floats if wanted is None else floats.astype(wanted)
    return decode_integers(integers, x.scaled_bound) if wanted is None else _cast_integers(integers, wanted)


def _claims_too_little(x: EncryptedValues) -> BoundError:
    return BoundError(
        "the array holds more than it claims",
        expected=f"scaled magnitudes of at most {x.scaled_bound.bit_length()} bits",
        got="a larger one",
        cure="its maker or sender broke the rules; do not use its values",
    )


def _check_key(x: EncryptedValues, key: PrivateKey) -> None:
    if not isinstance(key, PrivateKey):
        raise KeyRefusedError(
            "this key cannot decrypt",
            expected="a PrivateKey",
            got=f"a {type(key).__name__}",
            cure="pass keys.private",
        )
    if key.public != x.key:
        raise KeyRefusedError(
            "the array is encrypted under another key",
            expected=f"the private key of {x.key.fingerprint[:8]}",
            got=f"the private key of {key.public.fingerprint[:8]}",
            cure="use the private key made together with the array's public key",
        )


def _check_dtype(dtype: np.dtype[Any], is_real: bool) -> np.dtype[Any]:
    if dtype.kind not in ("f" if is_real else "iufO"):
        raise InputError(
            "decrypted values do not convert to this dtype",
            expected="a float dtype" if is_real else "an integer, float or object dtype",
            got=str(dtype),
            cure="decrypt without dtype= and round or convert the result",
        )
    return dtype


def _cast_integers(integers: IntegerArray, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype.kind == "f":
        return decode_fixed_point(integers, 0).astype(dtype)
    if dtype.kind in "iu" and integers.size:
        info = np.iinfo(dtype)
        if int(integers.min()) < int(info.min) or int(integers.max()) > int(info.max):
            raise BoundError(
                "a decrypted value does not fit into the dtype asked for",
                expected=f"the range of {dtype}",
                got="a value outside",
                cure="decrypt without dtype=, which is always wide enough",
            )
    return integers.astype(dtype)
