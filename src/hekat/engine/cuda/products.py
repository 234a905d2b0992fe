"""Products of many residues on a device: along axes, by segment, and of powers."""

from __future__ import annotations

from math import prod

import numpy as np

from hekat.engine.checks import (
    check_axis,
    check_multi_exp,
    check_own,
    check_segments,
    check_sparse_multi_exp,
)
from hekat.engine.cuda.device import DeviceArray, words_of
from hekat.engine.cuda.powers import CudaPowers
from hekat.engine.interface import BoolArray, IndexArray, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.sparse_exponents import SparseExponents
from hekat.errors import InputError

# Groups that fill a large GPU with work, about: 132 multiprocessors, 12 warps each, 8 groups a warp.
FULL_GROUPS = 1 << 14
# Members of a line that one group multiplies through before lines are cut further.
LEAST_LINE = 4
# Entries of a product of powers that share the squarings of one group.
LEAST_SHARED = 32
MAX_MULTI_EXP_WINDOW_BITS = 6


class CudaProducts(CudaPowers):
    """`mod_product`, `mod_segment_product`, `mod_multi_exp`."""

    def mod_product(self, a: ResidueArray, axis: int = 0) -> ResidueArray:
        """Product along one axis; the empty product is 1."""
        check_own(self._self, a)
        axis = check_axis(a, axis)
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        members = np.moveaxis(np.arange(a.size, dtype=np.int64).reshape(a.shape), axis, -1).ravel()
        offsets = np.arange(prod(shape) + 1, dtype=np.int64) * a.shape[axis]
        return self._residues(a.modulus, shape, self._product_lines(a.modulus, self._rows(a), members, offsets))

    def mod_segment_product(self, a: ResidueArray, segments: IndexArray, segment_count: int) -> ResidueArray:
        """The (segment_count,) products of each segment's residues; an empty segment is 1."""
        check_own(self._self, a)
        check_segments(a, segments, segment_count)
        # In as few bits as hold the segments: NumPy sorts 8 and 16 by radix.
        members = np.argsort(segments.astype(np.min_scalar_type(max(segment_count - 1, 0))), kind="stable")
        offsets = np.zeros(segment_count + 1, np.int64)
        np.cumsum(np.bincount(segments, minlength=segment_count), out=offsets[1:])
        rows = self._product_lines(a.modulus, self._rows(a), members, offsets)
        return self._residues(a.modulus, (segment_count,), rows)

    def _product_lines(
        self, modulus: Modulus, rows: DeviceArray, members: IndexArray, offsets: IndexArray
    ) -> DeviceArray:
        """The product of rows[members[k]] for k from offsets[i] to offsets[i + 1] - 1, for each i.

        Long lines are cut into parts for as many groups as the device takes at once, and their products multiplied
        the same way.
        """
        while True:
            longest = max(LEAST_LINE, -(-members.size // FULL_GROUPS))
            cut, parts = cut_lines(offsets, longest)
            out = self._empty_rows(modulus, cut.size - 1)
            upload = self._device.upload
            self._run(
                "product_lines/product_lines", modulus, len(out), out, rows, upload(members), upload(cut), len(out)
            )
            if parts is None:
                return out
            rows, members, offsets = out, np.arange(len(out), dtype=np.int64), parts

    def mod_multi_exp(
        self, a: ResidueArray, exponents: LimbArray | SparseExponents, negative: BoolArray | None = None
    ) -> ResidueArray:
        """The (m,) products over i of a_i^(+-E_ij); a row with a minus sign needs an invertible a_i (InputError)."""
        check_own(self._self, a)
        if isinstance(exponents, SparseExponents):
            check_sparse_multi_exp(a, exponents, negative)
            sparse = exponents
        else:
            sparse = _as_sparse(exponents, *check_multi_exp(a, exponents, negative), negative)
        rows, bases = self._rows(a), sparse.bases
        if sparse.negative is not None and sparse.negative.any():
            # Inverses of those that have a minus sign somewhere stand behind the bases.
            inverted = np.unique(bases[sparse.negative])
            try:
                inverses = self.mod_inv(self.take(a, inverted))
            except InputError as error:
                raise self._name_not_invertible(a, inverted) from error
            bases = np.where(sparse.negative, len(rows) + np.searchsorted(inverted, bases), bases)
            rows = self._join([rows, self._rows(inverses)])
        out = self._multiply_powers(a.modulus, rows, bases, sparse.limbs, sparse.offsets)
        return self._residues(a.modulus, (sparse.result_count,), out)

    def _multiply_powers(
        self, modulus: Modulus, rows: DeviceArray, bases: IndexArray, limbs: LimbArray, offsets: IndexArray
    ) -> DeviceArray:
        """For each i the product of rows[bases[k]]^limbs[k] for k from offsets[i] to offsets[i + 1] - 1."""
        if not bases.size:
            return self._product_lines(modulus, rows, bases, offsets)
        used, bases = np.unique(bases, return_inverse=True)
        bits = self._longest_bits(limbs)
        window = choose_multi_exp_window(bits, used.size, bases.size)
        # The tables of all bases that are used, side by side: as many bases at once as scratch holds.
        at_once = max(1, self._table_memory.scratch_bytes // (4 * self._layout(modulus).row_words << window))
        if used.size > at_once:
            return self._multiply_powers_in_parts(modulus, rows, used[bases], limbs, offsets, at_once)
        powers = self._empty_rows(modulus, used.size << window)
        chosen = self._empty_rows(modulus, used.size)
        upload = self._device.upload
        with self._device.active():
            self._device.xp.take(rows, upload(used), axis=0, out=chosen)
        self._run("multi_exp/small_powers", modulus, used.size, powers, chosen, window, used.size)
        cut, parts = cut_lines(offsets, max(LEAST_SHARED, -(-bases.size // FULL_GROUPS)))
        out = self._empty_rows(modulus, cut.size - 1)
        words = words_of(np.ascontiguousarray(limbs))
        self._run(
            "multi_exp/multi_exp",
            modulus,
            len(out),
            out,
            powers,
            window,
            upload(bases.astype(np.int64)),
            upload(words),
            words.shape[-1],
            bits,
            upload(cut),
            len(out),
        )
        if parts is None:
            return out
        return self._product_lines(modulus, out, np.arange(len(out), dtype=np.int64), parts)

    def _multiply_powers_in_parts(
        self,
        modulus: Modulus,
        rows: DeviceArray,
        bases: IndexArray,
        limbs: LimbArray,
        offsets: IndexArray,
        at_once: int,
    ) -> DeviceArray:
        """The same, over at most `at_once` bases after the other."""
        result_of = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        used = np.unique(bases)
        products = []
        for start in range(0, used.size, at_once):
            some = used[start : start + at_once]
            chosen = np.flatnonzero((bases >= some[0]) & (bases <= some[-1]))
            part = np.zeros_like(offsets)
            np.cumsum(np.bincount(result_of[chosen], minlength=offsets.size - 1), out=part[1:])
            products.append(self._multiply_powers(modulus, rows, bases[chosen], limbs[chosen], part))
        count = offsets.size - 1
        members = np.arange(len(products) * count, dtype=np.int64).reshape(len(products), count).T.ravel()
        ends = np.arange(count + 1, dtype=np.int64) * len(products)
        return self._product_lines(modulus, self._join(products), members, ends)


def cut_lines(offsets: IndexArray, longest: int) -> tuple[IndexArray, IndexArray | None]:
    """Lines cut into parts of at most `longest`: the parts' offsets, and each line's parts; None where none is cut.

    An empty line stays one empty part.
    """
    lengths = np.diff(offsets)
    counts = np.maximum(1, -(-lengths // longest))
    if (counts == 1).all():
        return offsets, None
    parts = np.zeros_like(offsets)
    np.cumsum(counts, out=parts[1:])
    line_of = np.repeat(np.arange(lengths.size), counts)
    number = np.arange(parts[-1]) - parts[line_of]
    starts = offsets[line_of] + number * longest
    return np.append(starts, offsets[-1]), parts


def choose_multi_exp_window(bits: int, base_count: int, entry_count: int) -> int:
    """The window with the fewest products: rows of powers for each base, a product for each digit of each entry."""
    return min(
        range(1, MAX_MULTI_EXP_WINDOW_BITS + 1),
        key=lambda window: (base_count << window) + entry_count * -(-bits // window),
    )


def _as_sparse(exponents: LimbArray, k: int, m: int, negative: BoolArray | None) -> SparseExponents:
    """Dense exponents (k, m, limbs) result by result."""
    limbs = np.ascontiguousarray(exponents.transpose(1, 0, 2)).reshape(m * k, exponents.shape[-1])
    bases = np.tile(np.arange(k, dtype=np.int64), m)
    offsets = np.arange(m + 1, dtype=np.int64) * k
    signs = None if negative is None else np.ascontiguousarray(negative.T).ravel()
    return SparseExponents(limbs, bases, offsets, signs)
