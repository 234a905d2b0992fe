"""The operations of every engine, each with its contract: the two operators and the operations built from them.

Big integers cross this interface in one canonical form only: little-endian uint64 limbs along the last axis
(`hekat.engine.limbs`). `load` and `store` convert between host and engine; between them residues stay in the engine's
own form (Montgomery, split, resident on a device) inside a `ResidueArray`.

An operation is constant-time in its operands unless its contract says "variable time"; sizes, shapes and
exponent widths are public. `reference` is the specification: every engine agrees with it bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.engine.ring.interface import RingEngine
from hekat.engine.sparse_exponents import SparseExponents
from hekat.errors import EngineError, InputError

IndexArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MIN_MODULUS_BITS = 2
MAX_MODULUS_BITS = 16384


class Modulus:
    """An odd modulus > 1; may be secret, so it never prints its value. Compared by identity.

    `root`, where given, is the square root of `value`: an engine may use it to compute the same results faster. Engines
    keep their constants of a modulus for as long as this object lives.
    """

    __slots__ = ("__weakref__", "bits", "limb_count", "root", "value")

    value: int
    bits: int
    limb_count: int
    root: int | None

    def __init__(self, value: int, *, root: int | None = None) -> None:
        bits = value.bit_length()
        if value < 3 or value % 2 == 0 or bits > MAX_MODULUS_BITS:
            raise InputError(
                "modulus refused",
                expected=f"an odd integer of {MIN_MODULUS_BITS} to {MAX_MODULUS_BITS} bits",
                got=f"{'an even' if value % 2 == 0 else 'an odd'} one of {bits} bits",
            )
        if root is not None and (root < 0 or root * root != value):
            raise InputError("modulus refused", expected="a root whose square is the modulus", got="another number")
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "limb_count", limbs_for_bits(bits))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Modulus does not change after it is made")

    @property
    def limbs(self) -> LimbArray:
        """The modulus itself in canonical form, shape (limb_count,)."""
        return limbs_from_ints([self.value], self.limb_count).reshape(self.limb_count)

    @property
    def root_limbs(self) -> LimbArray | None:
        """The root in canonical form, shape (limbs,), where it is known."""
        if self.root is None:
            return None
        limb_count = limbs_for_bits(self.root.bit_length())
        return limbs_from_ints([self.root], limb_count).reshape(limb_count)

    def __repr__(self) -> str:
        return f"Modulus({self.bits} bits)"


@dataclass(frozen=True, eq=False)
class ResidueArray:
    """Residues modulo one modulus in one engine's own form. Only that engine reads `data`."""

    engine: Engine
    modulus: Modulus
    shape: tuple[int, ...]
    data: Any

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single residue")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"ResidueArray({self.engine.name}, shape {self.shape}, {self.modulus!r})"


