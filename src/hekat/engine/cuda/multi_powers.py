"""Products of powers of many residues on a device: X^T @ [d] of vertical regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hekat.engine.checks import check_multi_exp, check_own, check_sparse_multi_exp, refuse_not_invertible
from hekat.engine.cuda.device import DeviceArray, words_of
from hekat.engine.cuda.products import FULL_GROUPS, CudaProducts, cut_lines
from hekat.engine.interface import BoolArray, IndexArray, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, limbs_from_ints, read_from_bit
from hekat.engine.reduction_groups import groups_of_members, offsets_of, renumber, segment_groups
from hekat.engine.sparse_exponents import SparseExponents
from hekat.errors import InputError

# Entries of a result that share the squarings of one group.
LEAST_SHARED = 32
MAX_WINDOW_BITS = 6
MAX_BUCKET_BITS = 12
# A square of pairs takes four products of the root's size, a product five.
SQUARE_COST = 0.8


class MultiExpPlan(NamedTuple):
    """How to compute products of powers: digits of `window_bits`, exponents of `bits`, and the products needed."""

    bits: int
    window_bits: int
    by_buckets: bool
    products: float

    @property
    def digit_count(self) -> int:
        return -(-self.bits // self.window_bits)


class CudaMultiPowers(CudaProducts):
    """`mod_multi_exp`."""

    def mod_multi_exp(
        self, a: ResidueArray, exponents: LimbArray | SparseExponents, negative: BoolArray | None = None
    ) -> ResidueArray:
        """The (m,) products over i of a_i^(+-E_ij); a row with a minus sign needs an invertible a_i (InputError)."""
        check_own(self._self, a)
        if isinstance(exponents, SparseExponents):
            check_sparse_multi_exp(a, exponents, negative)
            sparse = exponents
        else:
            # The plan is made on the host, from the exponents' digits.
            limbs: LimbArray = self.to_host(exponents)
            sparse = _as_sparse(limbs, *check_multi_exp(a, limbs, negative), negative)
        rows, bases = self._rows(a), sparse.bases
        if sparse.negative is not None and sparse.negative.any():
            # The inverses of bases with a minus sign somewhere stand behind the bases.
            inverted, places = renumber(bases[sparse.negative], len(rows))
            try:
                inverses = self.mod_inv(self.take(a, inverted))
            except InputError as error:
                if error.index is None:
                    raise
                raise refuse_not_invertible(int(inverted[error.index]), a.shape) from error
            bases = bases.copy()
            bases[sparse.negative] = len(rows) + places
            rows = self._join([rows, self._rows(inverses)])
        out = self._multiply_powers(a.modulus, rows, bases, sparse.limbs, sparse.offsets)
        return self._residues(a.modulus, (sparse.result_count,), out)

    def _multiply_powers(
        self, modulus: Modulus, rows: DeviceArray, bases: IndexArray, limbs: LimbArray, offsets: IndexArray
    ) -> DeviceArray:
        """For each i the product of rows[bases[k]]^limbs[k] for k from offsets[i] to offsets[i + 1] - 1."""
        if not bases.size:
            return self._product_lines(modulus, rows, bases, offsets)
        used, _ = renumber(bases, len(rows))
        plan = plan_multi_exp(self._longest_bits(limbs), used.size, bases.size, offsets.size - 1)
        if plan.by_buckets:
            return self._fill_buckets(modulus, rows, bases, limbs, offsets, plan)
        return self._share_squarings(modulus, rows, bases, limbs, offsets, plan)

    def _fill_buckets(
        self,
        modulus: Modulus,
        rows: DeviceArray,
        bases: IndexArray,
        limbs: LimbArray,
        offsets: IndexArray,
        plan: MultiExpPlan,
    ) -> DeviceArray:
        """By buckets: multiplies bases with equal digits first, then raises each product to its digit.

        Source: Pippenger 1976.
        """
        result_count, window = offsets.size - 1, plan.window_bits
        result_of = groups_of_members(offsets)
        members, lines = [], []
        for i in range(plan.digit_count):
            own = read_digits(limbs, i * window, window)
            filled = np.flatnonzero(own)
            members.append(bases[filled])
            lines.append(((result_of[filled] * plan.digit_count + i) << window) + own[filled])
        order, ends = segment_groups(np.concatenate(lines), result_count * plan.digit_count << window)
        buckets = self._product_lines(modulus, rows, np.concatenate(members)[order], ends)
        # Each bucket to the power of its digit, then each digit's product to the power of its place.
        digits = np.tile(np.arange(1 << window, dtype=np.uint64), result_count * plan.digit_count)
        by_digit = self._raise_all(modulus, buckets, digits[:, np.newaxis], 1 << window)
        places = limbs_from_ints([1 << window * i for i in range(plan.digit_count)], limbs.shape[-1])
        return self._raise_all(modulus, by_digit, np.tile(places, (result_count, 1)), plan.digit_count)

    def _raise_all(self, modulus: Modulus, rows: DeviceArray, limbs: LimbArray, line: int) -> DeviceArray:
        """The products of rows[k]^limbs[k]; each run of `line` of them makes one result."""
        bases = np.arange(len(limbs), dtype=np.int64)
        offsets = np.arange(len(limbs) // line + 1, dtype=np.int64) * line
        plan = plan_shared_squarings(self._longest_bits(limbs), bases.size, bases.size, offsets.size - 1)
        return self._share_squarings(modulus, rows, bases, limbs, offsets, plan)

    def _share_squarings(
        self,
        modulus: Modulus,
        rows: DeviceArray,
        bases: IndexArray,
        limbs: LimbArray,
        offsets: IndexArray,
        plan: MultiExpPlan,
    ) -> DeviceArray:
        """From tables of the bases' small powers; all bases of a result share its squarings. Source: Straus 1964."""
        used, bases = renumber(bases, len(rows))
        window = plan.window_bits
        # The tables of all used bases, side by side: as many bases at once as scratch holds.
        at_once = max(1, self._table_memory.scratch_bytes // (4 * self._layout(modulus).row_words << window))
        if used.size > at_once:
            return self._share_in_parts(modulus, rows, used[bases], limbs, offsets, plan, at_once)
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
            upload(bases),
            upload(words),
            words.shape[-1],
            plan.bits,
            upload(cut),
            len(out),
        )
        if parts is None:
            return out
        return self._product_lines(modulus, out, np.arange(len(out), dtype=np.int64), parts)

    def _share_in_parts(
        self,
        modulus: Modulus,
        rows: DeviceArray,
        bases: IndexArray,
        limbs: LimbArray,
        offsets: IndexArray,
        plan: MultiExpPlan,
        at_once: int,
    ) -> DeviceArray:
        """As `_share_squarings`, over at most `at_once` bases at a time."""
        result_of = groups_of_members(offsets)
        used, _ = renumber(bases, len(rows))
        products = []
        for start in range(0, used.size, at_once):
            some = used[start : start + at_once]
            chosen = np.flatnonzero((bases >= some[0]) & (bases <= some[-1]))
            part = offsets_of(np.bincount(result_of[chosen], minlength=offsets.size - 1))
            products.append(self._share_squarings(modulus, rows, bases[chosen], limbs[chosen], part, plan))
        count = offsets.size - 1
        members = np.arange(len(products) * count, dtype=np.int64).reshape(len(products), count).T.ravel()
        ends = np.arange(count + 1, dtype=np.int64) * len(products)
        return self._product_lines(modulus, self._join(products), members, ends)


