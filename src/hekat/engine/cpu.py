"""The native engine; with hekat.engine.ring.cpu, its ring operations, the only importer of hekat._native."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from math import prod
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from hekat import _native
from hekat.engine.checks import (
    MAX_WINDOW_BITS,
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
    refuse_device_limbs,
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
from hekat.engine.limbs import LimbArray, ints_from_limbs, widen
from hekat.engine.random_limbs import HostRandom
from hekat.engine.reduction_groups import axis_groups, segment_groups
from hekat.engine.ring.cpu import CpuRing
from hekat.engine.sparse_exponents import SparseExponents
from hekat.engine.table_memory import TableMemory
from hekat.engine.tenancy import describe_constant_time, describe_tables
from hekat.errors import EngineError

THREADS_VARIABLE = "HEKAT_THREADS"
PATH_VARIABLE = "HEKAT_CPU"
# The instructions that each path uses.
ARITHMETIC = {
    "portable": "plain C++",
    "x86": "mulx, adcx, adox, AVX2",
    "ifma": "AVX-512 IFMA, eight residues at a time",
}
# The residues that one thread works on at a time.
LANES = {"portable": 1, "x86": 1, "ifma": 8}
MAX_THREADS = 1024


class _TableData(NamedTuple):
    """The data of this engine's FixedBaseTable; `factored`: the entries are factors (native: factors.hpp)."""

    memory: LimbArray
    factored: bool