@dataclass(frozen=True, eq=False)
class FixedBaseTable:
    """Powers of one base for `mod_exp_fixed`: entry (i, j) is base^(j * 2^(window_bits * i)).

    `constant_time`: powers read all entries of a position. Where it is False they read only the entry they need, and
    the memory they touch tells the exponents to anybody who shares the machine's caches.
    """

    engine: Engine
    modulus: Modulus
    exponent_bits: int
    window_bits: int
    data: Any
    size_bytes: int
    constant_time: bool = True

    @property
    def positions(self) -> int:
        return -(-self.exponent_bits // self.window_bits)

    def __repr__(self) -> str:
        # Without the entries, because two of them give the primes of a private key.
        return f"FixedBaseTable({self.engine.name}, {self.exponent_bits} bits by {self.window_bits}, {self.modulus!r})"


class Engine(RingEngine, Protocol):
    """Batched modular, multi-precision integer and ring arithmetic; knows nothing of keys or of what numbers mean."""

    @property
    def name(self) -> str: ...

    @property
    def single_tenant(self) -> bool:
        """Whether nobody else's code runs on this machine: tables of encryption randomness may then be plain."""
        ...

    @property
    def chunk_plan(self) -> ChunkPlan:
        """How to cut batches that are too long for one call, and how many calls may run at once."""
        ...

    def describe(self) -> dict[str, str]:
        """What is active and why (path, threads, CPU features), for `hekat doctor`."""
        ...

    # --- host <-> engine -------------------------------------------------------------------------------

    def load(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs, each value < modulus, into the engine. Raises InputError for a value >= modulus."""
        ...

    def reduce(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= 2 * modulus.limb_count, reduced mod `modulus` (any value accepted).

        Constant-time in values and modulus: the way to take a public ciphertext mod a secret p^2.
        """
        ...

    def store(self, a: ResidueArray) -> LimbArray:
        """The residues as canonical limbs on the host, a.shape + (modulus.limb_count,), each value < modulus."""
        ...

    # --- limbs where the engine computes -----------------------------------------------------------------

    def limbs_of(self, a: ResidueArray) -> LimbArray:
        """As `store`, but in the engine's own memory, for its own operations, which take limbs where they lie."""
        ...

    def to_host(self, array: Any) -> Any:
        """Limbs or flags of this engine as an array on the host; the same array if it lies there."""
        ...

    def active(self, *arrays: Any) -> AbstractContextManager[Any]:
        """Within it, operators and functions of the arrays' module work on `arrays` and on this engine's limbs.

        They are ordered with the engine's own work, whichever thread made the arrays. Changes nothing for an engine
        without a device.
        """
        ...

    # --- shape (no arithmetic) -------------------------------------------------------------------------

    def take(self, a: ResidueArray, indices: IndexArray) -> ResidueArray:
        """The residues at flat (C order) `indices`; the result has the shape of `indices`."""
        ...

    def reshape(self, a: ResidueArray, shape: tuple[int, ...]) -> ResidueArray:
        """The same residues in C order under another shape of equal size."""
        ...

    def concatenate(self, arrays: Sequence[ResidueArray]) -> ResidueArray:
        """Joined along the first axis; all of one modulus and equal trailing shape."""
        ...

    # --- modular ---------------------------------------------------------------------------------------

    def mod_mul(self, a: ResidueArray, b: ResidueArray) -> ResidueArray:
        """Element-wise product, shapes broadcast as in NumPy."""
        ...

    def mod_mul_one_plus(self, a: ResidueArray, values: LimbArray) -> ResidueArray:
        """Element-wise a (1 + v n) mod n^2 for a modulus whose root n is known; shapes broadcast as in NumPy.

        `values` is (..., k) limbs, no more than n has, each value below n. Constant time, except that an error shows a
        value of n or more. Raises InputError for a modulus without a root and for a value that is not below the root.
        """
        ...

    def mod_exp(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """Element-wise power a^e. `exponents` is (..., e_limbs); its leading shape broadcasts against a's.

        Constant-time: always works through all 64 * e_limbs bits. 0^0 = 1.
        """
        ...

    def mod_exp_vartime(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """As `mod_exp`, for public exponents: variable time, skips leading zeros."""
        ...

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
        """The full-window table of one base (shape (k,), value < modulus) for exponents of up to `exponent_bits` bits.

        x

        Where `window_bits` is None the engine takes the window that suits `uses` expected powers (None: some thousands)
        and its free memory. `constant_time=False` makes a table of plain look-ups, with wider windows: for exponents
        that memory access may reveal. Raises InputError where not even the smallest table fits the engine's memory.
        """
        ...

    def mod_exp_fixed(self, table: FixedBaseTable, exponents: LimbArray) -> ResidueArray:
        """base^e for (..., e_limbs) exponents below 2^table.exponent_bits, no squarings.

        Constant-time if the table is; otherwise memory access reveals the exponents. Raises InputError where an
        exponent has more bits than the table.
        """
        ...

    def mod_product(self, a: ResidueArray, axis: int = 0) -> ResidueArray:
        """Product along one axis; the empty product is 1."""
        ...

    def mod_multi_exp(
        self, a: ResidueArray, exponents: LimbArray | SparseExponents, negative: BoolArray | None = None
    ) -> ResidueArray:
        """For a of shape (k,) and exponents of shape (k, m, e_limbs): the (m,) products over i of a_i^(+-E_ij).

        `negative` (k, m) marks exponents taken with a minus sign; these need a_i invertible (InputError if not).
        SparseExponents hold only nonzero entries, by result, with their signs; a result without entries is 1. Variable
        time in the exponents.
        """
        ...

    def mod_segment_product(
        self, a: ResidueArray, segments: IndexArray, segment_count: int, members: IndexArray | None = None
    ) -> ResidueArray:
        """For a and segments of shape (count,): the (segment_count,) products per segment; an empty one is 1.

        With `members` (count,) the factors are a[members[i]] in place of a[i]: a residue may then enter several
        segments, or none, and is not copied. `a` has any length then. Memory access shows segments and members.
        """
        ...

    def mod_inv(self, a: ResidueArray) -> ResidueArray:
        """Element-wise inverse, one true inversion for all. Raises InputError naming an index that has no inverse."""
        ...

    # --- integers (unsigned, canonical in and out, leading shapes broadcast) ------------------------------

    def int_add(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a + b with max(limbs) + 1 limbs."""
        ...

    def int_sub(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, BoolArray]:
        """|a - b| with max(limbs) limbs, and where a < b."""
        ...

    def int_mul(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a * b with limbs(a) + limbs(b) limbs."""
        ...

    def int_divmod(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, LimbArray]:
        """Quotient (limbs of a) and remainder (limbs of b), variable time. Raises InputError where a divisor is 0."""
        ...

    # --- randomness ------------------------------------------------------------------------------------

    def random_bits(self, count: int, bits: int) -> LimbArray:
        """Fresh uniform integers below 2^bits, shape (count, limbs of `bits`), in this engine's own memory.

        From the operating system's randomness, or from ChaCha20 under a fresh seed from the operating system for this
        call. Raises InputError for count < 0 or bits < 1.
        """
        ...

    def random_below(self, count: int, bound: int) -> LimbArray:
        """As `random_bits`, in [0, bound), exactly uniform: by rejection, shape (count, limbs of `bound`).

        The time shows how many tries were rejected; the integers do not depend on this number. Raises InputError for
        count < 0 or bound < 1.
        """
        ...


def check_same_modulus(a: ResidueArray, b: ResidueArray) -> None:
    """Raise EngineError unless both live in the same engine under the same modulus."""
    if a.engine is not b.engine or a.modulus is not b.modulus:
        raise EngineError(
            "operands do not belong together",
            expected="residues of one engine and one modulus",
            got=f"{a!r} and {b!r}",
            cure="store one and load it again under the other's modulus and engine",
        )
