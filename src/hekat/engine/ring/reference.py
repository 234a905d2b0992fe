"""The specification of the ring operations, in Python integers, slow and obvious."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, pairwise
from math import prod

import numpy as np

from hekat.engine.ring.chacha20 import chacha20_blocks, chacha20_stream
from hekat.engine.ring.checks import (
    CHACHA20_BLOCK_BYTES,
    check_accumulator,
    check_add_masked,
    check_chacha20,
    check_expand_uniform,
    check_mask_values,
    check_sample_cbd,
    check_sample_discrete_gaussian,
    check_slots,
    check_unmask_sum,
    refuse_opened,
)
from hekat.engine.ring.elements import RingElements
from hekat.engine.ring.gaussian import DiscreteGaussian
from hekat.engine.ring.gaussian_reference import sample_blocks
from hekat.engine.ring.interface import (
    CBD_BOUND,
    ByteArray,
    DigitArray,
    LevelArray,
    NoiseArray,
    RingArray,
    SmallArray,
    StartArray,
    SumArray,
)
from hekat.engine.ring.mask_layout import chunks_of, join_fields, join_slots, read_fields, split_slots, write_fields
from hekat.engine.ring.negacyclic import inverse_transform, transform
from hekat.engine.ring.parameters import MaskFormat, Ring

# The first four bytes of a nonce: the number of a prime, or this.
CBD_STREAM = (1 << 32) - 1
WORD_LIMIT = 1 << 64

_CHANGES: dict[str, Callable[[list[int], int, int], list[int]]] = {
    "ring_ntt": transform,
    "ring_intt": inverse_transform,
}
_COMBINATIONS: dict[str, Callable[[int, int, int], int]] = {
    "ring_add": lambda x, y, p: (x + y) % p,
    "ring_sub": lambda x, y, p: (x - y) % p,
    "ring_mul": lambda x, y, p: x * y % p,
}


class ReferenceRing(RingElements):
    """The operations of `hekat.engine.ring.interface.RingEngine`, one coefficient after the other."""

    # --- streams ---------------------------------------------------------------------------------------

    def chacha20(self, key: bytes, nonce: bytes, counter: int, byte_count: int) -> ByteArray:
        """The key stream from block `counter` on."""
        check_chacha20(key, nonce, counter, byte_count)
        block_count = -(-byte_count // CHACHA20_BLOCK_BYTES)
        return _byte_array(chacha20_blocks(key, nonce, counter, block_count)[:byte_count])

    def expand_uniform(self, ring: Ring, key: bytes, first_chunk: int, chunk_count: int) -> RingArray:
        """Uniform residues by rejection, each prime and chunk from a stream of its own."""
        check_expand_uniform(key, first_chunk, chunk_count)

        def uniform(prime_number: int, p: int, chunk: int) -> list[int]:
            words = chacha20_stream(key, _nonce(prime_number, chunk))
            masked = (word & (1 << p.bit_length()) - 1 for word in words)
            return list(islice((x for x in masked if x < p), ring.degree))

        chunks = range(first_chunk, first_chunk + chunk_count)
        rows = [[uniform(i, p, chunk) for i, p in enumerate(ring.primes)] for chunk in chunks]
        return np.array(rows, np.uint64).reshape(chunk_count, *ring.element_shape)

    def sample_cbd(self, key: bytes, first_chunk: int, chunk_count: int, degree: int) -> SmallArray:
        """The count of ones among 21 bits minus the count among 21 others, one word for each number."""
        check_sample_cbd(key, first_chunk, chunk_count, degree)

        def difference(word: int) -> int:
            first = word & (1 << CBD_BOUND) - 1
            second = word >> CBD_BOUND & (1 << CBD_BOUND) - 1
            return first.bit_count() - second.bit_count()

        chunks = range(first_chunk, first_chunk + chunk_count)
        words = [islice(chacha20_stream(key, _nonce(CBD_STREAM, chunk)), degree) for chunk in chunks]
        return np.array([list(map(difference, row)) for row in words], np.int8).reshape(chunk_count, degree)

    def sample_discrete_gaussian(
        self, key: bytes | bytearray, first_block: int, count: int, gaussian: DiscreteGaussian
    ) -> NoiseArray:
        """Numbers of one block after the other, each comparison exact."""
        check_sample_discrete_gaussian(key, first_block, count)
        return sample_blocks(bytes(key), first_block, count, gaussian)

    # --- elements --------------------------------------------------------------------------------------

    def _change_elements(self, name: str, ring: Ring, elements: RingArray) -> RingArray:
        rows = [
            [_CHANGES[name](row, root, p) for row, root, p in zip(element, ring.roots, ring.primes, strict=True)]
            for element in elements.tolist()
        ]
        return np.array(rows, np.uint64)

    def _transform_integers(self, ring: Ring, values: SumArray) -> RingArray:
        padded = np.zeros((len(values), ring.degree), object)
        padded[:, : values.shape[1]] = values
        residues = padded[:, np.newaxis] % np.array(ring.primes, object)[:, np.newaxis]
        return self._change_elements("ring_ntt", ring, residues.astype(np.uint64))

    def _combine_elements(self, name: str, ring: Ring, count: int, a: RingArray, b: RingArray) -> RingArray:
        shape = (count, *ring.element_shape)
        pairs = zip(np.broadcast_to(a, shape).tolist(), np.broadcast_to(b, shape).tolist(), strict=True)
        combine = _COMBINATIONS[name]
        elements = [
            [
                [combine(x, y, p) for x, y in zip(x_row, y_row, strict=True)]
                for x_row, y_row, p in zip(x_rows, y_rows, ring.primes, strict=True)
            ]
            for x_rows, y_rows in pairs
        ]
        return np.array(elements, np.uint64)

    def _sum_bins(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        sums = np.zeros((len(starts) - 1, window_count, *elements.shape[1:]), np.uint64)
        for (segment, w, group), plaintext in _sparse_plaintexts(ring, digits, window, starts).items():
            residues = [[[x % p for x in plaintext] for p in ring.primes]]
            transformed = self._change_elements("ring_ntt", ring, np.array(residues, np.uint64))
            products = self.ring_mul(ring, elements[group], transformed)
            sums[segment, w] = self.ring_add(ring, sums[segment, w], products)
        return sums

    def _sum_windows(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        degree, group_rows = ring.degree, ring.degree // window
        sums = np.zeros((len(starts) - 1, window_count, *elements.shape[1:3], window), object)
        for segment, (first, end) in enumerate(pairwise(starts.tolist())):
            for row in range(first, end):
                group, j = divmod(row, group_rows)
                coefficients = elements[group].astype(object)
                # X^N = -1: before the first coefficient stands the last, negated.
                turned = np.concatenate((-coefficients, coefficients), axis=-1)
                for digit in digits[:, row].tolist():
                    if digit >= 0:
                        w, place = divmod(digit, window)
                        start = degree + j * window - place
                        sums[segment, w] += turned[..., start : start + window]
        residues: RingArray = (sums % np.array(ring.primes, object)[:, np.newaxis]).astype(np.uint64)
        return residues

    def _drop_prime(self, ring: Ring, elements: RingArray, last: RingArray, prime: int) -> RingArray:
        primes = np.array(ring.primes, object)[:, np.newaxis]
        inverses = np.array([[pow(prime, -1, p)] for p in ring.primes], object)
        centred = (last.astype(object) + prime // 2) % prime - prime // 2
        dropped: RingArray = ((elements.astype(object) - centred[:, np.newaxis]) * inverses % primes).astype(np.uint64)
        return dropped

    def _dot(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        primes = np.array(ring.primes, object)[:, np.newaxis]
        whole = np.repeat(a, ring.degree // a.shape[-1], axis=-1).astype(object)
        rows = [sum(x * y for x, y in zip(row, b, strict=True)) % primes for row in whole]
        return np.array(rows, np.uint64)

    def _round(self, primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
        q, limit = prod(primes), WORD_LIMIT
        fractions = [(u << bits) // q for u in _integers(primes, residues.T)]
        return np.array([divmod(x, limit)[::-1] for x in fractions], np.uint64)

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
        """round((a s + e + delta m) / 2^dropped_bits) of each coefficient, written chunk by chunk."""
        check_mask_values(form, public_key, secret_ntt, error_key, first_chunk, values)
        check_slots(form, values)
        ring, chunk_count = form.ring, form.chunk_count(values.size)
        a = self.expand_uniform(ring, public_key, first_chunk, chunk_count)
        a_s = self.ring_intt(ring, self.ring_mul(ring, a, secret_ntt))
        e = self.sample_cbd(bytes(error_key), first_chunk, chunk_count, ring.degree).tolist()
        written = []
        for chunk in chunks_of(form, values.size):
            slots = [1, *values[chunk.first_value : chunk.first_value + chunk.value_count].tolist()]
            messages = join_slots(form, slots, chunk.used)
            masks = _integers(ring.primes, a_s[chunk.number])[: chunk.used]
            errors = e[chunk.number][: chunk.used]
            masked = [
                (mask + error + form.delta * m) % ring.modulus
                for mask, error, m in zip(masks, errors, messages, strict=True)
            ]
            written.append(write_fields([_round_off(x, form.dropped_bits) for x in masked], form.field_bits))
        return _byte_array(b"".join(written))

    def add_masked(self, form: MaskFormat, accumulator: RingArray, written: ByteArray, value_count: int) -> None:
        """Field by field, in place."""
        check_add_masked(form, accumulator, written, value_count)
        fields = []
        data = written.tobytes()
        for chunk in chunks_of(form, value_count):
            planes, data = read_fields(data, chunk.used, form.field_bits)
            fields += [field for plane in planes for field in plane]
        sums = [total + field for total, field in zip(accumulator.tolist(), fields, strict=True)]
        accumulator[:] = [total % WORD_LIMIT for total in sums]

    def write_sum(self, form: MaskFormat, accumulator: RingArray, value_count: int) -> ByteArray:
        """round((sum * 2^dropped_bits mod q) / 2^sum_dropped_bits) of each coefficient."""
        check_accumulator(form, accumulator, value_count)
        totals = iter(accumulator.tolist())
        written = []
        for chunk in chunks_of(form, value_count):
            planes = [list(islice(totals, chunk.used)) for _ in form.field_bits]
            sums = [(x << form.dropped_bits) % form.ring.modulus for x in join_fields(planes, form.field_bits)]
            written.append(write_fields([_round_off(x, form.sum_dropped_bits) for x in sums], form.sum_field_bits))
        return _byte_array(b"".join(written))

    def unmask_sum(
        self,
        form: MaskFormat,
        public_key: bytes,
        secret_ntt: RingArray,
        first_chunk: int,
        written: ByteArray,
        value_count: int,
    ) -> tuple[SumArray, SumArray]:
        """The nearest multiple of delta to each phase, cut into its balanced digits."""
        check_unmask_sum(form, public_key, secret_ntt, first_chunk, written, value_count)
        ring, chunk_count, delta = form.ring, form.chunk_count(value_count), form.delta
        a = self.expand_uniform(ring, public_key, first_chunk, chunk_count)
        a_s = self.ring_intt(ring, self.ring_mul(ring, a, secret_ntt))
        values, counts = [], []
        data = written.tobytes()
        for chunk in chunks_of(form, value_count):
            planes, data = read_fields(data, chunk.used, form.sum_field_bits)
            sums = [x << form.sum_dropped_bits for x in join_fields(planes, form.sum_field_bits)]
            masks = _integers(ring.primes, a_s[chunk.number])[: chunk.used]
            phases = [_centred(x - mask, ring.modulus) for x, mask in zip(sums, masks, strict=True)]
            slots = split_slots(form, [(2 * phase + delta) // (2 * delta) for phase in phases])
            counts.append(slots[0])
            values += slots[1 : 1 + chunk.value_count]
            if any(slots[1 + chunk.value_count :]):
                raise refuse_opened()
        return np.array(values, np.int64), np.array(counts, np.int64)


def _sparse_plaintexts(
    ring: Ring, digits: DigitArray, window: int, starts: StartArray
) -> dict[tuple[int, int, int], list[int]]:
    """The coefficients of every P of `ring_bin_sums` that is not zero everywhere, by (segment, window, group)."""
    degree, group_rows = ring.degree, ring.degree // window
    plaintexts: dict[tuple[int, int, int], list[int]] = {}
    for segment, (first, end) in enumerate(pairwise(starts.tolist())):
        for row in range(first, end):
            group, j = divmod(row, group_rows)
            for digit in digits[:, row].tolist():
                if digit >= 0:
                    w, place = divmod(digit, window)
                    coefficients = plaintexts.setdefault((segment, w, group), [0] * degree)
                    # X^N = -1.
                    turns, exponent = divmod(place - j * window, degree)
                    coefficients[exponent] += (-1) ** turns
    return plaintexts


def _nonce(stream: int, chunk: int) -> bytes:
    return stream.to_bytes(4, "little") + chunk.to_bytes(8, "little")


def _integers(primes: tuple[int, ...], rows: RingArray) -> list[int]:
    """Integers in [0, q), from their residues mod the primes, one row a prime (Chinese remainders)."""
    q = prod(primes)
    weights = [q // p * pow(q // p, -1, p) for p in primes]
    return [sum(w * r for w, r in zip(weights, residues, strict=True)) % q for residues in rows.T.tolist()]


def _centred(x: int, q: int) -> int:
    """x mod q in (-q/2, q/2], for odd q."""
    return (x + q // 2) % q - q // 2


def _round_off(x: int, bits: int) -> int:
    """x / 2^bits to the nearest, halves up."""
    return x + (1 << bits >> 1) >> bits


def _byte_array(data: bytes) -> ByteArray:
    return np.frombuffer(bytearray(data), np.uint8)
