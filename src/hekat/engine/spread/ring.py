"""Ring operations over several engines, on arrays of the host: divided by chunks, which have explicit numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.ring.checks import (
    check_accumulator,
    check_add_masked,
    check_expand_uniform,
    check_mask_values,
    check_sample_cbd,
    check_sample_discrete_gaussian,
    check_unmask_sum,
)
from hekat.engine.ring.elements import RingElements
from hekat.engine.ring.gaussian import BLOCK_NUMBERS, DiscreteGaussian
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
from hekat.engine.spread.partition import partition_range
from hekat.engine.spread.pool import EnginePool

# Chunks (ring elements) from which on a block is cut: some hundred microseconds of one core.
LEAST_CHUNKS: Final = 8


class SpreadRing(RingElements):
    """The ring operations of an engine over several.

    Streams, masking and opening are divided into runs of whole chunks, one run for each member: chunk numbers are
    explicit and only a block's last chunk is partly filled, so each run equals the result of one engine. Transforms and
    element-wise operations are divided along the elements, sums by bin along the windows, matrix products along the
    rows. The first member makes key streams, rounds, and adds and writes sums, because moving the operands would cost
    as much as the work.
    """

    _pool: EnginePool
    _least_chunks: int

    # --- streams ---------------------------------------------------------------------------------------

    def chacha20(self, key: bytes, nonce: bytes, counter: int, byte_count: int) -> ByteArray:
        """The key stream from block `counter` on."""
        return self._pool.engines[0].chacha20(key, nonce, counter, byte_count)

    def expand_uniform(self, ring: Ring, key: bytes, first_chunk: int, chunk_count: int) -> RingArray:
        """Uniform residues by rejection, runs of chunks over the members."""
        check_expand_uniform(key, first_chunk, chunk_count)

        def expand(start: int, stop: int) -> Callable[[Engine], RingArray]:
            return lambda engine: engine.expand_uniform(ring, key, first_chunk + start, stop - start)

        return np.concatenate(self._in_runs(expand, chunk_count, "expand_uniform"))

    def sample_cbd(self, key: bytes, first_chunk: int, chunk_count: int, degree: int) -> SmallArray:
        """Centred binomial numbers, runs of chunks over the members."""
        check_sample_cbd(key, first_chunk, chunk_count, degree)

        def sample(start: int, stop: int) -> Callable[[Engine], SmallArray]:
            return lambda engine: engine.sample_cbd(key, first_chunk + start, stop - start, degree)

        return np.concatenate(self._in_runs(sample, chunk_count, "sample_cbd"))

    def sample_discrete_gaussian(
        self, key: bytes | bytearray, first_block: int, count: int, gaussian: DiscreteGaussian
    ) -> NoiseArray:
        """Numbers of a discrete Gaussian, runs of blocks over the members."""
        check_sample_discrete_gaussian(key, first_block, count)

        def sample(start: int, stop: int) -> Callable[[Engine], NoiseArray]:
            own = min(stop * BLOCK_NUMBERS, count) - start * BLOCK_NUMBERS
            return lambda engine: engine.sample_discrete_gaussian(key, first_block + start, own, gaussian)

        block_count = -(-count // BLOCK_NUMBERS)
        return np.concatenate(self._in_runs(sample, block_count, "sample_discrete_gaussian"))

    # --- elements --------------------------------------------------------------------------------------

    def _change_elements(self, name: str, ring: Ring, elements: RingArray) -> RingArray:
        return self._on_elements(name, ring, elements)

    def _transform_integers(self, ring: Ring, values: SumArray) -> RingArray:
        return self._on_elements("ring_ntt_integers", ring, values)

    def _combine_elements(self, name: str, ring: Ring, count: int, a: RingArray, b: RingArray) -> RingArray:
        shape = (count, *ring.element_shape)
        return self._on_elements(name, ring, np.broadcast_to(a, shape), np.broadcast_to(b, shape))

    def _on_elements(self, name: str, ring: Ring, *operands: RingArray | SumArray) -> RingArray:
        def operate(start: int, stop: int) -> Callable[[Engine], RingArray]:
            return lambda engine: getattr(engine, name)(ring, *[operand[start:stop] for operand in operands])

        return np.concatenate(self._in_runs(operate, len(operands[0]), name))

    def _sum_bins(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        return self._by_windows("ring_bin_sums", ring, elements, digits, window, window_count, starts)

    def _sum_windows(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        return self._by_windows("ring_window_sums", ring, elements, digits, window, window_count, starts)

    def _by_windows(
        self,
        name: str,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        def sum_windows(start: int, stop: int) -> Callable[[Engine], RingArray]:
            # The digits of other windows are absent.
            own = (digits >= start * window) & (digits < stop * window)
            shifted = np.where(own, digits - start * window, -1).astype(np.int32)
            return lambda engine: getattr(engine, name)(ring, elements, shifted, window, stop - start, starts)

        return np.concatenate(self._in_runs(sum_windows, window_count, name), axis=1)

    def _first_products(self, ring: Ring, a: RingArray, b: RingArray, window: int) -> RingArray:
        def multiply(start: int, stop: int) -> Callable[[Engine], RingArray]:
            return lambda engine: engine.ring_first_products(ring, a[start:stop], b, window)

        return np.concatenate(self._in_runs(multiply, len(a), "ring_first_products"))

    def _refresh(self, ring: Ring, elements: RingArray, small: SmallArray, pair: RingArray) -> RingArray:
        def refresh(start: int, stop: int) -> Callable[[Engine], RingArray]:
            return lambda engine: engine.ring_refresh(ring, elements[start:stop], small[start:stop], pair)

        return np.concatenate(self._in_runs(refresh, len(elements), "ring_refresh"))

    def _drop_prime(self, ring: Ring, elements: RingArray, last: RingArray, prime: int) -> RingArray:
        def drop(start: int, stop: int) -> Callable[[Engine], RingArray]:
            return lambda engine: engine.ring_drop_prime(ring, elements[start:stop], last[start:stop], prime)

        return np.concatenate(self._in_runs(drop, len(elements), "ring_drop_prime"))

    def _dot(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        def multiply(start: int, stop: int) -> Callable[[Engine], RingArray]:
            return lambda engine: engine.ring_dot(ring, a[start:stop], b)

        return np.concatenate(self._in_runs(multiply, len(a), "ring_dot"))

    def _round(self, primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
        return self._pool.engines[0].ring_round(primes, residues, bits)

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
        """Runs of chunks from their streams to their bytes."""
        check_mask_values(form, public_key, secret_ntt, error_key, first_chunk, values)

        def mask(start: int, stop: int) -> Callable[[Engine], ByteArray]:
            own = values[start * form.values_per_chunk : stop * form.values_per_chunk]
            return lambda engine: engine.mask_values(form, public_key, secret_ntt, error_key, first_chunk + start, own)

        return np.concatenate(self._in_runs(mask, form.chunk_count(values.size), "mask_values"))

    def add_masked(self, form: MaskFormat, accumulator: RingArray, written: ByteArray, value_count: int) -> None:
        """Field by field, in place."""
        check_add_masked(form, accumulator, written, value_count)
        self._pool.engines[0].add_masked(form, accumulator, written, value_count)

    def write_sum(self, form: MaskFormat, accumulator: RingArray, value_count: int) -> ByteArray:
        """round((sum * 2^dropped_bits mod q) / 2^sum_dropped_bits) of each coefficient."""
        check_accumulator(form, accumulator, value_count)
        return self._pool.engines[0].write_sum(form, accumulator, value_count)

    def unmask_sum(
        self,
        form: MaskFormat,
        public_key: bytes,
        secret_ntt: RingArray,
        first_chunk: int,
        written: ByteArray,
        value_count: int,
    ) -> tuple[SumArray, SumArray]:
        """Runs of chunks from their bytes to their sums."""
        check_unmask_sum(form, public_key, secret_ntt, first_chunk, written, value_count)
        chunk_count, chunk_values = form.chunk_count(value_count), form.values_per_chunk
        chunk_bytes = form.written_sum_bytes(chunk_values)

        def unmask(start: int, stop: int) -> Callable[[Engine], tuple[SumArray, SumArray]]:
            own_count = min(stop * chunk_values, value_count) - start * chunk_values
            own = written[start * chunk_bytes : start * chunk_bytes + form.written_sum_bytes(own_count)]
            return lambda engine: engine.unmask_sum(form, public_key, secret_ntt, first_chunk + start, own, own_count)

        values, counts = zip(*self._in_runs(unmask, chunk_count, "unmask_sum"), strict=True)
        return np.concatenate(values), np.concatenate(counts)

    # --- runs ------------------------------------------------------------------------------------------

    def _in_runs(self, make: Callable[[int, int], Callable[[Engine], Any]], count: int, kind: str) -> list[Any]:
        """The results of the members' tasks `make(start, stop)` for runs that make up range(count), in order."""
        if count < self._least_chunks:
            owner = self._pool.next_member()
            return list(self._pool.run({owner: make(0, count)}, {owner: count}).values())
        runs = {owner: run for owner, run in enumerate(partition_range(count, self._pool.shares)) if run[1] > run[0]}
        items = {owner: stop - start for owner, (start, stop) in runs.items()}
        results = self._pool.run({owner: make(*run) for owner, run in runs.items()}, items, kind=kind)
        return [results[owner] for owner in runs]
