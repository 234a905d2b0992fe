"""Decryption: flooded or rounded for parties without the key, raw for the key's holders.

Without its noise a ciphertext is a linear equation in the key. A raw result given to anybody who has the ciphertext
gives the key away, and with it every update (Li and Micciancio, EUROCRYPT 2021).
"""

from __future__ import annotations

import math
import os
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.ckks.ciphertexts import Ciphertexts
from hekat.scheme.ckks.keys import PrivateKey
from hekat.scheme.ckks.noise import GRID_OVER_NOISE_BITS, check_flooding, default_grid, value_noise_bound
from hekat.scheme.ckks.seal import Context, ciphertext_of_polynomial, load_library

Sharing = Literal["flooding", "rounding", "raw_reveals_key"]
FloatVector = npt.NDArray[np.float64]


def decrypt(
    key: PrivateKey,
    ciphertexts: Ciphertexts,
    sharing: Sharing = "flooding",
    *,
    grid: float | None = None,
    statistical_bits: int | None = None,
) -> FloatVector:
    """The values, float64 (value_count,).

    "flooding" (default): uniform noise hides the scheme's own noise, to the given `statistical_bits` or the set's;
    proven against passive parties (`hekat.scheme.ckks.noise`), refused where the set has no room. "rounding": to
    multiples of the public `grid`, by default 2^10 times the largest noise. Not proven: a value that
        lies within the noise of a boundary tells which side its noise is on, and a party that chooses values can place
        it there.
    "raw_reveals_key": the values with their noise, only for holders of the private key.

    Raises KeyRefusedError for another key, InputError for an unknown way or a grid that is no power of two, BoundError
    for a grid or parameters that would not hide the noise, and for a key that has already opened its `shared_count`
    ciphertexts.
    """
    if sharing not in get_args(Sharing):
        raise InputError("unknown way to share", expected=f"one of {', '.join(get_args(Sharing))}", got=repr(sharing))
    if key.public != ciphertexts.key:
        raise KeyRefusedError(
            "ciphertexts are under another key",
            expected=f"key {key.public.fingerprint}",
            got=f"key {ciphertexts.key.fingerprint}",
            cure="open them with the private key of the pair they were made with",
        )
    if (grid is not None and sharing != "rounding") or (statistical_bits is not None and sharing != "flooding"):
        raise InputError("grid belongs to rounding, statistical_bits to flooding", got=f"sharing {sharing!r}")
    if sharing == "flooding":
        return _open_flooded(key, ciphertexts, statistical_bits)
    opened = _open(key, ciphertexts, ciphertexts.chunks)
    if sharing == "raw_reveals_key":
        return opened
    step = _check_grid(ciphertexts, grid)
    return np.asarray(np.rint(opened / step) * step, dtype=np.float64)


def _open_flooded(key: PrivateKey, ciphertexts: Ciphertexts, statistical_bits: int | None) -> FloatVector:
    public = key.public
    flooding = check_flooding(public.parameters, ciphertexts.gain, ciphertexts.rounding_count, statistical_bits)
    key.count_shared(len(ciphertexts.chunks))
    flooded = (_flood(public.context, chunk, flooding.amplitude_bits) for chunk in ciphertexts.chunks)
    return _open(key, ciphertexts, flooded)


def _open(key: PrivateKey, ciphertexts: Ciphertexts, chunks: Any) -> FloatVector:
    batch, encoder = key.public.parameters.batch, key.public.context.encoder
    decryptor, plain = key.decryptor(), load_library().Plaintext()
    values = np.empty(ciphertexts.value_count, np.float64)
    for number, chunk in enumerate(chunks):
        decryptor.decrypt(chunk, plain)
        part = values[number * batch : (number + 1) * batch]
        part[:] = encoder.decode_double(plain)[: part.size]
    return values


def _flood(context: Context, chunk: Any, amplitude_bits: int) -> Any:
    """The ciphertext with a fresh uniform polynomial added to its phase, coefficient by coefficient, exactly."""
    library = load_library()
    noise = draw_uniform(chunk.poly_modulus_degree(), amplitude_bits)
    primes = context.primes[: chunk.coeff_modulus_size()]
    residues = np.array([[number % prime for number in noise] for prime in primes], np.uint64)
    flooded = library.Ciphertext()
    context.evaluator.transform_from_ntt(chunk, flooded)
    context.evaluator.add_inplace(flooded, ciphertext_of_polynomial(context, flooded, residues))
    context.evaluator.transform_to_ntt_inplace(flooded)
    return flooded


def draw_uniform(count: int, amplitude_bits: int) -> list[int]:
    """`count` integers, each uniform in [-2^amplitude_bits, 2^amplitude_bits), from the operating system."""
    width = amplitude_bits // 8 + 1
    data = os.urandom(count * width)
    mask, offset = (2 << amplitude_bits) - 1, 1 << amplitude_bits
    parts = (data[start : start + width] for start in range(0, len(data), width))
    return [(int.from_bytes(part, "little") & mask) - offset for part in parts]


def _check_grid(ciphertexts: Ciphertexts, grid: float | None) -> float:
    parameters, gain, roundings = ciphertexts.key.parameters, ciphertexts.gain, ciphertexts.rounding_count
    least = default_grid(parameters, gain, roundings)
    step = least if grid is None else grid
    if not (isinstance(step, float) and math.isfinite(step) and step > 0 and math.frexp(step)[0] == 0.5):
        raise InputError("grid refused", expected="a power of two, as a float", got=repr(step)[:40])
    if step < value_noise_bound(parameters, gain, roundings) * 2.0**GRID_OVER_NOISE_BITS:
        raise BoundError(
            "the grid is too fine to hide the noise",
            expected=f"a step of at least {least:g} with parameter set {parameters.name}",
            got=f"{step:g}",
            cure="a coarser grid, or parameters with a larger scale",
        )
    if step > parameters.value_bound:
        raise BoundError(
            f"parameter set {parameters.name} leaves nothing of a rounded value",
            expected=f"a step within the bound on values, {parameters.value_bound:g}",
            got=f"{step:g}",
            cure="parameters with a larger scale",
        )
    return step
