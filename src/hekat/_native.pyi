"""The compiled core, as hekat.engine.cpu and hekat.engine.ring.cpu call it.

Every array is C-contiguous, every output written in place. Residues are (count, row_limbs) uint64 in the modulus' own
form; values, exponents and bases of tables are limbs. An operand of one item stands for a whole batch. A function that
returns an index returns the first item it refuses, or None.
"""

import numpy as np
import numpy.typing as npt

_Limbs = npt.NDArray[np.uint64]
_Indices = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]
_Bytes = npt.NDArray[np.uint8]
_Levels = npt.NDArray[np.int32]
_Small = npt.NDArray[np.int8]

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

# Elements are (count, primes, N) uint64, canonical residues; keys 32 bytes.
class Ring:
    # roots: of each prime a primitive root of unity of order 2 degree
    def __init__(self, degree: int, primes: list[int], roots: list[int], path: str) -> None: ...
    def expand_uniform(self, pool: ThreadPool, out: _Limbs, key: bytes, first_chunk: int) -> None: ...
    def ntt(self, pool: ThreadPool, out: _Limbs, a: _Limbs) -> None: ...
    # out (count, primes, N) from values (count, M)
    def ntt_integers(self, pool: ThreadPool, out: _Limbs, values: _Indices) -> None: ...
    def intt(self, pool: ThreadPool, out: _Limbs, a: _Limbs) -> None: ...
    def add(self, pool: ThreadPool, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
    def sub(self, pool: ThreadPool, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
    def mul(self, pool: ThreadPool, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
    # second and second_sums (count, primes, N), first and first_sums (count, C, primes, window), small (count, 2, N),
    # pair (1 + C, primes, N)
    def add_zeros(
        self,
        pool: ThreadPool,
        second: _Limbs,
        first: _Limbs,
        second_sums: _Limbs,
        first_sums: _Limbs,
        small: _Small,
        pair: _Limbs,
    ) -> None: ...
    # out (count, C, primes, window) from a (count, primes, N) and b (C, primes, N)
    def first_products(self, pool: ThreadPool, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
    # out (count, D, primes, N) from elements like it, small (count, 1 + D, N), pair (D, primes, N)
    def refresh(self, pool: ThreadPool, out: _Limbs, elements: _Limbs, small: _Small, pair: _Limbs) -> None: ...
    # out (count, primes, N) from a like it and last (count, N), residues mod `dropped`
    def drop_prime(self, pool: ThreadPool, out: _Limbs, a: _Limbs, last: _Limbs, dropped: int) -> None: ...
    # out (R, J, primes, N) from a (R, I, primes, N) and b (I, J, primes, N)
    def dot(self, pool: ThreadPool, out: _Limbs, a: _Limbs, b: _Limbs) -> None: ...
    # out (S, windows, C, primes, window) from elements (K, C, primes, N), digits (M, R), starts (S + 1,)
    def sum_windows(
        self, pool: ThreadPool, out: _Limbs, elements: _Limbs, digits: _Levels, window: int, starts: _Indices
    ) -> None: ...

class BinSums:
    def __init__(self, ring: Ring) -> None: ...
    # out (S, windows, C, primes, N) from elements (K, C, primes, N), digits (M, R), starts (S + 1,)
    def sum(
        self, pool: ThreadPool, out: _Limbs, elements: _Limbs, digits: _Levels, window: int, starts: _Indices
    ) -> None: ...

class Fractions:
    def __init__(self, primes: list[int], bits: int, path: str) -> None: ...
    # out (count, 2) from residues (count, primes)
    def floor(self, pool: ThreadPool, out: _Limbs, residues: _Limbs) -> None: ...

class MaskedBlocks:
    def __init__(self, ring: Ring, lanes: int, lane_bits: int, dropped_bits: int, sum_dropped_bits: int) -> None: ...
    # False, `out` being without meaning, where a value does not fit its lane
    def mask_values(
        self,
        pool: ThreadPool,
        out: _Bytes,
        public_key: bytes,
        secret_ntt: _Limbs,
        error_key: _Bytes,
        first_chunk: int,
        values: _Levels,
    ) -> bool: ...
    def add_masked(self, pool: ThreadPool, accumulator: _Limbs, written: _Bytes, value_count: int) -> None: ...
    def write_sum(self, pool: ThreadPool, out: _Bytes, accumulator: _Limbs, value_count: int) -> None: ...
    # False, both outputs being without meaning, where the sum does not lie in its lanes
    def unmask_sum(
        self,
        pool: ThreadPool,
        values: _Indices,
        counts: _Indices,
        public_key: bytes,
        secret_ntt: _Limbs,
        first_chunk: int,
        written: _Bytes,
    ) -> bool: ...

gaussian_margin: int

class GaussianLaw:
    def __init__(self, base: int, doublings: int, limit: int, thresholds: list[int], margin: int) -> None: ...
    # out (count,), undecided (blocks,): 1 where a block's numbers are without meaning
    def sample(
        self, pool: ThreadPool, path: str, out: _Indices, undecided: _Bytes, key: _Bytes, first_block: int
    ) -> None: ...

def chacha20(pool: ThreadPool, path: str, out: _Bytes, key: bytes, nonce: bytes, counter: int) -> None: ...
def sample_cbd(pool: ThreadPool, path: str, out: _Small, key: bytes, first_chunk: int) -> None: ...
