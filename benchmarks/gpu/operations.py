"""Operations of the engine interface on data that lies where the engine works, each with its check against integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from gpu.work import any_modulus, message_factor, squared_modulus, words
from hekat.engine.interface import Modulus
from hekat.engine.limbs import ints_from_limbs, limbs_for_bits, limbs_from_ints

DISTINCT = 64  # operands that are made on the host, each used again and again
SEGMENTS = 32
MATRIX_BITS, MATRIX_RESULTS = 23, 50
CONSTANT_TIME_WINDOW, SCALAR_WINDOW = 4, 5


@dataclass(frozen=True)
class Case:
    """`call` works through `items`; `check` raises AssertionError for a wrong result of it."""

    name: str
    items: int
    call: Callable[[], Any]
    check: Callable[[Any], None]
    multiply_adds: float | None = None  # an item, by formula
    device_bytes: float | None = None  # an item, read and written at least
    by_wall: bool = False  # works on streams of several threads: the caller's clock alone sees all of it


class Bench:
    """The operands of one key in one engine. `put` carries limbs to where the engine works."""

    def __init__(self, engine: Any, key: Any, put: Callable[[Any], Any], seed: int = 1) -> None:
        self.engine, self.key, self.put = engine, key, put
        self.rng = np.random.default_rng(seed)
        self.square = key.public.n_squared
        self.root: Modulus = key.public.n_modulus
        self.ring, self.root_ring = squared_modulus(key.public.bits), any_modulus(key.public.bits)

    def residues(self, modulus: Modulus, count: int) -> tuple[Any, list[int], Any]:
        """`count` residues, the integers they are made of, and which of these each one is."""
        numbers = [self._below(modulus.value) for _ in range(min(count, DISTINCT))]
        loaded = self.engine.load(limbs_from_ints(numbers, modulus.limb_count), modulus)
        places = self.rng.integers(0, len(numbers), count)
        return self.engine.take(loaded, places), numbers, places

    def limbs(self, bits: int, count: int) -> tuple[Any, list[int], Any]:
        """As `residues`: canonical limbs of numbers below 2^bits."""
        numbers = [self._below(1 << bits) for _ in range(min(count, DISTINCT))]
        places = self.rng.integers(0, len(numbers), count)
        return self.put(limbs_from_ints(numbers, limbs_for_bits(bits))[places]), numbers, places

    def _below(self, bound: int) -> int:
        return int.from_bytes(self.rng.bytes(bound.bit_length() // 8 + 9), "little") % bound

    def checker(self, expected: Callable[[int], int], count: int) -> Callable[[Any], None]:
        """Compares the first, some in between and the last with what they are to be."""

        def check(result: Any) -> None:
            chosen = np.unique(np.linspace(0, count - 1, 6).astype(np.int64))
            found = ints_from_limbs(self.engine.store(self.engine.take(result, chosen)))
            assert found == [expected(int(i)) for i in chosen]

        return check


def element_wise(bench: Bench, count: int) -> Iterator[Case]:
    """Products, of residues mod n^2 and mod n, and with 1 + v n."""
    engine, n = bench.engine, bench.root.value
    for name, modulus, ring in (("mod_mul", bench.square, bench.ring), ("mod_mul mod n", bench.root, bench.root_ring)):
        a, left, at = bench.residues(modulus, count)
        b, right, to = bench.residues(modulus, count)
        yield Case(
            name,
            count,
            lambda a=a, b=b: engine.mod_mul(a, b),
            bench.checker(
                lambda i, left=left, right=right, at=at, to=to, m=modulus.value: left[at[i]] * right[to[i]] % m, count
            ),
            ring.product,
            12 * words(modulus.bits),
        )
    a, left, at = bench.residues(bench.square, count)
    values, right, to = bench.limbs(bench.root.bits - 1, count)
    yield Case(
        "mod_mul_one_plus",
        count,
        lambda: engine.mod_mul_one_plus(a, values),
        bench.checker(lambda i: left[at[i]] * (1 + right[to[i]] * n) % n**2, count),
        message_factor(bench.key.public.bits),
    )


def powers(bench: Bench, count: int) -> Iterator[Case]:
    """Powers in constant time with exponents as wide as a prime, textbook r^n, and by 64-bit scalars."""
    engine, m = bench.engine, bench.square.value
    bits = bench.key.public.bits
    half = bench.key.halves[0].square
    for name, modulus, ring, width, few in (
        ("mod_exp mod p^2, half width (one half of a decryption)", half, squared_modulus(bits // 2), bits // 2, 1),
        ("mod_exp, full width", bench.square, bench.ring, bits, 8),
    ):
        items = max(1, count // few)
        a, numbers, at = bench.residues(modulus, items)
        exponents, right, to = bench.limbs(width, items)
        yield Case(
            name,
            items,
            lambda a=a, e=exponents: engine.mod_exp(a, e),
            bench.checker(
                lambda i, x=numbers, y=right, at=at, to=to, m=modulus.value: pow(x[at[i]], y[to[i]], m), items
            ),
            ring.power(64 * limbs_for_bits(width), CONSTANT_TIME_WINDOW),
        )
    items = max(1, count // 8)
    a, numbers, at = bench.residues(bench.square, items)
    yield Case(
        "textbook randomiser r^n (mod_exp_vartime)",
        items,
        lambda: engine.mod_exp_vartime(a, bench.root.limbs),
        bench.checker(lambda i: pow(numbers[at[i]], bench.root.value, m), items),
        bench.ring.power(bits, SCALAR_WINDOW),
    )
    b, bases, by = bench.residues(bench.square, count)
    scalars, right, to = bench.limbs(64, count)
    yield Case(
        "mod_exp_vartime, 64-bit scalars",
        count,
        lambda: engine.mod_exp_vartime(b, scalars),
        bench.checker(lambda i: pow(bases[by[i]], right[to[i]], m), count),
        bench.ring.power(64, SCALAR_WINDOW),
    )


def encryptions(bench: Bench, count: int, window: int, constant_time: bool) -> Iterator[Case]:
    """The kernels of `djn` and `crt` encryption: power of a fixed base, and product with 1 + m n."""
    engine, key, n = bench.engine, bench.key, bench.root.value
    setting = f"w={window}, {'table read whole' if constant_time else 'plain look-ups'}"
    values, messages, of = bench.limbs(bench.root.bits - 1, count)
    base, width = bench._below(n**2), -(-key.public.bits // 2)
    exponents, numbers, at = bench.limbs(width, count)
    table = _table(engine, base, bench.square, width, window, constant_time)
    yield Case(
        f"encrypt djn, {setting}",
        count,
        lambda: engine.mod_mul_one_plus(engine.mod_exp_fixed(table, exponents), values),
        bench.checker(lambda i: pow(base, numbers[at[i]], n**2) * (1 + messages[of[i]] * n) % n**2, count),
        bench.ring.fixed_base(width, window) + message_factor(key.public.bits),
        (1 << window) * 8 * words(key.public.bits) * -(-width // window) if constant_time else None,
    )
    halves = []
    for half in key.halves:
        width = half.modulus.bits - 1
        exponents, numbers, at = bench.limbs(width, count)
        g = bench._below(half.square.value)
        halves.append((half, g, _table(engine, g, half.square, width, window, constant_time), exponents, numbers, at))

    def encrypt_by_halves() -> Any:
        parts = []
        for half, _, table, exponents, _, _ in halves:
            power = engine.mod_mul(engine.mod_exp_fixed(table, exponents), half.join_constant(engine))
            parts.append(engine.int_mul(engine.limbs_of(power), half.other_squared))
        total = engine.int_add(*parts)[:, : limbs_for_bits(bench.square.bits + 1)]
        return engine.mod_mul_one_plus(engine.reduce(total, bench.square), values)

    def of_both(i: int) -> int:
        (p, x), (q, y) = (
            (half.square.value, pow(g, numbers[at[i]], half.square.value)) for half, g, _, _, numbers, at in halves
        )
        joined = x + p * ((y - x) * pow(p, -1, q) % q)
        return joined * (1 + messages[of[i]] * n) % n**2

    half_ring = squared_modulus(key.public.bits // 2)
    yield Case(
        f"encrypt crt, {setting}",
        count,
        encrypt_by_halves,
        bench.checker(of_both, count),
        2 * half_ring.fixed_base(width, window) + message_factor(key.public.bits),
    )


def _table(engine: Any, base: int, modulus: Modulus, bits: int, window: int, constant_time: bool) -> Any:
    limbs = limbs_from_ints([base], modulus.limb_count)[0]
    return engine.fixed_base_table(limbs, modulus, bits, window, constant_time=constant_time)


def products(bench: Bench, count: int) -> Iterator[Case]:
    """Sums of ciphertexts, histograms, plain @ cipher, and inverses."""
    engine, m = bench.engine, bench.square.value
    a, numbers, at = bench.residues(bench.square, count)

    def product_of(places: Any) -> int:
        return prod(pow(numbers[k], int(c), m) for k, c in enumerate(np.bincount(places, minlength=len(numbers)))) % m

    row_bytes = 8 * words(bench.key.public.bits)
    yield Case(
        "mod_product (sum), per ciphertext",
        count,
        lambda: engine.reshape(engine.mod_product(a), (1,)),
        bench.checker(lambda i: product_of(at), 1),
        bench.ring.product,
        row_bytes,
    )
    segments = bench.rng.integers(0, SEGMENTS, count)
    yield Case(
        "mod_segment_product (histogram), per ciphertext",
        count,
        lambda: engine.mod_segment_product(a, segments, SEGMENTS),
        bench.checker(lambda i: product_of(at[segments == i]), SEGMENTS),
        bench.ring.product,
        row_bytes,
    )
    terms = max(2, min(1000, count // 64))
    b, bases, by = bench.residues(bench.square, terms)
    exponents, right, to = bench.limbs(MATRIX_BITS, terms * MATRIX_RESULTS)
    exponents, to = exponents.reshape(terms, MATRIX_RESULTS, -1), to.reshape(terms, MATRIX_RESULTS)

    def column(j: int) -> int:
        return reduce(lambda x, y: x * y % m, (pow(bases[by[i]], right[to[i, j]], m) for i in range(terms)))

    yield Case(
        f"mod_multi_exp (plain @ cipher), {MATRIX_BITS}-bit, per term",
        terms * MATRIX_RESULTS,
        lambda: engine.mod_multi_exp(b, exponents),
        bench.checker(column, MATRIX_RESULTS),
    )
    few = max(2, count // 64)
    c, units, of = bench.residues(bench.square, few)
    yield Case(
        "mod_inv",
        few,
        lambda: engine.mod_inv(c),
        bench.checker(lambda i: pow(units[of[i]], -1, m), few),
        3 * bench.ring.product,
    )


def in_and_out(bench: Bench, count: int) -> Iterator[Case]:
    """Canonical limbs of the host into residues and back; memory of the host included."""
    engine = bench.engine
    numbers = [bench._below(bench.square.value) for _ in range(min(count, DISTINCT))]
    limbs = limbs_from_ints(numbers, bench.square.limb_count)[np.arange(count) % len(numbers)]
    a = engine.load(limbs, bench.square)
    yield Case(
        "load, from the host",
        count,
        lambda: engine.load(limbs, bench.square),
        bench.checker(lambda i: numbers[i % len(numbers)], count),
    )

    def stored(result: Any) -> None:
        assert np.array_equal(np.asarray(result), limbs)

    yield Case("store, to the host", count, lambda: engine.store(a), stored)


def integers(bench: Bench, count: int, download: Callable[[Any], Any]) -> Iterator[Case]:
    """Multi-precision integers that lie where the engine works."""
    engine, bits = bench.engine, bench.key.public.bits
    a, left, at = bench.limbs(2 * bits, count)
    b, right, to = bench.limbs(bits, count)
    right = [value | 1 for value in right]
    b = bench.put(limbs_from_ints(right, limbs_for_bits(bits))[to])
    for name, operation in (
        ("int_add", lambda x, y: x + y),
        ("int_mul", lambda x, y: x * y),
        ("int_divmod", lambda x, y: x // y),
    ):

        def check(result: Any, operation: Any = operation) -> None:
            limbs = download(result[0] if isinstance(result, tuple) else result)
            chosen = sorted({0, count // 2, count - 1})
            expected = [operation(left[at[i]], right[to[i]]) for i in chosen]
            assert ints_from_limbs(limbs[chosen]) == expected

        yield Case(
            f"{name}, {2 * bits} and {bits} bits",
            count,
            lambda name=name: getattr(engine, name)(a, b),
            check,
            2 * words(bits) ** 2 if name == "int_mul" else None,
        )
