"""The specification: every engine operation in Python integers, slow and obvious."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd, prod

import numpy as np

from hekat.engine.checks import (
    Shape,
    broadcast_shape,
    check_axis,
    check_concatenate,
    check_indices,
    check_limbs,
    check_load,
    check_multi_exp,
    check_one_plus,
    check_own,
    check_own_table,
    check_reduce,
    check_reshape,
    check_segments,
    check_sparse_multi_exp,
    check_table,
    refuse_not_below_modulus,
    refuse_not_below_root,
    refuse_not_invertible,
    refuse_wide_exponent,
    refuse_zero_divisor,
)
from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.host_memory import HostMemory
from hekat.engine.interface import (
    BoolArray,
    FixedBaseTable,
    IndexArray,
    Modulus,
    ResidueArray,
    check_same_modulus,
)
from hekat.engine.limbs import LIMB_BYTES, LimbArray, ints_from_limbs, limbs_from_ints
from hekat.engine.random_limbs import HostRandom
from hekat.engine.ring.reference import ReferenceRing
from hekat.engine.sparse_exponents import SparseExponents

DEFAULT_WINDOW_BITS = 4


class ReferenceEngine(ReferenceRing, HostMemory, HostRandom):
    """Implements `hekat.engine.interface.Engine`; a ResidueArray's data is the flat list of its ints in C order.

    Python integers are not constant-time, so this engine is only for tests and for checking other engines.
    """

    def __init__(self, *, single_tenant: bool = False) -> None:
        self._single_tenant = single_tenant

    @property
    def name(self) -> str:
        return "reference"

    @property
    def single_tenant(self) -> bool:
        return self._single_tenant

    @property
    def chunk_plan(self) -> ChunkPlan:
        """One chunk after the other: Python runs one at a time."""
        return ChunkPlan()

    def describe(self) -> dict[str, str]:
        """What is active and why, for `hekat doctor`."""
        return {"arithmetic": "Python integers", "constant time": "no", "threads": "1"}

    def __repr__(self) -> str:
        return "ReferenceEngine()"

    # --- host <-> engine -------------------------------------------------------------------------------

    def load(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= modulus.limb_count, each value < modulus (InputError otherwise)."""
        shape = check_load(limbs, modulus)
        values = ints_from_limbs(limbs)
        for index, value in enumerate(values):
            if value >= modulus.value:
                raise refuse_not_below_modulus(index, shape, modulus)
        return ResidueArray(self, modulus, shape, values)

    def reduce(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= 2 * modulus.limb_count, reduced mod `modulus`."""
        shape = check_reduce(limbs, modulus)
        return ResidueArray(self, modulus, shape, [value % modulus.value for value in ints_from_limbs(limbs)])

    def store(self, a: ResidueArray) -> LimbArray:
        """The residues as canonical limbs, shape a.shape + (modulus.limb_count,)."""
        check_own(self, a)
        return _limbs(a.data, a.shape, a.modulus.limb_count)

    # --- shape -----------------------------------------------------------------------------------------

    def take(self, a: ResidueArray, indices: IndexArray) -> ResidueArray:
        """The residues at flat `indices`, in the shape of `indices`."""
        check_own(self, a)
        check_indices(indices, a.size)
        return ResidueArray(self, a.modulus, indices.shape, [a.data[i] for i in indices.ravel()])

    def reshape(self, a: ResidueArray, shape: tuple[int, ...]) -> ResidueArray:
        """The same residues under another shape of equal size."""
        check_own(self, a)
        return ResidueArray(self, a.modulus, check_reshape(a, shape), a.data)

    def concatenate(self, arrays: Sequence[ResidueArray]) -> ResidueArray:
        """Joined along the first axis."""
        shape = check_concatenate(self, arrays)
        return ResidueArray(self, arrays[0].modulus, shape, [value for array in arrays for value in array.data])

    # --- modular ---------------------------------------------------------------------------------------

    def mod_mul(self, a: ResidueArray, b: ResidueArray) -> ResidueArray:
        """Element-wise product, shapes broadcast."""
        check_own(self, a)
        check_own(self, b)
        check_same_modulus(a, b)
        shape, left, right = _broadcast(a.data, a.shape, b.data, b.shape)
        n = a.modulus.value
        return ResidueArray(self, a.modulus, shape, [x * y % n for x, y in zip(left, right, strict=True)])

    def mod_mul_one_plus(self, a: ResidueArray, values: LimbArray) -> ResidueArray:
        """Element-wise a (1 + v root), shapes broadcast."""
        check_own(self, a)
        _, root_limbs = check_one_plus(a, values)
        (root,) = ints_from_limbs(root_limbs)
        shape, left, right = _broadcast(a.data, a.shape, ints_from_limbs(values), values.shape[:-1])
        for index, value in enumerate(right):
            if value >= root:
                raise refuse_not_below_root(index, shape, a.modulus)
        n = a.modulus.value
        products = [x * (1 + y * root) % n for x, y in zip(left, right, strict=True)]
        return ResidueArray(self, a.modulus, shape, products)

    def mod_exp(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """Element-wise power a^e, shapes broadcast; 0^0 = 1."""
        check_own(self, a)
        e_shape = check_limbs(exponents, "exponents")
        shape, bases, powers = _broadcast(a.data, a.shape, ints_from_limbs(exponents), e_shape)
        n = a.modulus.value
        return ResidueArray(self, a.modulus, shape, [pow(x, e, n) for x, e in zip(bases, powers, strict=True)])

    def mod_exp_vartime(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """The same power; only the time an engine may take differs."""
        return self.mod_exp(a, exponents)

    def fixed_base_table(
        self,
        base: LimbArray,
        modulus: Modulus,
        exponent_bits: int,
        window_bits: int | None = None,
        *,
        uses: int | None = None,
        constant_time: bool = True,
    ) -> FixedBaseTable:
        """Entry (i, j) is base^(j * 2^(window_bits * i)) mod modulus, as rows of ints."""
        check_table(base, modulus, exponent_bits, window_bits, uses)
        window = DEFAULT_WINDOW_BITS if window_bits is None else window_bits
        value = self.load(base, modulus).data[0]
        rows = []
        for _ in range(-(-exponent_bits // window)):
            row = [1]
            for _ in range((1 << window) - 1):
                row.append(row[-1] * value % modulus.value)
            rows.append(row)
            value = row[-1] * value % modulus.value
        size_bytes = sum(map(len, rows)) * modulus.limb_count * LIMB_BYTES
        return FixedBaseTable(self, modulus, exponent_bits, window, rows, size_bytes, constant_time)

    def mod_exp_fixed(self, table: FixedBaseTable, exponents: LimbArray) -> ResidueArray:
        """base^e for exponents below 2^table.exponent_bits (InputError otherwise)."""
        check_own_table(self, table)
        shape = check_limbs(exponents, "exponents")
        n, window = table.modulus.value, table.window_bits
        mask = (1 << window) - 1
        results = []
        for index, exponent in enumerate(ints_from_limbs(exponents)):
            if exponent.bit_length() > table.exponent_bits:
                raise refuse_wide_exponent(index, shape, table)
            result = 1
            for i, row in enumerate(table.data):
                result = result * row[exponent >> (window * i) & mask] % n
            results.append(result)
        return ResidueArray(self, table.modulus, shape, results)

    def mod_product(self, a: ResidueArray, axis: int = 0) -> ResidueArray:
        """Product along one axis; the empty product is 1."""
        check_own(self, a)
        axis = check_axis(a, axis)
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        lines = np.moveaxis(np.arange(a.size).reshape(a.shape), axis, -1).reshape(prod(shape), a.shape[axis])
        n = a.modulus.value
        return ResidueArray(self, a.modulus, shape, [_product([a.data[i] for i in line], n) for line in lines])

    def mod_multi_exp(
        self, a: ResidueArray, exponents: LimbArray | SparseExponents, negative: BoolArray | None = None
    ) -> ResidueArray:
        """The (m,) products over i of a_i^(+-E_ij); a row with a minus sign needs an invertible a_i (InputError)."""
        check_own(self, a)
        if isinstance(exponents, SparseExponents):
            check_sparse_multi_exp(a, exponents, negative)
            return self._multi_exp_sparse(a, exponents)
        k, m = check_multi_exp(a, exponents, negative)
        signs = np.zeros((k, m), np.bool_) if negative is None else negative
        n = a.modulus.value
        powers = ints_from_limbs(exponents)
        for i in range(k):
            if signs[i].any() and gcd(a.data[i], n) != 1:
                raise refuse_not_invertible(i, a.shape)
        results = [
            _product([pow(a.data[i], -powers[i * m + j] if signs[i, j] else powers[i * m + j], n) for i in range(k)], n)
            for j in range(m)
        ]
        return ResidueArray(self, a.modulus, (m,), results)

    def _multi_exp_sparse(self, a: ResidueArray, exponents: SparseExponents) -> ResidueArray:
        n, bases = a.modulus.value, exponents.bases.tolist()
        signs = np.zeros(len(bases), np.bool_) if exponents.negative is None else exponents.negative
        for i in np.unique(exponents.bases[signs]).tolist():
            if gcd(a.data[i], n) != 1:
                raise refuse_not_invertible(i, a.shape)
        powers = [
            pow(a.data[base], -power if sign else power, n)
            for base, power, sign in zip(bases, ints_from_limbs(exponents.limbs), signs, strict=True)
        ]
        results = [_product(powers[start:stop], n) for start, stop in pairwise(exponents.offsets.tolist())]
        return ResidueArray(self, a.modulus, (exponents.result_count,), results)

    def mod_segment_product(
        self, a: ResidueArray, segments: IndexArray, segment_count: int, members: IndexArray | None = None
    ) -> ResidueArray:
        """The (segment_count,) products of each segment's residues; an empty segment is 1."""
        check_own(self, a)
        check_segments(a, segments, segment_count, members)
        results = [1] * segment_count
        values = a.data if members is None else [a.data[member] for member in members]
        for value, segment in zip(values, segments, strict=True):
            results[segment] = results[segment] * value % a.modulus.value
        return ResidueArray(self, a.modulus, (segment_count,), results)

    def mod_inv(self, a: ResidueArray) -> ResidueArray:
        """Element-wise inverse. Raises InputError naming the first index that has none."""
        check_own(self, a)
        n = a.modulus.value
        for index, value in enumerate(a.data):
            if gcd(value, n) != 1:
                raise refuse_not_invertible(index, a.shape)
        return ResidueArray(self, a.modulus, a.shape, [pow(value, -1, n) for value in a.data])

    # --- integers --------------------------------------------------------------------------------------

    def int_add(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a + b with max(limbs) + 1 limbs."""
        shape, left, right = _broadcast_ints(a, b)
        limb_count = max(a.shape[-1], b.shape[-1]) + 1
        return _limbs([x + y for x, y in zip(left, right, strict=True)], shape, limb_count)

    def int_sub(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, BoolArray]:
        """|a - b| with max(limbs) limbs, and where a < b."""
        shape, left, right = _broadcast_ints(a, b)
        limb_count = max(a.shape[-1], b.shape[-1])
        differences = _limbs([abs(x - y) for x, y in zip(left, right, strict=True)], shape, limb_count)
        below = [x < y for x, y in zip(left, right, strict=True)]
        return differences, np.array(below, np.bool_).reshape(shape)

    def int_mul(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a * b with limbs(a) + limbs(b) limbs."""
        shape, left, right = _broadcast_ints(a, b)
        return _limbs([x * y for x, y in zip(left, right, strict=True)], shape, a.shape[-1] + b.shape[-1])

    def int_divmod(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, LimbArray]:
        """Quotient (limbs of a) and remainder (limbs of b). Raises InputError where a divisor is 0."""
        shape, left, right = _broadcast_ints(a, b)
        for index, value in enumerate(ints_from_limbs(b)):
            if value == 0:
                raise refuse_zero_divisor(index, b.shape[:-1])
        pairs = [divmod(x, y) for x, y in zip(left, right, strict=True)]
        quotients = _limbs([quotient for quotient, _ in pairs], shape, a.shape[-1])
        return quotients, _limbs([remainder for _, remainder in pairs], shape, b.shape[-1])


def _limbs(values: Sequence[int], shape: Shape, limb_count: int) -> LimbArray:
    return limbs_from_ints(values, limb_count).reshape(*shape, limb_count)


def _product(values: Sequence[int], n: int) -> int:
    result = 1
    for value in values:
        result = result * value % n
    return result


def _broadcast(a: list[int], a_shape: Shape, b: list[int], b_shape: Shape) -> tuple[Shape, list[int], list[int]]:
    """Both flat lists repeated to their common shape."""
    shape = broadcast_shape(a_shape, b_shape)
    return shape, _repeat(a, a_shape, shape), _repeat(b, b_shape, shape)


def _repeat(values: list[int], shape: Shape, wanted: Shape) -> list[int]:
    positions = np.broadcast_to(np.arange(len(values)).reshape(shape), wanted)
    return [values[i] for i in positions.ravel()]


def _broadcast_ints(a: LimbArray, b: LimbArray) -> tuple[Shape, list[int], list[int]]:
    a_shape, b_shape = check_limbs(a, "integers"), check_limbs(b, "integers")
    return _broadcast(ints_from_limbs(a), a_shape, ints_from_limbs(b), b_shape)
