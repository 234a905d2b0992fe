"""Argument checks and errors of the ring operations, shared by all engines; no error shows a value.

Arguments may have any memory layout of NumPy, except for an accumulator, which is written in place. `on_device` says
that the engine also takes blocks of values, written bytes and accumulators in arrays of its own device.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt

from hekat.array_module import is_array, on_host
from hekat.engine.checks import Shape, broadcast_shape, describe, index_text
from hekat.engine.ring.gaussian import BLOCK_NUMBERS
from hekat.engine.ring.interface import (
    CHACHA20_KEY_BYTES,
    CHACHA20_NONCE_BYTES,
    ByteArray,
    DigitArray,
    LevelArray,
    RingArray,
    SmallArray,
    StartArray,
    SumArray,
)
from hekat.engine.ring.parameters import (
    DEGREES,
    MAX_FRACTION_BITS,
    MAX_MODULUS_PRIMES,
    MAX_PRIME_BITS,
    STRIDES,
    MaskFormat,
    Ring,
)
from hekat.errors import InputError

CHACHA20_BLOCK_BYTES = 64
COUNTER_LIMIT = 1 << 32
CHUNK_LIMIT = 1 << 64
MAX_DIGITS = 1 << 31


def check_chacha20(key: bytes, nonce: bytes, counter: int, byte_count: int) -> None:
    """Raise InputError unless key and nonce have their lengths and the counter does not wrap."""
    check_key(key, "ChaCha20 key")
    _check_bytes(nonce, "ChaCha20 nonce", CHACHA20_NONCE_BYTES)
    _check_count(byte_count, "byte_count")
    if not 0 <= counter < COUNTER_LIMIT or counter + -(-byte_count // CHACHA20_BLOCK_BYTES) > COUNTER_LIMIT:
        raise InputError(
            "the ChaCha20 block counter would leave its 32 bits",
            expected=f"counter and counter + blocks from 0 to {COUNTER_LIMIT}",
            got=f"counter {counter} and {byte_count} bytes",
            cure="take another nonce",
        )


def check_key(key: bytes, what: str) -> None:
    """Raise InputError unless `key` is 32 bytes."""
    _check_bytes(key, what, CHACHA20_KEY_BYTES)


def check_chunks(first_chunk: int, chunk_count: int) -> None:
    """Raise InputError unless all chunk numbers fit the nonce's 64 bits."""
    _check_count(chunk_count, "chunk_count")
    if first_chunk < 0 or first_chunk + chunk_count > CHUNK_LIMIT:
        raise InputError(
            "chunk numbers out of range",
            expected="0 <= first_chunk, first_chunk + chunk_count <= 2^64",
            got=f"first_chunk {first_chunk} and {chunk_count} chunks",
        )


def check_expand_uniform(key: bytes, first_chunk: int, chunk_count: int) -> None:
    """Raise InputError unless the arguments of `expand_uniform` are a key and chunks in range."""
    check_key(key, "public key")
    check_chunks(first_chunk, chunk_count)


def check_sample_cbd(key: bytes, first_chunk: int, chunk_count: int, degree: int) -> None:
    """Raise InputError unless the arguments of `sample_cbd` are a key, chunks in range and a ring's degree."""
    check_key(key, "sampling key")
    check_chunks(first_chunk, chunk_count)
    if degree not in DEGREES:
        raise InputError("degree refused", expected=f"one of {', '.join(map(str, DEGREES))}", got=str(degree))