class CpuEngine(CpuRing, HostMemory, HostRandom):
    """Implements `hekat.engine.interface.Engine` in native code, constant-time as the interface says.

    A ResidueArray's data is a contiguous uint64 array, shape + (row_limbs,), in Montgomery form: one number, or two
    halves modulo the root of a square modulus where that is faster; the native modulus sets row_limbs. Operations
    release the interpreter lock, may be called from several threads at once, and answer Ctrl-C within a second. `path`
    is one of `usable_paths()`; None takes the path in the variable HEKAT_CPU, else the fastest. Raises EngineError for
    another path; so does an operation whose threads the system does not start. `single_tenant` says that nobody else's
    code runs on this machine.
    """

    def __init__(
        self, thread_count: int | None = None, *, path: str | None = None, single_tenant: bool = False
    ) -> None:
        if thread_count is None:
            thread_count, self._why_threads = choose_thread_count()
        else:
            self._why_threads = "asked for"
        self._thread_pool = _native.ThreadPool(thread_count)
        self._path, self._why_path = choose_path(path)
        self._single_tenant = single_tenant
        self._table_memory = TableMemory()
        self._results = self._table_memory.results
        self._moduli: WeakKeyDictionary[Modulus, _native.Modulus] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return "cpu"

    @property
    def path(self) -> str:
        """The path of arithmetic this engine takes: `portable`, `x86` or `ifma`."""
        return self._path

    @property
    def single_tenant(self) -> bool:
        return self._single_tenant

    @property
    def chunk_plan(self) -> ChunkPlan:
        """One chunk after the other, because a call uses all processors."""
        return ChunkPlan(abreast=LANES[self._path] * self._thread_pool.thread_count)

    def describe(self) -> dict[str, str]:
        """What is active and why, for `hekat doctor`."""
        return {
            "arithmetic": f"{self._path}: {ARITHMETIC[self._path]} ({self._why_path})",
            "constant time": describe_constant_time(self._single_tenant),
            "threads": f"{self._thread_pool.thread_count} ({self._why_threads})",
            "randomiser tables": describe_tables(self._single_tenant),
            "table memory": str(self._table_memory),
            "compiler": _native.compiler,
        }

    def __repr__(self) -> str:
        return f"CpuEngine({self._thread_pool.thread_count} threads)"

    @property
    def _pool(self) -> _native.ThreadPool:
        """The pool, its threads running. Raises EngineError where the system does not start them."""
        try:
            self._thread_pool.start()
        except RuntimeError as error:
            count = self._thread_pool.thread_count
            raise EngineError(
                "the native engine's threads cannot be started",
                expected=f"a system that starts {count - 1} threads beside the caller's",
                got=str(error),
                cure=f"set {THREADS_VARIABLE} below {count}, or raise this process' limits of threads and memory",
            ) from error
        return self._thread_pool

    # --- host <-> engine -------------------------------------------------------------------------------

    def load(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= modulus.limb_count, each value < modulus (InputError otherwise)."""
        shape = check_load(limbs, modulus)
        native = self._native_modulus(modulus)
        out = self._results.empty(shape, native.row_limbs)
        refused = native.load(self._pool, _flat(out), _flat(limbs))
        if refused is not None:
            raise refuse_not_below_modulus(refused, shape, modulus)
        return ResidueArray(self, modulus, shape, out)

    def reduce(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= 2 * modulus.limb_count, reduced mod `modulus`."""
        shape = check_reduce(limbs, modulus)
        native = self._native_modulus(modulus)
        out = self._results.empty(shape, native.row_limbs)
        native.reduce(self._pool, _flat(out), _flat(limbs))
        return ResidueArray(self, modulus, shape, out)

    def store(self, a: ResidueArray) -> LimbArray:
        """The residues as canonical limbs, shape a.shape + (modulus.limb_count,)."""
        check_own(self, a)
        out = _empty(a.shape, a.modulus.limb_count)
        self._native_modulus(a.modulus).store(self._pool, _flat(out), _flat(a.data))
        return out

    # --- shape -----------------------------------------------------------------------------------------

    def take(self, a: ResidueArray, indices: IndexArray) -> ResidueArray:
        """The residues at flat `indices`, in the shape of `indices`."""
        check_own(self, a)
        check_indices(indices, a.size)
        rows = _flat(a.data)
        out = self._results.empty(indices.shape, rows.shape[-1])
        # The indices are in range; without a mode NumPy would copy the result once more.
        np.take(rows, indices, axis=0, out=out, mode="clip")
        return ResidueArray(self, a.modulus, indices.shape, out)

    def reshape(self, a: ResidueArray, shape: tuple[int, ...]) -> ResidueArray:
        """The same residues under another shape of equal size."""
        check_own(self, a)
        shape = check_reshape(a, shape)
        return ResidueArray(self, a.modulus, shape, a.data.reshape(*shape, a.data.shape[-1]))

    def concatenate(self, arrays: Sequence[ResidueArray]) -> ResidueArray:
        """Joined along the first axis."""
        shape = check_concatenate(self, arrays)
        out = self._results.empty(shape, arrays[0].data.shape[-1])
        np.concatenate([array.data for array in arrays], out=out)
        return ResidueArray(self, arrays[0].modulus, shape, out)

    # --- modular ---------------------------------------------------------------------------------------

    def mod_mul(self, a: ResidueArray, b: ResidueArray) -> ResidueArray:
        """Element-wise product, shapes broadcast."""
        check_own(self, a)
        check_own(self, b)
        check_same_modulus(a, b)
        shape = broadcast_shape(a.shape, b.shape)
        native = self._native_modulus(a.modulus)
        out = self._results.empty(shape, native.row_limbs)
        native.mul(self._pool, _flat(out), _items(a.data, shape), _items(b.data, shape))
        return ResidueArray(self, a.modulus, shape, out)

    def mod_mul_one_plus(self, a: ResidueArray, values: LimbArray) -> ResidueArray:
        """Element-wise a (1 + v root), shapes broadcast."""
        check_own(self, a)
        shape, root = check_one_plus(a, values)
        native = self._native_modulus(a.modulus)
        out = self._results.empty(shape, native.row_limbs)
        factors = _items(a.data, shape)
        refused = native.mul_one_plus(self._pool, _flat(out), factors, _items(values, shape), root[np.newaxis])
        if refused is not None:
            raise refuse_not_below_root(refused, shape, a.modulus)
        return ResidueArray(self, a.modulus, shape, out)

    def mod_exp(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """Element-wise power a^e through all bits of the exponents' limbs, constant-time; shapes broadcast; 0^0 = 1."""
        return self._exp(a, exponents, vartime=False)

    def mod_exp_vartime(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """The same power for public exponents; variable time."""
        return self._exp(a, exponents, vartime=True)

    def _exp(self, a: ResidueArray, exponents: LimbArray, *, vartime: bool) -> ResidueArray:
        check_own(self, a)
        shape = broadcast_shape(a.shape, check_limbs(exponents, "exponents"))
        native = self._native_modulus(a.modulus)
        out = self._results.empty(shape, native.row_limbs)
        native.exp(self._pool, _flat(out), _items(a.data, shape), _items(exponents, shape), vartime)
        return ResidueArray(self, a.modulus, shape, out)

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
        """The full-window table of one base, in Montgomery form; the window of fewest products that fits if None.

        Raises InputError for a table beyond the memory that the engine's other tables leave.
        """
        check_table(base, modulus, exponent_bits, window_bits, uses)
        if ints_from_limbs(base)[0] >= modulus.value:
            raise refuse_not_below_modulus(0, (), modulus)
        native = self._native_modulus(modulus)
        window, table = self._table_memory.allocate(
            exponent_bits,
            lambda window: native.table_words(exponent_bits, window, constant_time),
            window_bits=window_bits,
            # Beyond this size, reading all entries of a position costs more than the products it saves.
            widest_bits=native.table_window_bits if constant_time else MAX_WINDOW_BITS,
            uses=uses,
            entry_products=native.table_entry_products,
        )
        widened = np.ascontiguousarray(widen(base, modulus.limb_count)[np.newaxis])
        factored = native.build_table(self._pool, table, widened, exponent_bits, window, constant_time)
        data = _TableData(table, factored)
        return FixedBaseTable(self, modulus, exponent_bits, window, data, table.nbytes, constant_time)

    def mod_exp_fixed(self, table: FixedBaseTable, exponents: LimbArray) -> ResidueArray:
        """base^e for exponents below 2^table.exponent_bits (InputError otherwise), constant-time if the table is."""
        check_own_table(self, table)
        shape = check_limbs(exponents, "exponents")
        native = self._native_modulus(table.modulus)
        out = self._results.empty(shape, native.row_limbs)
        refused = native.exp_fixed(
            self._pool,
            _flat(out),
            table.data.memory,
            _flat(exponents),
            table.exponent_bits,
            table.window_bits,
            table.constant_time,
            table.data.factored,
        )
        if refused is not None:
            raise refuse_wide_exponent(refused, shape, table)
        return ResidueArray(self, table.modulus, shape, out)

    def mod_product(self, a: ResidueArray, axis: int = 0) -> ResidueArray:
        """Product along one axis; the empty product is 1."""
        check_own(self, a)
        axis = check_axis(a, axis)
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        return self._product_lines(a, *axis_groups(a.shape, axis), shape)

    def mod_multi_exp(
        self, a: ResidueArray, exponents: LimbArray | SparseExponents, negative: BoolArray | None = None
    ) -> ResidueArray:
        """The (m,) products over i of a_i^(+-E_ij); a row with a minus sign needs an invertible a_i (InputError)."""
        check_own(self, a)
        columns: IndexArray | None = None
        offsets: IndexArray | None = None
        if isinstance(exponents, SparseExponents):
            check_sparse_multi_exp(a, exponents, negative)
            limbs, negative, m = exponents.limbs, exponents.negative, exponents.result_count
            columns, offsets = np.ascontiguousarray(exponents.bases), np.ascontiguousarray(exponents.offsets)
        else:
            _, m = check_multi_exp(a, exponents, negative)
            limbs = exponents
        native = self._native_modulus(a.modulus)
        out = self._results.empty((m,), native.row_limbs)
        signs = None if negative is None or not negative.any() else np.ascontiguousarray(negative).ravel()
        scratch_bytes = self._table_memory.scratch_bytes
        refused = native.multi_exp(self._pool, out, _flat(a.data), _flat(limbs), signs, columns, offsets, scratch_bytes)
        if refused is not None:
            raise refuse_not_invertible(refused, a.shape)
        return ResidueArray(self, a.modulus, (m,), out)

    def mod_segment_product(
        self, a: ResidueArray, segments: IndexArray, segment_count: int, members: IndexArray | None = None
    ) -> ResidueArray:
        """The (segment_count,) products of each segment's residues; an empty segment is 1."""
        check_own(self, a)
        check_segments(a, segments, segment_count, members)
        return self._product_lines(a, *segment_groups(segments, segment_count, members), (segment_count,))

    def _product_lines(self, a: ResidueArray, members: IndexArray, offsets: IndexArray, shape: Shape) -> ResidueArray:
        native = self._native_modulus(a.modulus)
        out = self._results.empty(shape, native.row_limbs)
        native.product_lines(self._pool, _flat(out), _flat(a.data), members, offsets)
        return ResidueArray(self, a.modulus, shape, out)

    def mod_inv(self, a: ResidueArray) -> ResidueArray:
        """Element-wise inverse, constant-time. Raises InputError naming the first index that has none."""
        check_own(self, a)
        native = self._native_modulus(a.modulus)
        out = self._results.empty(a.shape, native.row_limbs)
        refused = native.inv(self._pool, _flat(out), _flat(a.data), self._table_memory.scratch_bytes)
        if refused is not None:
            raise refuse_not_invertible(refused, a.shape)
        return ResidueArray(self, a.modulus, a.shape, out)

    # --- integers --------------------------------------------------------------------------------------

    def int_add(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a + b with max(limbs) + 1 limbs."""
        shape = _int_shape(a, b)
        out = _empty(shape, max(a.shape[-1], b.shape[-1]) + 1)
        _native.int_add(self._pool, _flat(out), _items(a, shape), _items(b, shape))
        return out

    def int_sub(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, BoolArray]:
        """|a - b| with max(limbs) limbs, and where a < b."""
        shape = _int_shape(a, b)
        out = _empty(shape, max(a.shape[-1], b.shape[-1]))
        below = np.empty(prod(shape), np.bool_)
        _native.int_sub(self._pool, _flat(out), below, _items(a, shape), _items(b, shape))
        return out, below.reshape(shape)

    def int_mul(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a * b with limbs(a) + limbs(b) limbs."""
        shape = _int_shape(a, b)
        out = _empty(shape, a.shape[-1] + b.shape[-1])
        _native.int_mul(self._pool, self._path, _flat(out), _items(a, shape), _items(b, shape))
        return out

    def int_divmod(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, LimbArray]:
        """Quotient (limbs of a) and remainder (limbs of b), variable time. Raises InputError where a divisor is 0."""
        shape = _int_shape(a, b)
        zeros = np.flatnonzero(~b.any(axis=-1))
        if zeros.size:
            raise refuse_zero_divisor(int(zeros[0]), b.shape[:-1])
        quotients, remainders = _empty(shape, a.shape[-1]), _empty(shape, b.shape[-1])
        _native.int_divmod(self._pool, _flat(quotients), _flat(remainders), _items(a, shape), _items(b, shape))
        return quotients, remainders

    def _native_modulus(self, modulus: Modulus) -> _native.Modulus:
        """The native core's constants for `modulus`: made once, kept as long as the modulus lives."""
        with self._lock:
            native = self._moduli.get(modulus)
            if native is None:
                root = modulus.root_limbs
                native = _native.Modulus(
                    modulus.limbs[np.newaxis], None if root is None else root[np.newaxis], self._path
                )
                self._moduli[modulus] = native
            return native


def choose_thread_count() -> tuple[int, str]:
    """Threads to use, and why: HEKAT_THREADS, or one for each core this process may run on. Raises EngineError."""
    text = os.environ.get(THREADS_VARIABLE, "").strip()
    if not text:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return cores, "one per core"
    # The length first, because int() refuses thousands of digits with an error of its own.
    digits = text if text.isdecimal() and len(text) <= len(str(MAX_THREADS)) else "0"
    if not 1 <= int(digits) <= MAX_THREADS:
        raise EngineError(
            f"{THREADS_VARIABLE} is no thread count",
            expected=f"a whole number from 1 to {MAX_THREADS}",
            got=f"{text!r:.40}",
            cure=f"set {THREADS_VARIABLE}=2, or unset it to use every core",
        )
    return int(text), f"{THREADS_VARIABLE}={text}"


def usable_paths() -> list[str]:
    """The paths of arithmetic that this build contains and this processor supports, slowest first."""
    return [path for path in _native.built_paths() if not _native.lacks_for(path)]


def choose_path(asked: str | None = None) -> tuple[str, str]:
    """The path to take, and why: `asked`, otherwise HEKAT_CPU, otherwise the fastest of `usable_paths()`.

    Raises EngineError for any other path; never falls back to another.
    """
    why, source = "asked for", "path"
    if asked is None:
        asked = os.environ.get(PATH_VARIABLE, "").strip()
        why, source = f"forced by {PATH_VARIABLE}", PATH_VARIABLE
    built, usable = _native.built_paths(), usable_paths()
    if not asked:
        beyond = built[built.index(usable[-1]) + 1 :]
        return usable[-1], _explain_lack(beyond[0]) if beyond else "found on this processor"
    if asked not in usable:
        what = f"names a path that cannot be taken: {_explain_lack(asked)}" if asked in built else "names no path"
        raise EngineError(
            f"{source} {what}",
            expected=" or ".join(usable),
            got=repr(asked),
            cure=f"use {usable[-1]!r}, or leave {source} unset to take the fastest",
        )
    return asked, why


def _explain_lack(path: str) -> str:
    return f"this processor lacks what {path} needs: {', '.join(_native.lacks_for(path))}"


def _empty(shape: Shape, limb_count: int) -> LimbArray:
    return np.empty((*shape, limb_count), np.uint64)


def _flat(limbs: LimbArray) -> LimbArray:
    """The same items as a contiguous (count, limbs) array; a view wherever `limbs` is contiguous already."""
    refuse_device_limbs(limbs)
    return np.ascontiguousarray(limbs).reshape(prod(limbs.shape[:-1]), limbs.shape[-1])


def _items(limbs: LimbArray, shape: Shape) -> LimbArray:
    """`limbs` broadcast to `shape` as (count, limbs); a single item stays single: the native core repeats it."""
    if prod(limbs.shape[:-1]) == 1 and prod(shape) > 0:
        return _flat(limbs)
    return _flat(np.broadcast_to(limbs, (*shape, limbs.shape[-1])))


def _int_shape(a: LimbArray, b: LimbArray) -> Shape:
    return broadcast_shape(check_limbs(a, "integers"), check_limbs(b, "integers"))
