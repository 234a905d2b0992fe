"""The library under CKKS, loaded when first needed: Microsoft SEAL, through TenSEAL's binding `tenseal.sealapi`.

SEAL's objects go in and out as SEAL's own streams through a file in memory: the binding offers no other way. SEAL
checks a stream from outside while it reads it; the caller then checks what object it is.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, WireCorruptError, missing_extra
from hekat.scheme.ckks.parameters import CkksParameters

# A stream's header: magic, its size, SEAL's version in two bytes, packing, reserved, bytes of the whole stream.
_HEADER: Final = struct.Struct("<HBBBBHQ")
_MAGIC: Final = 0xA15E
_MEMBERS: Final = struct.Struct("<32sBQQQdQ")
# Bytes that SEAL adds to a ciphertext's numbers in a stream: headers, and room for numbers that do not pack.
STREAM_ROOM_BYTES: Final = 1 << 12


def load_library() -> Any:
    """`tenseal.sealapi`. Raises InputError naming the extra where TenSEAL is not installed."""
    try:
        from tenseal import sealapi
    except ImportError as error:
        raise missing_extra("CKKS needs TenSEAL, which is not installed", "ckks", error) from None
    return sealapi


def library_name() -> str:
    """The library in use and its version, as in "TenSEAL 0.3.18". Raises as `load_library`."""
    load_library()
    return f"TenSEAL {metadata.version('tenseal')}"


@dataclass(frozen=True)
class Context:
    """SEAL's objects for one set of parameters; `level_ids[k]` is the id of ciphertexts of k primes."""

    seal: Any
    encoder: Any
    evaluator: Any
    primes: tuple[int, ...]
    level_ids: dict[int, tuple[int, ...]]


def context_of(parameters: CkksParameters) -> Context:
    """The context of a set, made once. Raises InputError where the library is missing or refuses the set."""
    return _context(load_library(), parameters.degree, parameters.prime_bits)


@lru_cache(maxsize=8)
def _context(library: Any, degree: int, prime_bits: tuple[int, ...]) -> Context:
    described = library.EncryptionParameters(library.SCHEME_TYPE.CKKS)
    described.set_poly_modulus_degree(degree)
    try:
        described.set_coeff_modulus(library.CoeffModulus.Create(degree, list(prime_bits)))
    except (RuntimeError, ValueError):
        raise InputError(
            "there are not enough primes for this parameter set",
            expected=f"primes that are 1 modulo {2 * degree}",
            got=f"{len(prime_bits)} of {', '.join(map(str, prime_bits))} bits",
            cure="larger primes",
        ) from None
    context = library.SEALContext(described, True, library.SEC_LEVEL_TYPE.TC128)
    if not context.parameters_set():
        raise InputError("the library refused the parameter set", got=context.parameters_error_name())
    level_ids, level = {}, context.first_context_data()
    while level is not None:
        level_ids[len(level.parms().coeff_modulus())] = tuple(level.parms_id())
        level = level.next_context_data()
    primes = tuple(modulus.value() for modulus in described.coeff_modulus())
    return Context(context, library.CKKSEncoder(context), library.Evaluator(context), primes, level_ids)


def to_stream(thing: Any) -> bytes:
    """SEAL's bytes of one of its objects."""
    with _memory_file() as (handle, path):
        thing.save(path)
        return os.pread(handle, os.fstat(handle).st_size, 0)


def from_stream(cls: Any, context: Context, data: bytes, what: str) -> Any:
    """The object of SEAL's class `cls` that `data` holds. Raises WireCorruptError, calling it `what`, for none."""
    thing = cls()
    if len(data) < _HEADER.size or _HEADER.unpack_from(data)[::6] != (_MAGIC, len(data)):
        raise _foreign(what)
    with _memory_file() as (handle, path):
        os.pwrite(handle, data, 0)
        try:
            thing.load(context.seal, path)
        except (RuntimeError, ValueError, IndexError, OverflowError, MemoryError, OSError):
            # Not chained: a reader can do nothing about the library's own message.
            raise _foreign(what) from None
    return thing


def ciphertext_of_polynomial(context: Context, like: Any, residues: npt.NDArray[np.uint64]) -> Any:
    """A ciphertext of the level and scale of `like` whose phase is the polynomial itself, in coefficients.

    `residues`, shape (primes, N): the coefficients modulo each prime of that level.
    """
    library = load_library()
    prime_count, degree = residues.shape
    numbers = np.zeros((2, prime_count, degree), "<u8")
    numbers[0] = residues
    version = to_stream(like)[3:5]
    array = struct.pack("<Q", numbers.size) + numbers.tobytes()
    members = _MEMBERS.pack(struct.pack("<4Q", *like.parms_id()), 0, 2, degree, prime_count, like.scale, 1) + _framed(
        array, version
    )
    return from_stream(library.Ciphertext, context, _framed(members, version), "a polynomial")


def _framed(content: bytes, version: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, _HEADER.size, *version, 0, 0, _HEADER.size + len(content)) + content


def _foreign(what: str) -> WireCorruptError:
    return WireCorruptError(f"{what} does not hold", expected="what the same library wrote under the same set")


@contextmanager
def _memory_file() -> Iterator[tuple[int, str]]:
    handle = os.memfd_create("hekat-ckks", os.MFD_CLOEXEC)
    try:
        yield handle, f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