def plan_multi_exp(bits: int, base_count: int, entry_count: int, result_count: int) -> MultiExpPlan:
    """The plan of fewest products for `entry_count` powers of `base_count` bases in `result_count` results."""
    plans = [plan_shared_squarings(bits, base_count, entry_count, result_count)]
    for window in range(2, min(bits, MAX_BUCKET_BITS) + 1):
        bucket_count = result_count * -(-bits // window) << window
        raising = plan_shared_squarings(window, bucket_count, bucket_count, bucket_count >> window).products
        products = entry_count * -(-bits // window) + raising + SQUARE_COST * bits * result_count
        plans.append(MultiExpPlan(bits, window, True, products))
    return min(plans, key=lambda plan: plan.products)


def plan_shared_squarings(bits: int, base_count: int, entry_count: int, result_count: int) -> MultiExpPlan:
    """The plan with shared squarings: rows of powers for each base, and a product for each digit of each entry."""
    groups = max(result_count, entry_count // LEAST_SHARED)
    return min(
        (
            MultiExpPlan(
                bits,
                window,
                False,
                (base_count << window) + entry_count * -(-bits // window) + SQUARE_COST * bits * groups,
            )
            for window in range(1, MAX_WINDOW_BITS + 1)
        ),
        key=lambda plan: plan.products,
    )


def read_digits(limbs: LimbArray, first_bit: int, bits: int) -> IndexArray:
    """Bits [first_bit, first_bit + bits) of integers (count, limbs), bits below 32; bits beyond the limbs are 0."""
    return (read_from_bit(limbs, first_bit) & np.uint64((1 << bits) - 1)).astype(np.int64)


def _as_sparse(exponents: LimbArray, k: int, m: int, negative: BoolArray | None) -> SparseExponents:
    """Dense exponents (k, m, limbs) result by result."""
    limbs = np.ascontiguousarray(exponents.transpose(1, 0, 2)).reshape(m * k, exponents.shape[-1])
    bases = np.tile(np.arange(k, dtype=np.int64), m)
    offsets = np.arange(m + 1, dtype=np.int64) * k
    signs = None if negative is None else np.ascontiguousarray(negative.T).ravel()
    return SparseExponents(limbs, bases, offsets, signs)
