"""The compiled core, as hekat.engine.cpu calls it: every array C-contiguous, every output written in place.

Residues are (count, row_limbs) uint64 in the modulus' own form; values, exponents and bases of tables are limbs. An
operand of one item stands for a whole batch. A function that returns an index returns the first item it refuses, or
None.
"""

import numpy as np
import numpy.typing as npt

_Limbs = npt.NDArray[np.uint64]
_Indices = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]

compiler: str

def built_paths() -> list[str]: ...  # slowest first
def lacks_for(path: str) -> list[str]: ...  # what this processor or its system has not of what the path needs

class ThreadPool:
    def __init__(self, thread_count: int) -> None: ...
    @property
    def thread_count(self) -> int: ...
    def start(self) -> None: ...  # RuntimeError where the system does not start that many

class Modulus:
    def __init__(self, limbs: _Limbs, root: _Limbs | None, path: str) -> None: ...
    @property
    def row_limbs(self) -> int: ...
    @property
    def table_window_bits(self) -> int: ...  # the best for a constant-time table
    @property
    def table_entry_products(self) -> float: ...  # how many products of a power one entry of a table takes to make
    def load(self, pool: ThreadPool, out: _Limbs, values: _Limbs) -> int | None: ...
    def reduce(self, pool: ThreadPool, out: _Limbs, values: _Limbs) -> None: ...
    def store(self, pool: ThreadPool, out: _Limbs, a: _Limbs) -> None: ...
    def mul(self, pool: ThreadPool, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
    # refuses an m that is not below the root of the modulus
    def mul_one_plus(self, pool: ThreadPool, out: _Limbs, a: _Limbs, m: _Limbs, root: _Limbs) -> int | None: ...
    def exp(self, pool: ThreadPool, out: _Limbs, a: _Limbs, exponents: _Limbs, vartime: bool) -> None: ...
    def table_words(self, exponent_bits: int, window_bits: int, constant_time: bool) -> int: ...
    def build_table(
        self,
        pool: ThreadPool,
        table: _Limbs,
        base: _Limbs,
        exponent_bits: int,
        window_bits: int,
        constant_time: bool,
    ) -> bool: ...  # whether its entries are factors, for exp_fixed
    def exp_fixed(
        self,
        pool: ThreadPool,
        out: _Limbs,
        table: _Limbs,
        exponents: _Limbs,
        exponent_bits: int,
        window_bits: int,
        constant_time: bool,
        factored: bool,
    ) -> int | None: ...
    def product_lines(self, pool: ThreadPool, out: _Limbs, a: _Limbs, members: _Indices, offsets: _Indices) -> None: ...
    # negative: a sign for each exponent. With columns and offsets the rows of a sparse matrix: result j has the terms
    # offsets[j] to offsets[j + 1], and term k the base columns[k]; without, exponents of all bases by all results.
    def multi_exp(
        self,
        pool: ThreadPool,
        out: _Limbs,
        a: _Limbs,
        exponents: _Limbs,
        negative: _Bools | None,
        columns: _Indices | None,
        offsets: _Indices | None,
        scratch_bytes: int,  # that what grows with the input may take
    ) -> int | None: ...
    def inv(self, pool: ThreadPool, out: _Limbs, a: _Limbs, scratch_bytes: int) -> int | None: ...

def madd52_per_ns() -> float: ...
def conversion_counts() -> tuple[int, int]: ...  # values taken into a modulus' form and out of it, in this process
def int_add(pool: ThreadPool, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
def int_sub(pool: ThreadPool, out: _Limbs, below: _Bools, a: _Limbs, b: _Limbs) -> None: ...
def int_mul(pool: ThreadPool, path: str, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
def int_divmod(pool: ThreadPool, quotient: _Limbs, remainder: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
