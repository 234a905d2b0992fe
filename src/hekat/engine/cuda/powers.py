"""Powers of residues on a device: many bases by windows, one base from its table."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from hekat.engine.checks import (
    MAX_WINDOW_BITS,
    broadcast_shape,
    check_limbs,
    check_own,
    check_own_table,
    check_table,
    refuse_not_below_modulus,
    refuse_wide_exponent,
)
from hekat.engine.cuda.device import DeviceArray
from hekat.engine.cuda.inverses import CudaInverses
from hekat.engine.interface import FixedBaseTable, Modulus, ResidueArray
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, limbs_from_ints

# In constant time each group reads all rows of its power's own table: beyond 16 rows that costs more memory traffic
# than the products it saves. On an H200 at 2048 bits: section `choices` of benchmarks/results/cuda-nvidia-h200.json.
CONSTANT_TIME_WINDOW_BITS = 4
VARTIME_WINDOW_BITS = 5
# Rows of a fixed base's table are the same for all groups of a block, so that caches serve them. There too: 32 rows are
# read in less time than the products of narrower windows take, 64 are not.
CONSTANT_TIME_TABLE_WINDOW_BITS = 5
# An entry of factors, in products of a power: its own product and its share of the inversions, 13 products of the
# root's size where a product of a power takes four.
PAIR_ENTRY_PRODUCTS = 3.25


class TableData(NamedTuple):
    """The data of this engine's FixedBaseTable; `factored`: the rows hold factors (kernels/fixed_base.cu)."""

    rows: DeviceArray
    factored: bool


class CudaPowers(CudaInverses):
    """`mod_exp`, `mod_exp_vartime`, `fixed_base_table`, `mod_exp_fixed`."""

    def mod_exp(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """Element-wise power a^e through all bits of the exponents' limbs, constant-time; shapes broadcast; 0^0 = 1."""
        check_own(self._self, a)
        check_limbs(exponents, "exponents")
        return self._exp(a, exponents, LIMB_BITS * exponents.shape[-1], constant_time=True)

    def mod_exp_vartime(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """The same power for public exponents; variable time."""
        check_own(self._self, a)
        check_limbs(exponents, "exponents")
        return self._exp(a, exponents, self._longest_bits(exponents), constant_time=False)

    def _exp(self, a: ResidueArray, exponents: LimbArray, bits: int, *, constant_time: bool) -> ResidueArray:
        shape = broadcast_shape(a.shape, exponents.shape[:-1])
        count = prod(shape)
        layout = self._layout(a.modulus)
        window = _choose_window(bits, CONSTANT_TIME_WINDOW_BITS if constant_time else VARTIME_WINDOW_BITS)
        (bases, base_step), (words, step) = self._items(a, shape), self._words(exponents, shape)
        out = self._empty_results(a.modulus, count)
        # As many powers at once as scratch holds tables for, in whole blocks: groups beyond the last power need a table
        # too.
        per_group = 4 * layout.row_words << window
        at_once = (
            max(1, self._table_memory.scratch_bytes // (per_group * layout.groups_per_block)) * layout.groups_per_block
        )
        at_once = min(at_once, -(-count // layout.groups_per_block) * layout.groups_per_block)
        scratch = self._device.empty((at_once << window, layout.row_words), np.uint32)
        for start in range(0, count, max(at_once, 1)):
            part = min(at_once, count - start)
            self._run(
                "mod_exp/mod_exp",
                a.modulus,
                part,
                out[start : start + part],
                bases[start * base_step :],
                base_step,
                words[start * step :],
                step,
                words.shape[-1],
                bits,
                window,
                int(constant_time),
                scratch,
                part,
            )
        return self._residues(a.modulus, shape, out)

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
        """The full-window table of one base on the device; the window of fewest products that fits if None.

        Raises InputError for a table beyond the memory that the engine's other tables leave.
        """
        check_table(base, modulus, exponent_bits, window_bits, uses)
        if self._first_not_below(base, modulus.limbs) is not None:
            raise refuse_not_below_modulus(0, (), modulus)
        layout = self._layout(modulus)
        window, table = self._table_memory.allocate(
            exponent_bits,
            lambda window: (-(-exponent_bits // window) << window) * layout.row_words // 2,
            window_bits=window_bits,
            widest_bits=CONSTANT_TIME_TABLE_WINDOW_BITS if constant_time else MAX_WINDOW_BITS,
            uses=uses,
            entry_products=PAIR_ENTRY_PRODUCTS if layout.pairs else 1.0,
        )
        positions = -(-exponent_bits // window)
        chain = self._empty_rows(modulus, positions * window)
        first = self._rows(self._enter(base, modulus, ()))
        with self._device.active():
            chain[:1] = first
        self._run("fixed_base/square_chain", modulus, 1, chain, len(chain))
        for bit in range(window):
            count = positions << bit
            self._run("fixed_base/fill_table", modulus, count, table, chain, window, bit, count)
        factored = layout.pairs and self._factor_rows(modulus, table.reshape(-1, layout.row_words))
        data = TableData(self._device.publish(table), factored)
        return FixedBaseTable(self._self, modulus, exponent_bits, window, data, int(table.nbytes), constant_time)

    def _factor_rows(self, modulus: Modulus, rows: DeviceArray) -> bool:
        """Turn rows of pairs x0, x1 into rows of factors x0, x1 / x0; False where an x0 has no inverse."""
        assert modulus.root is not None, "pairs have a root"
        # Its residues are the lower halves of pairs.
        base = Modulus(modulus.root)
        lower = self._empty_rows(base, len(rows))
        with self._device.active():
            lower[...] = rows[:, : lower.shape[-1]]
        inverses = self._invert_rows(base, lower)
        if inverses is None:
            return False
        self._run("fixed_base/factor_rows", modulus, len(rows), rows, inverses, len(rows))
        return True

    def mod_exp_fixed(self, table: FixedBaseTable, exponents: LimbArray) -> ResidueArray:
        """base^e for exponents below 2^table.exponent_bits (InputError otherwise), constant-time if the table is."""
        check_own_table(self._self, table)
        shape = check_limbs(exponents, "exponents")
        bound = limbs_from_ints([1 << table.exponent_bits], limbs_for_bits(table.exponent_bits + 1))
        refused = self._first_not_below(exponents, bound.reshape(-1))
        if refused is not None:
            raise refuse_wide_exponent(refused, shape, table)
        words, _ = self._words(exponents, shape)
        out = self._empty_results(table.modulus, prod(shape))
        self._run(
            f"fixed_base/{'mod_exp_factored' if table.data.factored else 'mod_exp_fixed'}",
            table.modulus,
            len(out),
            out,
            table.data.rows,
            words,
            words.shape[-1],
            table.window_bits,
            table.positions,
            int(table.constant_time),
            len(out),
        )
        return self._residues(table.modulus, shape, out)

    def _longest_bits(self, exponents: LimbArray) -> int:
        """Bits of the longest exponent, at least 1; on the device rounded up to whole limbs."""
        if self._device.owns(exponents) or not exponents.size:
            return LIMB_BITS * int(exponents.shape[-1])
        any_set = np.bitwise_or.reduce(exponents.reshape(-1, exponents.shape[-1]), axis=0)
        return max(1, int.from_bytes(any_set.astype("<u8").tobytes(), "little").bit_length())


def _choose_window(bits: int, widest_bits: int) -> int:
    """The window with the fewest products for one power: its rows, and one for each digit."""
    return min(range(1, widest_bits + 1), key=lambda window: (1 << window) + -(-bits // window))
