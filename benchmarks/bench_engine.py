"""The native engine's operations on one core against gmpy2 in the same run, then two threads against one.

Every result is compared with gmpy2's before anything is timed. Both are timed in turns; times are medians in
microseconds an item, `ratio` is gmpy2's time over ours. On a machine that does other work beside, `best` of the
speed-ups by a second thread tells more than the median.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
from measure import compare, machine, print_rows, write_results

from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_from_ints

TARGET_S = 0.12  # of one timed call
REPEATS = 5
PRODUCT_NS = 0.9  # per limb squared, for choosing batch sizes


@dataclass(frozen=True)
class Case:
    """One measurement: the same work for the engine and for gmpy2, `count` items each."""

    operation: str
    what: str
    count: int
    ours: Callable[[], Any]
    theirs: Callable[[], list[Any]]
    values: Callable[[Any], list[int]]  # of what `ours` returned


class Bench:
    """The cases of one modulus size."""

    def __init__(
        self, engine: CpuEngine, bits: int, exponent_bits: int, rng: random.Random, target_s: float = TARGET_S
    ) -> None:
        self.engine, self.bits, self.exponent_bits, self.rng = engine, bits, exponent_bits, rng
        self.target_s = target_s
        self.modulus = Modulus(rng.getrandbits(bits) | 1 | 1 << (bits - 1))
        self.n = gmpy2.mpz(self.modulus.value)
        self.limbs = self.modulus.limb_count

    def batch_size(self, products: float) -> int:
        """Items that take about target_s when each costs so many products."""
        return max(4, int(self.target_s * 1e9 / (PRODUCT_NS * 2 * self.limbs * self.limbs * products)))

    def residues(self, count: int) -> tuple[ResidueArray, list[gmpy2.mpz]]:
        values = [self.rng.randrange(self.modulus.value) for _ in range(count)]
        loaded = self.engine.load(limbs_from_ints(values, self.limbs), self.modulus)
        return loaded, [gmpy2.mpz(value) for value in values]

    def units(self, count: int) -> tuple[ResidueArray, list[gmpy2.mpz]]:
        """Residues that have inverses."""
        _, values = self.residues(8 * count)
        kept = [value for value in values if gmpy2.gcd(value, self.n) == 1][:count]
        return self.engine.load(limbs_from_ints([int(value) for value in kept], self.limbs), self.modulus), kept

    def exponents(self, count: int, bits: int) -> tuple[LimbArray, list[gmpy2.mpz]]:
        values = [self.rng.getrandbits(bits) for _ in range(count)]
        return limbs_from_ints(values, -(-bits // 64)), [gmpy2.mpz(value) for value in values]

    def case(
        self, operation: str, what: str, count: int, ours: Callable[[], ResidueArray], theirs: Callable[[], list[Any]]
    ) -> Case:
        return Case(operation, f"{what} mod {self.bits}", count, ours, theirs, self.values)

    def values(self, result: ResidueArray) -> list[int]:
        return ints_from_limbs(self.engine.store(result))

    def mod_exp(self) -> Case:
        count = self.batch_size(1.2 * self.exponent_bits)
        a, x = self.residues(count)
        e, y = self.exponents(count, self.exponent_bits)
        return self.case(
            "mod_exp",
            f"{self.exponent_bits}-bit exponents",
            count,
            lambda: self.engine.mod_exp(a, e),
            lambda: [gmpy2.powmod(base, power, self.n) for base, power in zip(x, y, strict=True)],
        )

    def mod_exp_fixed(self) -> Case:
        count = self.batch_size(self.exponent_bits / 6)
        e, y = self.exponents(count, self.exponent_bits)
        base = self.rng.randrange(self.modulus.value)
        table = self.engine.fixed_base_table(limbs_from_ints([base], self.limbs)[0], self.modulus, self.exponent_bits)
        return self.case(
            "mod_exp_fixed",
            f"{self.exponent_bits}-bit exponents, window {table.window_bits}, {table.size_bytes / 2**20:.0f} MiB,",
            count,
            lambda: self.engine.mod_exp_fixed(table, e),
            lambda: [gmpy2.powmod(gmpy2.mpz(base), power, self.n) for power in y],
        )

    def mod_mul(self) -> Case:
        count = min(20_000, self.batch_size(1))
        a, x = self.residues(count)
        b, y = self.residues(count)
        return self.case(
            "mod_mul",
            "products",
            count,
            lambda: self.engine.mod_mul(a, b),
            lambda: [left * right % self.n for left, right in zip(x, y, strict=True)],
        )

    def mod_product(self) -> Case:
        count = min(20_000, self.batch_size(1))
        a, x = self.residues(count)

        def theirs() -> list[gmpy2.mpz]:
            result = gmpy2.mpz(1)
            for value in x:
                result = result * value % self.n
            return [result]

        return self.case("mod_product", f"all {count}", count, lambda: self.engine.mod_product(a), theirs)

    def mod_segment_product(self) -> Case:
        count, segments = min(20_000, self.batch_size(1)), 64
        a, x = self.residues(count)
        where = [self.rng.randrange(segments) for _ in range(count)]

        def theirs() -> list[gmpy2.mpz]:
            results = [gmpy2.mpz(1)] * segments
            for value, segment in zip(x, where, strict=True):
                results[segment] = results[segment] * value % self.n
            return results

        index = np.array(where, np.int64)
        return self.case(
            "mod_segment_product",
            f"{segments} segments",
            count,
            lambda: self.engine.mod_segment_product(a, index, segments),
            theirs,
        )

    def mod_multi_exp(self) -> Case:
        bits, results = 32, 10
        a, x = self.units(max(8, self.batch_size(results * bits / 5) // 2))
        count = len(x)
        e, y = self.exponents(count * results, bits)
        signs = np.array([self.rng.random() < 0.5 for _ in range(count * results)]).reshape(count, results)

        def theirs() -> list[gmpy2.mpz]:
            inverses = [gmpy2.invert(value, self.n) for value in x]
            sums = []
            for j in range(results):
                total = gmpy2.mpz(1)
                for i in range(count):
                    power = y[i * results + j]
                    total = total * gmpy2.powmod(inverses[i] if signs[i, j] else x[i], power, self.n) % self.n
                sums.append(total)
            return sums

        return self.case(
            "mod_multi_exp",
            f"{count} bases, {results} results, {bits}-bit signed exponents,",
            count * results,
            lambda: self.engine.mod_multi_exp(a, e.reshape(count, results, 1), signs),
            theirs,
        )

    def mod_inv(self) -> Case:
        count = self.batch_size(6)
        a, x = self.units(count)
        return self.case(
            "mod_inv",
            "inverses",
            len(x),
            lambda: self.engine.mod_inv(a),
            lambda: [gmpy2.invert(value, self.n) for value in x],
        )

    def int_cases(self) -> list[Case]:
        count = min(10_000, self.batch_size(1))
        a, x = self.exponents(count, 2 * self.bits)
        b, y = self.exponents(count, self.bits)
        pairs = list(zip(x, y, strict=True))
        engine = self.engine
        what = f"{2 * self.bits} by {self.bits} bits"
        return [
            Case(
                "int_add", what, count, lambda: engine.int_add(a, b), lambda: [u + v for u, v in pairs], ints_from_limbs
            ),
            Case(
                "int_sub",
                what,
                count,
                lambda: engine.int_sub(a, b),
                lambda: [abs(u - v) for u, v in pairs],
                lambda r: ints_from_limbs(r[0]),
            ),
            Case(
                "int_mul", what, count, lambda: engine.int_mul(a, b), lambda: [u * v for u, v in pairs], ints_from_limbs
            ),
            Case(
                "int_divmod",
                what,
                count,
                lambda: engine.int_divmod(a, b),
                lambda: [gmpy2.f_divmod(u, v) for u, v in pairs],
                lambda r: list(zip(*map(ints_from_limbs, r), strict=True)),
            ),
        ]


def cases(engine: CpuEngine) -> list[Case]:
    rng = random.Random(1)
    benches = {
        bits: Bench(engine, bits, exponent_bits, rng)
        for bits, exponent_bits in ((2048, 1024), (3072, 1536), (4096, 2048), (6144, 3072))
    }
    found = [bench.mod_exp() for bench in benches.values()]
    found += [bench.mod_exp_fixed() for bench in benches.values()]
    found += [bench.mod_mul() for bench in benches.values()]
    paillier = benches[4096]
    found += [paillier.mod_product(), paillier.mod_segment_product(), paillier.mod_multi_exp(), paillier.mod_inv()]
    return found + benches[2048].int_cases()


def check(case: Case) -> None:
    ours, theirs = case.values(case.ours()), case.theirs()
    if ours != theirs:
        raise SystemExit(f"{case.operation} ({case.what}) disagrees with gmpy2")


def against_gmpy2(path: str, made: list[Case]) -> list[dict[str, Any]]:
    rows = []
    for case in made:
        check(case)
        times = compare(case.ours, case.theirs, REPEATS)
        rows.append(
            {
                "path": path,
                "operation": case.operation,
                "what": case.what,
                "us": times.first_s / case.count * 1e6,
                "gmpy2_us": times.second_s / case.count * 1e6,
                "ratio": times.ratio,
            }
        )
    return rows


def shared_cases(engine: CpuEngine) -> list[Case]:
    """Batches large enough to share out."""
    bench = Bench(engine, 4096, 2048, random.Random(1), target_s=3 * TARGET_S)
    return [
        bench.mod_exp(),
        bench.mod_exp_fixed(),
        bench.mod_mul(),
        bench.mod_product(),
        bench.mod_multi_exp(),
        bench.mod_inv(),
    ]


def two_over_one() -> list[dict[str, Any]]:
    rows = []
    for two, one in zip(shared_cases(CpuEngine(2)), shared_cases(CpuEngine(1)), strict=True):
        times = compare(two.ours, one.ours, REPEATS)
        rows.append(
            {
                "operation": one.operation,
                "what": one.what,
                "one_ms": times.second_s * 1e3,
                "two_ms": times.first_s * 1e3,
                "speedup": times.ratio,
                "best": times.best_ratio,
            }
        )
    return rows


def main() -> None:
    for key, value in machine().items():
        print(f"{key}: {value}")
    engines = {"best": CpuEngine(1), "portable": CpuEngine(1, path="portable")}
    arithmetic = {path: engine.describe()["arithmetic"] for path, engine in engines.items()}
    rows = []
    for path, engine in engines.items():
        print(f"\none core, {arithmetic[path]}, against gmpy2")
        made = [case for case in cases(engine) if path == "best" or case.operation in ("mod_exp", "mod_mul")]
        measured = against_gmpy2(path, made)
        print_rows(measured)
        rows += measured
    print("\ntwo threads over one")
    speedups = two_over_one()
    print_rows(speedups)
    print(f"\nwritten: {write_results('engine-cpu', rows, arithmetic=arithmetic, two_threads=speedups)}")


if __name__ == "__main__":
    main()
