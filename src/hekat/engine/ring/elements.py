"""The operations on ring elements: checks and shapes for all engines, around each engine's work on flat arrays."""

from __future__ import annotations

from math import prod

import numpy as np

from hekat.engine.checks import Shape
from hekat.engine.ring.checks import (
    check_add_zeros,
    check_bin_sums,
    check_dot,
    check_drop_prime,
    check_elements,
    check_first_products,
    check_integers,
    check_operands,
    check_refresh,
    check_round,
)
from hekat.engine.ring.fractions import floor_fractions
from hekat.engine.ring.interface import DigitArray, RingArray, SmallArray, StartArray, SumArray
from hekat.engine.ring.parameters import Ring


class RingElements:
    """`ring_ntt` to `ring_round` of an engine that supplies the work: what raises NotImplementedError."""

    def ring_ntt(self, ring: Ring, a: RingArray) -> RingArray:
        """Values at the odd powers of psi, in bit-reversed order."""
        return self._changed("ring_ntt", ring, a)

    def ring_ntt_integers(self, ring: Ring, values: SumArray) -> RingArray:
        """Transformed elements of polynomials of integers, the first coefficients given."""
        check_integers(ring, values)
        shape = (*values.shape[:-1], *ring.element_shape)
        if not prod(shape):
            return np.empty(shape, np.uint64)
        return self._transform_integers(ring, np.ascontiguousarray(values.reshape(-1, values.shape[-1]))).reshape(shape)

    def _transform_integers(self, ring: Ring, values: SumArray) -> RingArray:
        """`ring_ntt_integers` of contiguous values (count, M), count at least 1."""
        raise NotImplementedError

    def ring_intt(self, ring: Ring, a: RingArray) -> RingArray:
        """The inverse of `ring_ntt`."""
        return self._changed("ring_intt", ring, a)

    def ring_add(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """Sum, shapes broadcast."""
        return self._combined("ring_add", ring, a, b)

    def ring_sub(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """Difference, shapes broadcast."""
        return self._combined("ring_sub", ring, a, b)

    def ring_mul(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """Slot by slot product, shapes broadcast."""
        return self._combined("ring_mul", ring, a, b)

    def ring_bin_sums(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        """Sums of elements times sparse plaintexts, by segment and window."""
        check_bin_sums(ring, elements, digits, window, window_count, starts)
        group_count, components = elements.shape[:2]
        shape = (len(starts) - 1, window_count, components, *ring.element_shape)
        if not prod(shape) or not digits.size:
            return np.zeros(shape, np.uint64)
        flat = flat_elements(ring, elements).reshape(group_count, *shape[2:])
        ordered = np.ascontiguousarray(digits), window, window_count, np.ascontiguousarray(starts)
        return self._sum_bins(ring, flat, *ordered)

    def _sum_bins(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        """`ring_bin_sums` of checked, contiguous arrays that leave neither rows nor results out."""
        raise NotImplementedError

    def ring_window_sums(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        """The first coefficients of sums of elements times sparse plaintexts, by segment and window."""
        check_bin_sums(ring, elements, digits, window, window_count, starts)
        shape = (len(starts) - 1, window_count, elements.shape[1], len(ring.primes), window)
        if not prod(shape) or not digits.size:
            return np.zeros(shape, np.uint64)
        ordered = np.ascontiguousarray(digits), window, window_count, np.ascontiguousarray(starts)
        return self._sum_windows(ring, np.ascontiguousarray(elements), *ordered)

    def _sum_windows(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        """`ring_window_sums` of checked, contiguous arrays that leave nothing out, by the single operations."""
        sums = self.ring_bin_sums(ring, self.ring_ntt(ring, elements), digits, window, window_count, starts)
        return np.ascontiguousarray(self.ring_intt(ring, sums)[..., :window])

    def ring_first_products(self, ring: Ring, a: RingArray, b: RingArray, window: int) -> RingArray:
        """The first coefficients of all products of two lists of elements."""
        check_first_products(ring, a, b, window)
        shape = (len(a), len(b), len(ring.primes), window)
        if not prod(shape):
            return np.empty(shape, np.uint64)
        return self._first_products(ring, np.ascontiguousarray(a), np.ascontiguousarray(b), window)

    def _first_products(self, ring: Ring, a: RingArray, b: RingArray, window: int) -> RingArray:
        """`ring_first_products` of checked, contiguous arrays that leave nothing out, by the single operations."""
        products = self.ring_intt(ring, self.ring_mul(ring, a[:, np.newaxis], b))
        return np.ascontiguousarray(products[..., :window])

    def ring_add_zeros(
        self, ring: Ring, elements: RingArray, windows: RingArray, small: SmallArray, pair: RingArray
    ) -> tuple[RingArray, RingArray]:
        """Both halves of sums plus encryptions of zero, as coefficients."""
        check_add_zeros(ring, elements, windows, small, pair)
        if not len(elements):
            return np.empty(elements.shape, np.uint64), np.empty(windows.shape, np.uint64)
        return self._add_zeros(ring, *map(np.ascontiguousarray, (elements, windows, small, pair)))

    def _add_zeros(
        self, ring: Ring, elements: RingArray, windows: RingArray, small: SmallArray, pair: RingArray
    ) -> tuple[RingArray, RingArray]:
        """`ring_add_zeros` of checked, contiguous arrays of one answer or more, by the single operations."""
        residues = _residues_of_small(ring, small)
        zeros = self.ring_mul(ring, self.ring_ntt(ring, residues[:, :1]), pair)
        zeros[:, 0] = self.ring_add(ring, zeros[:, 0], elements)
        zeros = self.ring_intt(ring, zeros)
        first = np.zeros((*windows.shape[:2], *ring.element_shape), np.uint64)
        first[..., : windows.shape[-1]] = windows
        sums = self.ring_add(ring, first, zeros[:, 1:])[..., : windows.shape[-1]]
        return self.ring_add(ring, zeros[:, 0], residues[:, 1]), np.ascontiguousarray(sums)

    def ring_refresh(self, ring: Ring, elements: RingArray, small: SmallArray, pair: RingArray) -> RingArray:
        """Ciphertexts plus encryptions of zero, as coefficients."""
        check_refresh(ring, elements, small, pair)
        if not len(elements):
            return np.empty(elements.shape, np.uint64)
        return self._refresh(ring, *map(np.ascontiguousarray, (elements, small, pair)))

    def _refresh(self, ring: Ring, elements: RingArray, small: SmallArray, pair: RingArray) -> RingArray:
        """`ring_refresh` of checked, contiguous arrays of one ciphertext or more, by the single operations."""
        residues = _residues_of_small(ring, small)
        zeros = self.ring_mul(ring, self.ring_ntt(ring, residues[:, :1]), pair)
        sums = self.ring_intt(ring, self.ring_add(ring, elements, zeros))
        return self.ring_add(ring, sums, residues[:, 1:])

    def ring_drop_prime(self, ring: Ring, elements: RingArray, last: RingArray, prime: int) -> RingArray:
        """The nearest integers to numbers over one of their primes."""
        check_drop_prime(ring, elements, last, prime)
        if not elements.size:
            return np.empty(elements.shape, np.uint64)
        rows = np.ascontiguousarray(last).reshape(-1, ring.degree)
        return self._drop_prime(ring, flat_elements(ring, elements), rows, prime).reshape(elements.shape)

    def _drop_prime(self, ring: Ring, elements: RingArray, last: RingArray, prime: int) -> RingArray:
        """`ring_drop_prime` of checked, contiguous arrays (count, primes, N) and (count, N), count at least 1."""
        raise NotImplementedError

    def ring_dot(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """The matrix product of elements, slot by slot."""
        row_count, _, column_count = check_dot(ring, a, b)
        if not row_count * column_count:
            return np.empty((row_count, column_count, *ring.element_shape), np.uint64)
        return self._dot(ring, np.ascontiguousarray(a), np.ascontiguousarray(b))

    def _dot(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """`ring_dot` of checked, contiguous arrays that leave nothing out."""
        raise NotImplementedError

    def ring_round(self, primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
        """Numbers known by their residues, as fractions of their modulus."""
        check_round(primes, residues, bits)
        if not len(residues):
            return np.empty((0, 2), np.uint64)
        return self._round(primes, np.ascontiguousarray(residues), bits)

    def _round(self, primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
        """`ring_round` of checked, contiguous residues of one number or more, with NumPy."""
        return floor_fractions(primes, residues, bits)

    def _change_elements(self, name: str, ring: Ring, elements: RingArray) -> RingArray:
        """The operation `name` on every one of the elements (count, primes, N), count at least 1."""
        raise NotImplementedError

    def _combine_elements(self, name: str, ring: Ring, count: int, a: RingArray, b: RingArray) -> RingArray:
        """The operation `name` on pairs of elements, (count, primes, N), count at least 1.

        Each operand has `count` elements, or one element that serves all.
        """
        raise NotImplementedError

    def _changed(self, name: str, ring: Ring, a: RingArray) -> RingArray:
        if not prod(check_elements(ring, a)):
            return np.empty(a.shape, np.uint64)
        return self._change_elements(name, ring, flat_elements(ring, a)).reshape(a.shape)

    def _combined(self, name: str, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        shape = check_operands(ring, a, b)
        result_shape = (*shape, *ring.element_shape)
        if not prod(shape):
            return np.empty(result_shape, np.uint64)
        x, y = _items(ring, a, shape), _items(ring, b, shape)
        return self._combine_elements(name, ring, prod(shape), x, y).reshape(result_shape)


def flat_elements(ring: Ring, a: RingArray) -> RingArray:
    """The same elements as a contiguous (count, primes, N) array; a view wherever `a` is contiguous already."""
    return np.ascontiguousarray(a).reshape(prod(a.shape[:-2]), *ring.element_shape)


def _residues_of_small(ring: Ring, small: SmallArray) -> RingArray:
    """Small numbers (..., N) as coefficients (..., primes, N)."""
    signed = small.astype(np.int64)[..., np.newaxis, :]
    # The sign spread over the word picks the prime or nothing.
    return (signed + ((signed >> 63) & np.array(ring.primes, np.int64)[:, np.newaxis])).view(np.uint64)


def _items(ring: Ring, a: RingArray, shape: Shape) -> RingArray:
    """`a` broadcast to leading `shape` as (count, primes, N); a single element stays one."""
    if prod(a.shape[:-2]) == 1:
        return flat_elements(ring, a)
    return flat_elements(ring, np.broadcast_to(a, (*shape, *ring.element_shape)))
