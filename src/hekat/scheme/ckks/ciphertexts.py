"""A vector of values under CKKS: ciphertexts of `batch` values each, and what is public about their noise and size."""

from __future__ import annotations

import math
from typing import Any

from hekat.errors import BoundError, InputError, WireCorruptError
from hekat.scheme.ckks.keys import PublicKey
from hekat.scheme.ckks.noise import largest_gain
from hekat.scheme.ckks.seal import STREAM_ROOM_BYTES, from_stream, load_library, to_stream
from hekat.scheme.immutable_key import ImmutableKey

MAX_ADDENDS = 1 << 20
MAX_VALUES = 1 << 40


class Ciphertexts(ImmutableKey):
    """`value_count` values under `key`; immutable.

    `addend_count` vectors were added; `gain` is the sum of the magnitudes of their weights (1 each without weights);
    `rounding_count` of the addends dropped a prime. So every value is within gain * value_bound, and the noise within
    `noise.noise_bound`. All three are public; nobody checks them, so they are true if the adding party is honest.
    Raises BoundError where values with this gain could exceed the modulus, InputError where counts do not fit.
    """

    __slots__ = ("addend_count", "chunks", "gain", "key", "rounding_count", "value_count")

    key: PublicKey
    value_count: int
    addend_count: int
    gain: float
    rounding_count: int
    chunks: tuple[Any, ...]

    def __init__(
        self,
        key: PublicKey,
        value_count: int,
        chunks: tuple[Any, ...],
        addend_count: int = 1,
        gain: float = 1.0,
        rounding_count: int = 0,
    ) -> None:
        if not (1 <= value_count <= MAX_VALUES and len(chunks) == key.parameters.chunk_count(value_count)):
            raise InputError(
                "ciphertexts and their number of values do not agree",
                expected=f"1 ciphertext for every {key.parameters.batch} values",
                got=f"{len(chunks)} for {value_count} values",
            )
        if not (1 <= addend_count <= MAX_ADDENDS and 0 <= rounding_count <= addend_count):
            raise InputError(
                "number of addends refused", expected=f"1 to {MAX_ADDENDS}, roundings among them", got=str(addend_count)
            )
        values = {"key": key, "value_count": value_count, "chunks": chunks, "addend_count": addend_count}
        for name, value in (values | {"gain": float(gain), "rounding_count": rounding_count}).items():
            object.__setattr__(self, name, value)
        check_gain(self)

    @property
    def prime_count(self) -> int:
        """Primes that every ciphertext holds."""
        return self.key.parameters.fresh_primes - (1 if self.rounding_count else 0)

    def to_streams(self) -> list[bytes]:
        """Every ciphertext as SEAL writes it."""
        return [to_stream(chunk) for chunk in self.chunks]

    def __repr__(self) -> str:
        return f"Ciphertexts(CKKS {self.key.parameters.name}, {self.value_count} values in {len(self.chunks)})"


def ciphertexts_from_streams(
    key: PublicKey, value_count: int, streams: list[bytes], addend_count: int, gain: float, rounding_count: int
) -> Ciphertexts:
    """The ciphertexts in the streams of `to_streams`, after a check of each one's size, parameters, level, scale and
    form.

    Raises WireCorruptError for any other, InputError and BoundError as `Ciphertexts`.
    """
    parameters, context = key.parameters, key.context
    prime_count = parameters.fresh_primes - (1 if rounding_count else 0)
    if prime_count not in context.level_ids:
        raise _foreign("ciphertexts of this set drop no prime")
    limit = parameters.chunk_bytes(prime_count) + STREAM_ROOM_BYTES
    chunks = []
    for stream in streams:
        if len(stream) > limit:
            raise _foreign(f"a ciphertext takes more than {limit} bytes")
        chunk = from_stream(load_library().Ciphertext, context, stream, "a CKKS ciphertext")
        if tuple(chunk.parms_id()) != context.level_ids[prime_count] or chunk.size() != 2:
            raise _foreign("a ciphertext is of other parameters, another level or another size")
        if chunk.scale != parameters.scale or not chunk.is_ntt_form() or chunk.is_transparent():
            raise _foreign("a ciphertext has another scale or form, or hides nothing")
        chunks.append(chunk)
    return Ciphertexts(key, value_count, tuple(chunks), addend_count, gain, rounding_count)


def check_gain(ciphertexts: Ciphertexts) -> None:
    """Raise InputError for a gain that is no positive number, BoundError where values of it could wrap."""
    allowed = largest_gain(ciphertexts.key.parameters, ciphertexts.prime_count)
    if not (math.isfinite(ciphertexts.gain) and ciphertexts.gain > 0):
        raise InputError("the sum of weights was refused", expected="a finite positive number", got="another")
    if ciphertexts.gain > allowed:
        raise BoundError(
            "a sum could pass what the ciphertexts hold",
            expected=f"weights whose magnitudes sum to at most {allowed:.6g}",
            got=f"{ciphertexts.gain:.6g}",
            cure="use weights that sum to 1, as a mean does; or parameters with a smaller value_bound",
        )


def _foreign(what: str) -> WireCorruptError:
    return WireCorruptError(what, expected="ciphertexts as Hekat makes them under this key")
