"""The ring operations on a GPU: one block of threads works on a chunk, from its streams to its bytes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from hekat.array_module import on_host
from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.bin_passes import bin_passes
from hekat.engine.cuda.device import MOST_THREADS, DeviceArray, check_owned, run_threads
from hekat.engine.cuda.device_memory import DeviceMemory
from hekat.engine.cuda.ring_tables import RingTables
from hekat.engine.ring.checks import (
    CHACHA20_BLOCK_BYTES,
    check_accumulator,
    check_add_masked,
    check_chacha20,
    check_expand_uniform,
    check_mask_values,
    check_sample_cbd,
    check_unmask_sum,
    refuse_opened,
    refuse_slots,
)
from hekat.engine.ring.elements import RingElements
from hekat.engine.ring.gaussian import DiscreteGaussian
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

# As in sampling.cuh and ring_masking.cu.
GROUP = 8
SAMPLING_BYTES = 8 + 4 * MOST_THREADS
TILE = 1024
WORD_BYTES = 8
# Of sums by bin at a time: 256 MiB.
MOST_PLAINTEXT_WORDS = 1 << 25


class CudaRing(RingElements, DeviceMemory):
    """Implements `hekat.engine.ring.interface.RingEngine` on one device, constant-time as it says.

    Keys, secrets, elements and most results lie on the host. Blocks of values are the exception: where an operation's
    values, written bytes or accumulator lie on the device, its result does too.
    """

    _host: CpuEngine

    @cached_property
    def _ring_tables(self) -> RingTables:
        return RingTables(self._device)

    # --- streams ---------------------------------------------------------------------------------------

    def chacha20(self, key: bytes, nonce: bytes, counter: int, byte_count: int) -> ByteArray:
        """The key stream from block `counter` on, one block a thread."""
        check_chacha20(key, nonce, counter, byte_count)
        if not byte_count:
            return np.empty(0, np.uint8)
        block_count = -(-byte_count // CHACHA20_BLOCK_BYTES)
        out = self._device.empty(block_count * CHACHA20_BLOCK_BYTES, np.uint8)
        low, high = (int.from_bytes(part, "little") for part in (nonce[:4], nonce[4:]))
        run_threads(
            self._device,
            "ring_streams/chacha20",
            block_count,
            out,
            out.size // 4,
            self._upload_keys(key),
            counter,
            low,
            high,
        )
        return self._device.download(out)[:byte_count]

    def expand_uniform(self, ring: Ring, key: bytes, first_chunk: int, chunk_count: int) -> RingArray:
        """Uniform residues by rejection, one block a row."""
        check_expand_uniform(key, first_chunk, chunk_count)
        shape = (chunk_count, *ring.element_shape)
        if not chunk_count:
            return np.empty(shape, np.uint64)
        out = self._device.empty(shape, np.uint64)
        self._run_rows(
            "ring_streams/expand_uniform",
            ring,
            chunk_count,
            SAMPLING_BYTES,
            out,
            self._upload_keys(key),
            first_chunk,
        )
        return self._device.download(out)

    def sample_cbd(self, key: bytes, first_chunk: int, chunk_count: int, degree: int) -> SmallArray:
        """Centred binomial numbers, eight a thread."""
        check_sample_cbd(key, first_chunk, chunk_count, degree)
        if not chunk_count:
            return np.empty((0, degree), np.int8)
        out = self._device.empty((chunk_count, degree), np.int8)
        groups = out.size // GROUP
        run_threads(
            self._device, "ring_streams/sample_cbd", groups, out, self._upload_keys(key), first_chunk, degree, groups
        )
        return self._device.download(out)

    def sample_discrete_gaussian(
        self, key: bytes | bytearray, first_block: int, count: int, gaussian: DiscreteGaussian
    ) -> NoiseArray:
        """Numbers of a discrete Gaussian by the host, because they are added to values that lie there."""
        return self._host.sample_discrete_gaussian(key, first_block, count, gaussian)

    # --- elements --------------------------------------------------------------------------------------

    def _change_elements(self, name: str, ring: Ring, elements: RingArray) -> RingArray:
        out = self._device.empty(elements.shape, np.uint64)
        self._run_rows(
            f"ring_elements/{name}",
            ring,
            len(elements),
            WORD_BYTES * ring.degree,
            out,
            self._device.upload(elements),
        )
        return self._device.download(out)

    def _transform_integers(self, ring: Ring, values: SumArray) -> RingArray:
        out = self._device.empty((len(values), *ring.element_shape), np.uint64)
        self._run_rows(
            "ring_elements/ring_ntt_integers",
            ring,
            len(values),
            WORD_BYTES * ring.degree,
            out,
            self._device.upload(values),
            values.shape[1],
        )
        return self._device.download(out)

    def _combine_elements(self, name: str, ring: Ring, count: int, a: RingArray, b: RingArray) -> RingArray:
        out = self._device.empty((count, *ring.element_shape), np.uint64)
        # Each operand's step from one element to the next: 0 where a single element serves all.
        operands = [part for x in (a, b) for part in (self._device.upload(x), int(len(x) > 1))]
        self._run_rows(f"ring_elements/{name}", ring, count, 0, out, *operands)
        return self._device.download(out)

    def _sum_bins(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        """The transforms of some plaintexts at a time, a block each; then their products, a thread for each slot."""
        group_rows, element_words = ring.degree // window, len(ring.primes) * ring.degree
        components = elements.shape[1]
        out = self._device.empty((len(starts) - 1, window_count, *elements.shape[1:]), np.uint64)
        held, held_digits = self._device.upload(elements), self._device.upload(digits)
        for part in bin_passes(starts.tolist(), group_rows, window_count, MOST_PLAINTEXT_WORDS // element_words):
            plaintexts = self._device.empty((part.plaintext_count, *ring.element_shape), np.uint64)
            if part.plaintext_count:
                self._run_rows(
                    "ring_bins/transform_plaintexts",
                    ring,
                    part.plaintext_count,
                    WORD_BYTES * ring.degree,
                    plaintexts,
                    held_digits,
                    *digits.shape,
                    part.first_row,
                    part.end_row,
                    part.first_group,
                    part.group_count,
                    part.first_window,
                    window.bit_length() - 1,
                )
            words = part.window_count * components * element_words
            first_word = (part.segment * window_count + part.first_window) * components * element_words
            run_threads(
                self._device,
                "ring_bins/add_products",
                words,
                out,
                first_word,
                words,
                int(part.adds),
                plaintexts,
                held,
                components,
                part.first_group,
                part.group_count,
                self._ring_tables.find(ring),
                ring.degree,
                len(ring.primes),
            )
        return self._device.download(out)

    def _drop_prime(self, ring: Ring, elements: RingArray, last: RingArray, prime: int) -> RingArray:
        out = self._device.empty(elements.shape, np.uint64)
        inverses = np.array([pow(prime, -1, p) for p in ring.primes], np.uint64)
        held = [self._device.upload(x) for x in (elements, last, inverses)]
        self._run_rows("ring_elements/ring_drop_prime", ring, len(elements), 0, out, *held, prime)
        return self._device.download(out)

    def _dot(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        out = self._device.empty((len(a), b.shape[1], *ring.element_shape), np.uint64)
        operands = self._device.upload(a), self._device.upload(b), *b.shape[:2], ring.degree // a.shape[-1]
        self._run_rows("ring_elements/ring_dot", ring, len(a) * b.shape[1], 0, out, *operands)
        return self._device.download(out)

    def _round(self, primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
        """On the host, because moving the residues would take longer than rounding."""
        return self._host.ring_round(primes, residues, bits)

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
        """Each chunk from its streams to its bytes in one block's shared memory."""
        check_mask_values(form, public_key, secret_ntt, error_key, first_chunk, values, on_device=True)
        out = self._device.empty(form.written_bytes(values.size), np.uint8)
        refused = self._device.upload(np.zeros(1, np.uint32))
        self._run_chunks(
            "mask_values",
            form,
            values.size,
            out,
            refused,
            self._upload_keys(bytearray(public_key) + error_key),
            self._find_factors(form.ring, secret_ntt),
            first_chunk,
            self._on_device(values),
            values.size,
        )
        if self._device.download(refused).any():
            raise refuse_slots(form)
        masked: ByteArray = self._beside(values, out)
        return masked

    def add_masked(self, form: MaskFormat, accumulator: RingArray, written: ByteArray, value_count: int) -> None:
        """Two fields a thread, in place; on the host where both operands lie there, because moving would take longer
        than adding.

        Only the thread that made an accumulator on the device adds to it, as hekat.engine.cuda.memory.ordering says.
        """
        if on_host(accumulator) and on_host(written):
            self._host.add_masked(form, accumulator, written, value_count)
            return
        with self.active(written):
            check_add_masked(form, accumulator, written, value_count, on_device=True)
        sums = self._on_device(accumulator)
        run_threads(
            self._device,
            "ring_masking/add_masked",
            -(-sums.size // 2),
            sums,
            sums.size,
            self._on_device(written),
            written.size,
            form.chunk_count(value_count) - 1,
            form.last_used(value_count),
            self._ring_tables.find(form),
            options=_options(form),
        )
        if on_host(accumulator):
            accumulator[:] = self._device.download(sums)

    def write_sum(self, form: MaskFormat, accumulator: RingArray, value_count: int) -> ByteArray:
        """round((sum * 2^dropped_bits mod q) / 2^sum_dropped_bits) of each coefficient."""
        check_accumulator(form, accumulator, value_count, on_device=True)
        out = self._device.empty(form.written_sum_bytes(value_count), np.uint8)
        chunk_count, primes = form.chunk_count(value_count), len(form.ring.primes)
        self._device.run_blocks(
            "ring_masking/write_sum",
            _options(form),
            chunk_count * (form.ring.degree // TILE),
            MOST_THREADS,
            WORD_BYTES * TILE * primes,
            out,
            self._on_device(accumulator),
            value_count,
            chunk_count,
            self._ring_tables.find(form.ring),
            self._ring_tables.find(form),
        )
        written: ByteArray = self._beside(accumulator, out)
        return written

    def unmask_sum(
        self,
        form: MaskFormat,
        public_key: bytes,
        secret_ntt: RingArray,
        first_chunk: int,
        written: ByteArray,
        value_count: int,
    ) -> tuple[SumArray, SumArray]:
        """Each chunk from its bytes to its sums in one block's shared memory."""
        with self.active(written):
            check_unmask_sum(form, public_key, secret_ntt, first_chunk, written, value_count, on_device=True)
        values = self._device.empty(value_count, np.int64)
        counts = self._device.empty(form.chunk_count(value_count), np.int64)
        refused = self._device.upload(np.zeros(1, np.uint32))
        self._run_chunks(
            "unmask_sum",
            form,
            value_count,
            values,
            counts,
            refused,
            self._upload_keys(public_key),
            self._find_factors(form.ring, secret_ntt),
            first_chunk,
            self._on_device(written),
            written.size,
            value_count,
        )
        if self._device.download(refused).any():
            raise refuse_opened()
        return self._beside(written, values), self._beside(written, counts)

    # --- launching -------------------------------------------------------------------------------------

    def _on_device(self, array: Any) -> DeviceArray:
        """The same numbers on the device, contiguous; the array itself where it already is.

        Raises EngineError for an array of another device.
        """
        if on_host(array):
            return self._device.upload(np.ascontiguousarray(array))
        check_owned(self._device, array)
        if array.flags.c_contiguous:
            return array
        with self._device.active():
            return self._device.xp.ascontiguousarray(self._device.ready(array))

    def _beside(self, operand: Any, result: DeviceArray) -> Any:
        """The result, moved to where the operand lies."""
        return self._device.download(result) if on_host(operand) else result

    def _upload_keys(self, keys: bytes | bytearray) -> DeviceArray:
        return self._device.upload(np.frombuffer(keys, "<u4").astype(np.uint32))

    def _find_factors(self, ring: Ring, secret_ntt: RingArray) -> DeviceArray:
        """The factors for products by a secret: two words for each of its residues."""
        secret = self._device.upload(np.ascontiguousarray(secret_ntt))
        factors = self._device.empty((*secret.shape, 2), np.uint64)
        run_threads(
            self._device,
            "ring_elements/find_factors",
            secret.size,
            factors,
            secret,
            self._ring_tables.find(ring),
            ring.degree,
            len(ring.primes),
        )
        return factors

    def _run_rows(self, kernel: str, ring: Ring, count: int, shared_bytes: int, *parameters: Any) -> None:
        """Run a kernel on one block for each row of `count` elements."""
        self._device.run_blocks(
            kernel,
            (),
            count * len(ring.primes),
            _row_threads(ring),
            shared_bytes,
            *parameters,
            self._ring_tables.find(ring),
            ring.degree,
            len(ring.primes),
        )

    def _run_chunks(self, kernel: str, form: MaskFormat, value_count: int, *parameters: Any) -> None:
        """Run a kernel of ring_masking.cu on one block for each chunk."""
        self._device.run_blocks(
            f"ring_masking/{kernel}",
            _options(form),
            form.chunk_count(value_count),
            _row_threads(form.ring),
            WORD_BYTES * form.ring.degree * len(form.ring.primes) + SAMPLING_BYTES,
            *parameters,
            form.chunk_count(value_count),
            self._ring_tables.find(form.ring),
            self._ring_tables.find(form),
        )


def _options(form: MaskFormat) -> tuple[str, ...]:
    return (f"-DHEKAT_PRIMES={len(form.ring.primes)}",)


def _row_threads(ring: Ring) -> int:
    """Threads of a block that works on rows: each takes eight items at a time."""
    return min(MOST_THREADS, ring.degree // GROUP)
