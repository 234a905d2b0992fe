"""The ring operations of the native engine, on the thread pool and the path of arithmetic of its CpuEngine."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hekat import _native
from hekat.engine.ring.checks import (
    check_accumulator,
    check_add_masked,
    check_chacha20,
    check_expand_uniform,
    check_mask_values,
    check_sample_cbd,
    check_sample_discrete_gaussian,
    check_unmask_sum,
    refuse_opened,
    refuse_slots,
)
from hekat.engine.ring.elements import RingElements, flat_elements
from hekat.engine.ring.gaussian import BLOCK_NUMBERS, DiscreteGaussian, floor_table
from hekat.engine.ring.gaussian_reference import sample_block
from hekat.engine.ring.interface import (
    ByteArray,
    DigitArray,
    LevelArray,
    NoiseArray,
    RingArray,
    SmallArray,
    StartArray,
    SumArray,
)
from hekat.engine.ring.parameters import MaskFormat, Ring

# How many rings and formats keep their tables: more than a process has parameter sets.
KEPT_TABLES = 32

_CHANGES = {"ring_ntt": _native.Ring.ntt, "ring_intt": _native.Ring.intt}
_COMBINATIONS = {"ring_add": _native.Ring.add, "ring_sub": _native.Ring.sub, "ring_mul": _native.Ring.mul}


class CpuRing(RingElements):
    """Implements `hekat.engine.ring.interface.RingEngine` in native code, constant-time as it says.

    Results are C-contiguous. Every operation releases the interpreter lock, may be called from several threads at once
    and answers Ctrl-C.
    """

    _path: str

    @property
    def _pool(self) -> _native.ThreadPool:
        raise NotImplementedError

    # --- streams ---------------------------------------------------------------------------------------

    def chacha20(self, key: bytes, nonce: bytes, counter: int, byte_count: int) -> ByteArray:
        """The key stream from block `counter` on, divided among the threads."""
        check_chacha20(key, nonce, counter, byte_count)
        out = np.empty(byte_count, np.uint8)
        if byte_count:
            _native.chacha20(self._pool, self._path, out, key, nonce, counter)
        return out

    def expand_uniform(self, ring: Ring, key: bytes, first_chunk: int, chunk_count: int) -> RingArray:
        """Uniform residues by rejection, chunk by chunk over the threads."""
        check_expand_uniform(key, first_chunk, chunk_count)
        out = np.empty((chunk_count, *ring.element_shape), np.uint64)
        if chunk_count:
            _native_ring(ring, self._path).expand_uniform(self._pool, out, key, first_chunk)
        return out

    def sample_cbd(self, key: bytes, first_chunk: int, chunk_count: int, degree: int) -> SmallArray:
        """Centred binomial numbers, chunk by chunk over the threads."""
        check_sample_cbd(key, first_chunk, chunk_count, degree)
        out = np.empty((chunk_count, degree), np.int8)
        if chunk_count:
            _native.sample_cbd(self._pool, self._path, out, key, first_chunk)
        return out

    def sample_discrete_gaussian(
        self, key: bytes | bytearray, first_block: int, count: int, gaussian: DiscreteGaussian
    ) -> NoiseArray:
        """Numbers block by block over the threads; the specification makes a block where 52 digits do not tell."""
        check_sample_discrete_gaussian(key, first_block, count)
        out, undecided = np.empty(count, np.int64), np.zeros(-(-count // BLOCK_NUMBERS), np.uint8)
        if count:
            law = _native_gaussian(gaussian)
            law.sample(self._pool, self._path, out, undecided, np.frombuffer(key, np.uint8), first_block)
        for block in np.flatnonzero(undecided).tolist():
            own = out[block * BLOCK_NUMBERS : (block + 1) * BLOCK_NUMBERS]
            own[:] = sample_block(bytes(key), first_block + block, own.size, gaussian)
        return out

    # --- elements --------------------------------------------------------------------------------------

    def _change_elements(self, name: str, ring: Ring, elements: RingArray) -> RingArray:
        out = np.empty(elements.shape, np.uint64)
        _CHANGES[name](_native_ring(ring, self._path), self._pool, out, elements)
        return out

    def _transform_integers(self, ring: Ring, values: SumArray) -> RingArray:
        """Each row from its integers to its slots in one thread's cache."""
        out = np.empty((len(values), *ring.element_shape), np.uint64)
        _native_ring(ring, self._path).ntt_integers(self._pool, out, values)
        return out

    def _combine_elements(self, name: str, ring: Ring, count: int, a: RingArray, b: RingArray) -> RingArray:
        out = np.empty((count, *ring.element_shape), np.uint64)
        _COMBINATIONS[name](_native_ring(ring, self._path), self._pool, out, a, b)
        return out

    def _sum_bins(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        out = np.empty((len(starts) - 1, window_count, *elements.shape[1:]), np.uint64)
        _native_bins(ring, self._path).sum(self._pool, out, elements, digits, window, starts)
        return out

    def _sum_windows(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        out = np.empty((len(starts) - 1, window_count, *elements.shape[1:3], window), np.uint64)
        _native_ring(ring, self._path).sum_windows(self._pool, out, elements, digits, window, starts)
        return out

    def _first_products(self, ring: Ring, a: RingArray, b: RingArray, window: int) -> RingArray:
        out = np.empty((len(a), len(b), len(ring.primes), window), np.uint64)
        _native_ring(ring, self._path).first_products(self._pool, out, a, b)
        return out

    def _add_zeros(
        self, ring: Ring, elements: RingArray, windows: RingArray, small: SmallArray, pair: RingArray
    ) -> tuple[RingArray, RingArray]:
        """Each sum in one thread's cache, from its small numbers to its coefficients."""
        second, first = np.empty(elements.shape, np.uint64), np.empty(windows.shape, np.uint64)
        _native_ring(ring, self._path).add_zeros(self._pool, second, first, elements, windows, small, pair)
        return second, first

    def _refresh(self, ring: Ring, elements: RingArray, small: SmallArray, pair: RingArray) -> RingArray:
        """Each ciphertext in one thread's cache, from its small numbers to its coefficients."""
        out = np.empty(elements.shape, np.uint64)
        _native_ring(ring, self._path).refresh(self._pool, out, elements, small, pair)
        return out

    def _drop_prime(self, ring: Ring, elements: RingArray, last: RingArray, prime: int) -> RingArray:
        out = np.empty(elements.shape, np.uint64)
        _native_ring(ring, self._path).drop_prime(self._pool, out, elements, last, prime)
        return out

    def _dot(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """Neighbouring slots of all rows at a time, so that what these multiply stays in a thread's cache."""
        out = np.empty((len(a), b.shape[1], *ring.element_shape), np.uint64)
        _native_ring(ring, self._path).dot(self._pool, out, a, b)
        return out

    def _round(self, primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
        out = np.empty((len(residues), 2), np.uint64)
        _native_fractions(primes, bits, self._path).floor(self._pool, out, residues)
        return out

    # --- blocks of values ------------------------------------------------------------------------------

    def mask_values(
        self,
        form: MaskFormat,
        public_key: bytes,
        secret_ntt: RingArray,
        error_key: bytes | bytearray,
        first_chunk: int,
        values: LevelArray,
    ) -> ByteArray:
        """Each chunk from its streams to its bytes in one thread's cache."""
        check_mask_values(form, public_key, secret_ntt, error_key, first_chunk, values)
        out = np.empty(form.written_bytes(values.size), np.uint8)
        fit = _native_blocks(form, self._path).mask_values(
            self._pool,
            out,
            public_key,
            flat_elements(form.ring, secret_ntt),
            np.frombuffer(error_key, np.uint8),
            first_chunk,
            np.ascontiguousarray(values),
        )
        if not fit:
            raise refuse_slots(form)
        return out

    def add_masked(self, form: MaskFormat, accumulator: RingArray, written: ByteArray, value_count: int) -> None:
        """Field by field, in place; the threads share the chunks."""
        check_add_masked(form, accumulator, written, value_count)
        native = _native_blocks(form, self._path)
        native.add_masked(self._pool, accumulator, np.ascontiguousarray(written), value_count)

    def write_sum(self, form: MaskFormat, accumulator: RingArray, value_count: int) -> ByteArray:
        """round((sum * 2^dropped_bits mod q) / 2^sum_dropped_bits) of each coefficient."""
        check_accumulator(form, accumulator, value_count)
        out = np.empty(form.written_sum_bytes(value_count), np.uint8)
        native = _native_blocks(form, self._path)
        native.write_sum(self._pool, out, np.ascontiguousarray(accumulator), value_count)
        return out

    def unmask_sum(
        self,
        form: MaskFormat,
        public_key: bytes,
        secret_ntt: RingArray,
        first_chunk: int,
        written: ByteArray,
        value_count: int,
    ) -> tuple[SumArray, SumArray]:
        """Each chunk from its bytes to its sums in one thread's cache."""
        check_unmask_sum(form, public_key, secret_ntt, first_chunk, written, value_count)
        values = np.empty(value_count, np.int64)
        counts = np.empty(form.chunk_count(value_count), np.int64)
        is_whole = _native_blocks(form, self._path).unmask_sum(
            self._pool,
            values,
            counts,
            public_key,
            flat_elements(form.ring, secret_ntt),
            first_chunk,
            np.ascontiguousarray(written),
        )
        if not is_whole:
            raise refuse_opened()
        return values, counts


@lru_cache(maxsize=KEPT_TABLES)
def _native_ring(ring: Ring, path: str) -> _native.Ring:
    """The tables of a ring, made once."""
    return _native.Ring(ring.degree, list(ring.primes), list(ring.roots), path)


@lru_cache(maxsize=KEPT_TABLES)
def _native_bins(ring: Ring, path: str) -> _native.BinSums:
    """The tables of a ring's sums by bin, made once."""
    return _native.BinSums(_native_ring(ring, path))


@lru_cache(maxsize=KEPT_TABLES)
def _native_fractions(primes: tuple[int, ...], bits: int, path: str) -> _native.Fractions:
    """The constants of a modulus and of a fraction's bits, made once."""
    return _native.Fractions(list(primes), bits, path)


@lru_cache(maxsize=KEPT_TABLES)
def _native_blocks(form: MaskFormat, path: str) -> _native.MaskedBlocks:
    """The tables of a mask format, made once."""
    ring = _native_ring(form.ring, path)
    return _native.MaskedBlocks(ring, form.slots, form.slot_bits, form.dropped_bits, form.sum_dropped_bits)


@lru_cache(maxsize=KEPT_TABLES)
def _native_gaussian(gaussian: DiscreteGaussian, margin: int = _native.gaussian_margin) -> _native.GaussianLaw:
    """The table of a discrete Gaussian, made once."""
    table = list(floor_table(gaussian.base))
    return _native.GaussianLaw(gaussian.base, gaussian.doublings, gaussian.limit, table, margin)