def check_sample_discrete_gaussian(key: bytes | bytearray, first_block: int, count: int) -> None:
    """Raise InputError unless the arguments of `sample_discrete_gaussian` are a key and blocks in range."""
    _check_bytes(key, "sampling key", CHACHA20_KEY_BYTES)
    _check_count(count, "count")
    block_count = -(-count // BLOCK_NUMBERS)
    if first_block < 0 or first_block + block_count > CHUNK_LIMIT:
        raise InputError(
            "block numbers out of range",
            expected="0 <= first_block, first_block + blocks <= 2^64",
            got=f"first_block {first_block} and {block_count} blocks",
        )


def check_elements(ring: Ring, a: RingArray, what: str = "ring elements", *, stride: int = 1) -> Shape:
    """The leading shape of ring elements. Raises InputError unless they are canonical residues (..., primes, N).

    With a `stride` s a row has N / s of them.
    """
    row_shape = len(ring.primes), ring.degree // stride
    if not isinstance(a, np.ndarray) or a.dtype != np.uint64 or a.ndim < 2 or a.shape[-2:] != row_shape:
        raise InputError(
            f"{what} have the wrong layout",
            expected=f"an array of uint64, shape (..., {row_shape[0]}, {row_shape[1]})",
            got=describe(a),
        )
    primes = np.array(ring.primes, np.uint64)
    # Each row's greatest, because comparing all residues takes many times as long.
    if not (a.max(axis=-1, initial=0) < primes).all():
        first = int(np.argmin(a < primes[:, np.newaxis]))
        raise InputError(
            f"residue at index {index_text(first, a.shape)} of {what} is not below its prime",
            expected="canonical residues, each below the prime of its row",
            got="a larger one",
        )
    return a.shape[:-2]


def check_operands(ring: Ring, a: RingArray, b: RingArray) -> Shape:
    """The leading shape of an operation on two arrays. Raises InputError where they are no elements or do not fit."""
    return broadcast_shape(check_elements(ring, a), check_elements(ring, b))


def check_bin_sums(
    ring: Ring, elements: RingArray, digits: DigitArray, window: int, window_count: int, starts: StartArray
) -> None:
    """Raise InputError unless the arguments of `ring_bin_sums` fit together as its contract says."""
    _check_window(ring, window)
    most = MAX_DIGITS // window
    if not 1 <= window_count <= most:
        raise InputError("window_count refused", expected=f"1 to {most}", got=str(window_count))
    if len(check_elements(ring, elements)) != 2:
        shape = f"(groups, components, {len(ring.primes)}, {ring.degree})"
        raise InputError("ring elements have the wrong layout", expected=f"shape {shape}", got=describe(elements))
    _check_digits(digits, window * window_count)
    row_count, group_rows = digits.shape[1], ring.degree // window
    group_count = -(-row_count // group_rows)
    if len(elements) != group_count:
        raise InputError(
            "groups of elements and rows of digits do not agree",
            expected=f"{group_count} groups for {row_count:,} rows, {group_rows:,} rows to a group",
            got=f"{len(elements)} groups",
        )
    _check_vector(starts, "starts of segments", np.int64, on_device=False)
    if not starts.size or starts[0] < 0 or starts[-1] > row_count or (starts[1:] < starts[:-1]).any():
        raise InputError(
            "starts of segments refused",
            expected=f"one or more, ascending, from 0 to {row_count}",
            got="others",
            cure="give the first row of every segment, and the row behind the last",
        )


def _check_digits(digits: DigitArray, limit: int) -> None:
    if not isinstance(digits, np.ndarray) or digits.dtype != np.int32 or digits.ndim != 2:
        raise InputError(
            "digits have the wrong layout",
            expected="an array of int32, shape (digits of a row, rows)",
            got=describe(digits),
        )
    if digits.size and (digits.min() < -1 or digits.max() >= limit):
        raise InputError(
            "digits out of range",
            expected=f"-1 to {limit - 1}, the last digit of the last window",
            got="others",
        )


def check_first_products(ring: Ring, a: RingArray, b: RingArray, window: int) -> None:
    """Raise InputError unless the arguments of `ring_first_products` are two lists of elements, and a window."""
    _check_window(ring, window)
    shapes = check_elements(ring, a), check_elements(ring, b)
    if any(len(shape) != 1 for shape in shapes):
        shown = f"{shapes[0]} and {shapes[1]}"
        raise InputError("ring elements have the wrong layout", expected="two lists of elements", got=shown)


def _check_window(ring: Ring, window: int) -> None:
    if window.bit_count() != 1 or not 1 <= window <= ring.degree:
        raise InputError("window refused", expected=f"a power of two from 1 to {ring.degree}", got=str(window))


def check_add_zeros(ring: Ring, elements: RingArray, windows: RingArray, small: SmallArray, pair: RingArray) -> None:
    """Raise InputError unless the arguments of `ring_add_zeros` fit each other."""
    shape, depth = check_elements(ring, elements), check_elements(ring, pair, "a public pair")
    if len(shape) != 1 or len(depth) != 1 or depth[0] < 1:
        raise InputError(
            "elements do not fit their public pair",
            expected="shapes (count,) and (1 + C,) before primes and coefficients",
            got=f"{shape} and {depth}",
        )
    is_array = isinstance(windows, np.ndarray) and windows.dtype == np.uint64 and windows.ndim == 4
    if not is_array or windows.shape[:3] != (shape[0], depth[0] - 1, len(ring.primes)):
        shown = f"uint64, shape {(shape[0], depth[0] - 1, len(ring.primes))} before a window"
        raise InputError("first coefficients of sums refused", expected=shown, got=describe(windows))
    _check_window(ring, windows.shape[-1])
    if windows.size and (windows >= np.array(ring.primes, np.uint64)[:, np.newaxis]).any():
        raise InputError("first coefficients of sums are no residues", expected="below their primes", got="more")
    _check_small(small, (shape[0], 2, ring.degree))


def _check_small(small: SmallArray, expected: Shape) -> None:
    if not isinstance(small, np.ndarray) or small.dtype != np.int8 or small.shape != expected:
        raise InputError("wrong size or type of small numbers", expected=f"int8, shape {expected}", got=describe(small))


def check_refresh(ring: Ring, elements: RingArray, small: SmallArray, pair: RingArray) -> None:
    """Raise InputError unless the arguments of `ring_refresh` fit each other."""
    shape, depth = check_elements(ring, elements), check_elements(ring, pair, "a public pair")
    if len(shape) != 2 or shape[1:] != depth or not depth[0]:
        raise InputError(
            "elements do not fit their public pair",
            expected="shapes (count, D) and (D,) before primes and coefficients, D 1 or more",
            got=f"{shape} and {depth}",
        )
    _check_small(small, (shape[0], 1 + depth[0], ring.degree))


def check_integers(ring: Ring, values: SumArray) -> None:
    """Raise InputError unless `values` are coefficients of polynomials of the ring's degree or less."""
    good = isinstance(values, np.ndarray) and values.dtype == np.int64 and values.ndim >= 1
    if not good or not 1 <= values.shape[-1] <= ring.degree:
        raise InputError(
            "integers of polynomials have the wrong layout",
            expected=f"an array of int64, shape (..., 1 to {ring.degree})",
            got=describe(values),
        )


def check_drop_prime(ring: Ring, elements: RingArray, last: RingArray, prime: int) -> None:
    """Raise InputError unless the arguments of `ring_drop_prime` fit each other."""
    if prime == 2:
        raise InputError("a prime of a modulus refused", expected="an odd prime", got="2")
    _check_primes((*ring.primes, prime))
    expected = (*check_elements(ring, elements), ring.degree)
    if not isinstance(last, np.ndarray) or last.dtype != np.uint64 or last.shape != expected:
        raise InputError(
            "residues of a prime to drop have the wrong layout",
            expected=f"an array of uint64, shape {expected}",
            got=describe(last),
        )
    if last.size and int(last.max()) >= prime:
        raise InputError("residues of a prime to drop are none", expected="each below it", got="a larger one")


def check_dot(ring: Ring, a: RingArray, b: RingArray) -> Shape:
    """The shape (R, I, J) of `ring_dot`. Raises InputError unless its arguments are two matrices that fit."""
    slots = a.shape[-1] if isinstance(a, np.ndarray) and a.ndim else 0
    stride = next((stride for stride in STRIDES if stride * slots == ring.degree), 1)
    left, right = check_elements(ring, a, stride=stride), check_elements(ring, b)
    if len(left) != 2 or len(right) != 2 or left[1] != right[0] or not right[0]:
        raise InputError(
            "matrices of ring elements do not fit",
            expected="shapes (R, I) and (I, J) before primes and coefficients, I 1 or more",
            got=f"{left} and {right}",
        )
    return left[0], left[1], right[1]


def check_round(primes: tuple[int, ...], residues: RingArray, bits: int) -> None:
    """Raise InputError unless the arguments of `ring_round` are a modulus, residues mod its primes, and bits."""
    _check_primes(primes)
    _check_fraction_bits(bits)
    is_array = isinstance(residues, np.ndarray) and residues.dtype == np.uint64
    if not is_array or residues.ndim != 2 or residues.shape[1] != len(primes):
        raise InputError(
            "residues of numbers have the wrong layout",
            expected=f"an array of uint64, shape (count, {len(primes)})",
            got=describe(residues),
        )
    if not (residues < np.array(primes, np.uint64)).all():
        raise InputError("residues of numbers are no residues", expected="each below its prime", got="a larger one")


@lru_cache
def _check_primes(primes: tuple[int, ...]) -> None:
    if not 1 <= len(primes) <= MAX_MODULUS_PRIMES or len(set(primes)) != len(primes):
        raise InputError(
            "primes of a modulus refused",
            expected=f"1 to {MAX_MODULUS_PRIMES} different ones",
            got=f"{len(primes)}",
        )
    for p in primes:
        if not 0 < p.bit_length() <= MAX_PRIME_BITS or not gmpy2.is_prime(p):
            raise InputError("a prime of a modulus refused", expected=f"a prime below 2^{MAX_PRIME_BITS}", got=str(p))


def _check_fraction_bits(bits: int) -> None:
    if not 1 <= bits <= MAX_FRACTION_BITS:
        raise InputError("bits of a fraction refused", expected=f"1 to {MAX_FRACTION_BITS}", got=str(bits))


def check_mask_values(
    form: MaskFormat,
    public_key: bytes,
    secret_ntt: RingArray,
    error_key: bytes | bytearray,
    first_chunk: int,
    values: LevelArray,
    *,
    on_device: bool = False,
) -> None:
    """Raise InputError unless keys, secret, chunks and values of `mask_values` have their sizes and types."""
    check_key(public_key, "public key")
    _check_secret(form.ring, secret_ntt)
    _check_bytes(error_key, "error key", CHACHA20_KEY_BYTES)
    _check_vector(values, "values", np.int32, on_device=on_device)
    check_chunks(first_chunk, form.chunk_count(values.size))


def check_slots(form: MaskFormat, values: LevelArray) -> None:
    """Raise InputError where a value of `mask_values` does not fit its slot; constant-time."""
    limit = 1 << (form.slot_bits - 1)
    # The smallest and largest value suffice, in constant time; int32 values always fit a slot of 33 bits.
    if limit < 1 << 32 and values.size and max(int(values.max()), -int(values.min())) >= limit:
        raise refuse_slots(form)


def refuse_slots(form: MaskFormat) -> InputError:
    """The error for values where at least one does not fit its slot."""
    return InputError(
        "values do not fit their slots",
        expected=f"|value| < 2^{form.slot_bits - 1}",
        got="a larger one",
        cure="clip the values, or take a format with wider slots",
    )


def check_add_masked(
    form: MaskFormat, accumulator: RingArray, written: ByteArray, value_count: int, *, on_device: bool = False
) -> None:
    """Raise InputError unless an accumulator and a written contribution belong to `value_count` values."""
    check_accumulator(form, accumulator, value_count, on_device=on_device)
    # Arrays on a device are always aligned and writeable, even views.
    flags = accumulator.flags
    if not (flags.c_contiguous and (not on_host(accumulator) or (flags.aligned and flags.writeable))):
        raise InputError(
            "accumulator cannot be written in place",
            expected="a writeable, aligned array in one piece",
            got="another layout",
            cure="make it with numpy.zeros(form.field_count(value_count), numpy.uint64)",
        )
    _check_written(written, "written contribution", form, value_count, form.field_bits, on_device=on_device)


def check_accumulator(form: MaskFormat, accumulator: RingArray, value_count: int, *, on_device: bool = False) -> None:
    """Raise InputError unless `accumulator` holds one uint64 for each field of `value_count` values."""
    _check_count(value_count, "value_count")
    _check_vector(accumulator, "accumulator", np.uint64, form.field_count(value_count), on_device=on_device)


def check_unmask_sum(
    form: MaskFormat,
    public_key: bytes,
    secret_ntt: RingArray,
    first_chunk: int,
    written: ByteArray,
    value_count: int,
    *,
    on_device: bool = False,
) -> None:
    """Raise InputError unless key, secret, chunks and written sum of `unmask_sum` have their sizes and bounds."""
    check_key(public_key, "public key")
    _check_secret(form.ring, secret_ntt)
    _check_count(value_count, "value_count")
    check_chunks(first_chunk, form.chunk_count(value_count))
    _check_written(written, "written sum", form, value_count, form.sum_field_bits, on_device=on_device)


def refuse_opened() -> InputError:
    """The error for an opened sum with a nonzero slot behind the last value, or with more than its last digit."""
    return InputError(
        "the opened sum does not lie in its slots",
        expected="a sum of masked values, under the sum of exactly their secrets and the public key they share",
        got="another",
        cure="open what was added, with the secrets of those who added it",
    )


def _check_secret(ring: Ring, secret_ntt: RingArray) -> None:
    if check_elements(ring, secret_ntt, "secret residues") != ():
        raise InputError(
            "a block is masked with one secret",
            expected=f"shape ({len(ring.primes)}, {ring.degree})",
            got=describe(secret_ntt),
        )


def _check_written(
    written: ByteArray,
    what: str,
    form: MaskFormat,
    value_count: int,
    field_bits: tuple[int, ...],
    *,
    on_device: bool,
) -> None:
    """Checks sizes, and the padding bits behind the last chunk's fields; full chunks end on a whole byte."""
    used = form.last_used(value_count)
    plane_bytes = [(used * bits + 7) // 8 for bits in field_bits]
    full_bytes = sum(form.ring.degree * bits // 8 for bits in field_bits) * (form.chunk_count(value_count) - 1)
    _check_vector(written, what, np.uint8, full_bytes + sum(plane_bytes), on_device=on_device)
    end = full_bytes
    for byte_count, bits in zip(plane_bytes, field_bits, strict=True):
        end += byte_count
        filled = (used * bits - 1) % 8 + 1
        if int(written[end - 1]) >> filled:
            raise InputError(f"{what} has bits behind its last field", expected="zero padding bits", got="others")


def _check_vector(array: Any, what: str, dtype: npt.DTypeLike, size: int | None = None, *, on_device: bool) -> None:
    is_taken = is_array(array) and (on_device or on_host(array))
    good = is_taken and array.dtype == dtype and array.ndim == 1
    if not good or (size is not None and array.size != size):
        raise InputError(
            f"wrong size or type of {what}",
            expected=f"an array of {np.dtype(dtype)}, shape ({'count' if size is None else size},)",
            got=describe(array),
        )


def _check_bytes(value: bytes | bytearray, what: str, length: int) -> None:
    if not isinstance(value, bytes | bytearray) or len(value) != length:
        got = f"{len(value)} bytes" if isinstance(value, bytes | bytearray) else type(value).__name__
        raise InputError(f"{what} refused", expected=f"{length} bytes", got=got)


def _check_count(count: int, what: str) -> None:
    if count < 0:
        raise InputError(f"{what} refused", expected="0 or more", got=str(count))
