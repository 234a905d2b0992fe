"""The native engine's operations on one core beside gmpy2, then its paths, two threads beside one, and elements.

Every result is compared with gmpy2's before anything is timed. All are timed in turns, in processor time; figures are
medians, `times_gmpy2` is gmpy2's time over ours in the same turn. `of_limit` is the time that the multiply-adds of the
operation's formula take at the rate of vpmadd52 measured in the same turns, over our time. What two threads gain is
wall time; on a machine that does other work beside, `best` tells more than the median.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np

from hekat.engine.cpu import CpuEngine, usable_paths
from hekat.engine.interface import Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_from_ints
from lattice.bin_sums import measure_bin_sums
from lattice.shared_products import measure_shared_products
from lattice.window_sums import measure_window_sums
from measuring.comparison import REPEATS, Call, beside_peers
from measuring.hardware_limit import Ring, Work, any_modulus, squared_modulus
from measuring.peers import batch_inverses
from measuring.record import compare, machine, print_rows, write_results

GENERIC_BITS = (1024, 1536, 2048, 3072, 4096)
ROOT_BITS = (1024, 1536, 2048, 3072)
# Key halves take exponents of their own size, n^2 takes exponents half as long as n.
FIXED_EXPONENT_BITS = {1024: 1024, 1536: 1536, 2048: 1024, 3072: 1536}
TARGET_S = 0.1  # of one timed call
WORD_PRODUCT_NS = 0.06  # for choosing batch sizes
MAX_ITEMS = 20_000
PEER_PART = 4  # gmpy2 is timed on one item of so many
LANES = 8
COLUMNS = ("path", "operation", "what", "us", "per_s", "gmpy2_per_s", "times_gmpy2", "of_limit")


@dataclass(frozen=True)
class Case:
    """One operation. gmpy2's results are the first, or all, of ours."""

    operation: str
    what: str
    ours: Call
    theirs: Call
    values: Callable[[Any], list[Any]]  # of what `ours` returned
    work: Work | None = None


class Bench:
    """The cases of one modulus; of its square, computed by its root, if `by_root`."""

    def __init__(
        self, engine: CpuEngine, bits: int, rng: random.Random, *, by_root: bool = False, target_s: float = TARGET_S
    ) -> None:
        self.engine, self.bits, self.rng, self.target_s = engine, bits, rng, target_s
        root = rng.getrandbits(bits) | 1 | 1 << (bits - 1)
        self.modulus = Modulus(root * root, root=root) if by_root else Modulus(root)
        self.name = f"the square of {bits} bits" if by_root else f"{bits} bits"
        self.ring: Ring = squared_modulus(bits) if by_root else any_modulus(bits)
        self.n = gmpy2.mpz(self.modulus.value)
        self.limbs = self.modulus.limb_count

    def batch_size(self, work: Work) -> int:
        """Items that take about target_s."""
        count = int(self.target_s * 1e9 / (WORD_PRODUCT_NS * work.word_products))
        return max(LANES, min(MAX_ITEMS, count) // LANES * LANES)

    def residues(self, count: int) -> tuple[ResidueArray, list[gmpy2.mpz]]:
        values = [self.rng.randrange(self.modulus.value) for _ in range(count)]
        return self.load(values), [gmpy2.mpz(value) for value in values]

    def units(self, count: int) -> tuple[ResidueArray, list[gmpy2.mpz]]:
        """Residues that have inverses."""
        kept: list[int] = []
        while len(kept) < count:
            value = self.rng.randrange(self.modulus.value)
            if gmpy2.gcd(value, self.n) == 1:
                kept.append(value)
        return self.load(kept), [gmpy2.mpz(value) for value in kept]

    def load(self, values: list[int]) -> ResidueArray:
        return self.engine.load(limbs_from_ints(values, self.limbs), self.modulus)

    def values(self, result: ResidueArray) -> list[int]:
        return ints_from_limbs(self.engine.store(result))

    def exponents(self, count: int, bits: int) -> tuple[LimbArray, list[gmpy2.mpz]]:
        values = [self.rng.getrandbits(bits) for _ in range(count)]
        return limbs_from_ints(values, -(-bits // 64)), [gmpy2.mpz(value) for value in values]

    def case(self, operation: str, what: str, ours: Call, theirs: Call, work: Work | None, values: Any = None) -> Case:
        return Case(operation, f"{what} mod {self.name}", ours, theirs, values or self.values, work)

    def mod_mul(self) -> Case:
        work = self.ring.work(1)
        count = self.batch_size(work)
        a, x = self.residues(count)
        b, y = self.residues(count)
        return self.case(
            "mod_mul",
            f"{count} products",
            Call(count, lambda: self.engine.mod_mul(a, b)),
            Call(count, lambda: [left * right % self.n for left, right in zip(x, y, strict=True)]),
            work,
        )

    def mod_exp(self) -> Case:
        bits = self.bits
        work = self.ring.power(bits)
        count = self.batch_size(work)
        a, x = self.residues(count)
        e, y = self.exponents(count, bits)
        sample = list(zip(x, y, strict=True))[: -(-count // PEER_PART)]
        return self.case(
            "mod_exp",
            f"{count} powers, {bits}-bit exponents,",
            Call(count, lambda: self.engine.mod_exp(a, e)),
            Call(len(sample), lambda: [gmpy2.powmod(base, power, self.n) for base, power in sample]),
            work,
        )

    def mod_exp_fixed(self) -> Case:
        bits = FIXED_EXPONENT_BITS[self.bits]
        base = self.rng.randrange(self.modulus.value)
        table = self.engine.fixed_base_table(limbs_from_ints([base], self.limbs)[0], self.modulus, bits)
        work = self.ring.fixed_base(table.positions)
        count = self.batch_size(work)
        e, y = self.exponents(count, bits)
        sample = y[: -(-count // PEER_PART**2)]
        return self.case(
            "mod_exp_fixed",
            f"{count} powers, {bits}-bit exponents, window {table.window_bits}, {table.size_bytes / 2**20:.0f} MiB,",
            Call(count, lambda: self.engine.mod_exp_fixed(table, e)),
            Call(len(sample), lambda: [gmpy2.powmod(gmpy2.mpz(base), power, self.n) for power in sample]),
            work,
        )

    def mod_product(self) -> Case:
        work = self.ring.work(1)
        count = self.batch_size(work)
        a, x = self.residues(count)

        def theirs() -> list[gmpy2.mpz]:
            result = gmpy2.mpz(1)
            for value in x:
                result = result * value % self.n
            return [result]

        ours = Call(count, lambda: self.engine.mod_product(a))
        return self.case("mod_product", f"all {count}", ours, Call(count, theirs), work)

    def mod_segment_product(self) -> Case:
        work, segments = self.ring.work(1), 64
        count = self.batch_size(work)
        a, x = self.residues(count)
        where = [self.rng.randrange(segments) for _ in range(count)]
        index = np.array(where, np.int64)

        def theirs() -> list[gmpy2.mpz]:
            results = [gmpy2.mpz(1)] * segments
            for value, segment in zip(x, where, strict=True):
                results[segment] = results[segment] * value % self.n
            return results

        return self.case(
            "mod_segment_product",
            f"{count} in {segments} segments",
            Call(count, lambda: self.engine.mod_segment_product(a, index, segments)),
            Call(count, theirs),
            work,
        )

    def mod_multi_exp(self) -> Case:
        bits, results, count = 32, 10, 512
        work = self.ring.multi_power(bits, count, results)
        a, x = self.units(count)
        e, y = self.exponents(count * results, bits)
        signs = np.array([self.rng.random() < 0.5 for _ in range(count * results)]).reshape(count, results)

        def theirs() -> list[gmpy2.mpz]:
            pairs = list(zip(x, batch_inverses(x, self.n), strict=True))
            totals = [gmpy2.mpz(1)] * results
            for i, (value, inverse) in enumerate(pairs):
                for j in range(results):
                    power = gmpy2.powmod(inverse if signs[i, j] else value, y[i * results + j], self.n)
                    totals[j] = totals[j] * power % self.n
            return totals

        return self.case(
            "mod_multi_exp",
            f"{count} bases, {results} results, {bits}-bit signed exponents,",
            Call(count * results, lambda: self.engine.mod_multi_exp(a, e.reshape(count, results, 1), signs)),
            Call(count * results, theirs),
            work,
        )

    def mod_inv(self) -> Case:
        work = self.ring.work(3, of="batch inversion")
        count = self.batch_size(work)
        a, x = self.units(count)
        sample = x[: -(-count // PEER_PART)]
        return self.case(
            "mod_inv",
            f"{count} inverses",
            Call(count, lambda: self.engine.mod_inv(a)),
            Call(len(sample), lambda: [gmpy2.invert(value, self.n) for value in sample]),
            work,
        )

    def int_cases(self) -> list[Case]:
        count = MAX_ITEMS // 2
        a, x = self.exponents(count, 2 * self.bits)
        b, y = self.exponents(count, self.bits)
        pairs = list(zip(x, y, strict=True))
        engine, what = self.engine, f"{2 * self.bits} by {self.bits} bits"
        operations: list[tuple[str, Callable[[], Any], Callable[[], list[Any]], Callable[[Any], list[Any]]]] = [
            ("int_add", lambda: engine.int_add(a, b), lambda: [u + v for u, v in pairs], ints_from_limbs),
            (
                "int_sub",
                lambda: engine.int_sub(a, b),
                lambda: [abs(u - v) for u, v in pairs],
                lambda found: ints_from_limbs(found[0]),
            ),
            ("int_mul", lambda: engine.int_mul(a, b), lambda: [u * v for u, v in pairs], ints_from_limbs),
            (
                "int_divmod",
                lambda: engine.int_divmod(a, b),
                lambda: [gmpy2.f_divmod(u, v) for u, v in pairs],
                lambda found: list(zip(*map(ints_from_limbs, found), strict=True)),
            ),
        ]
        return [
            Case(name, what, Call(count, ours), Call(count, theirs), values)
            for name, ours, theirs, values in operations
        ]


def cases(engine: CpuEngine) -> list[Case]:
    rng = random.Random(1)
    generic = [Bench(engine, bits, rng) for bits in GENERIC_BITS]
    squares = {bits: Bench(engine, bits, rng, by_root=True) for bits in ROOT_BITS}
    every = [*generic, *squares.values()]
    found = [bench.mod_mul() for bench in every] + [bench.mod_exp() for bench in every]
    found += [bench.mod_exp_fixed() for bench in squares.values()]
    paillier = squares[2048]
    found += [paillier.mod_product(), paillier.mod_segment_product(), paillier.mod_multi_exp(), paillier.mod_inv()]
    return found + generic[GENERIC_BITS.index(2048)].int_cases()


def path_cases(engine: CpuEngine) -> list[Case]:
    """What tells the paths of arithmetic apart."""
    rng = random.Random(1)
    benches = [Bench(engine, 2048, rng), Bench(engine, 2048, rng, by_root=True)]
    return [bench.mod_mul() for bench in benches] + [bench.mod_exp() for bench in benches]


def shared_cases(engine: CpuEngine) -> list[Case]:
    """Batches large enough to share out."""
    bench = Bench(engine, 2048, random.Random(1), by_root=True, target_s=3 * TARGET_S)
    return [
        bench.mod_exp(),
        bench.mod_exp_fixed(),
        bench.mod_mul(),
        bench.mod_product(),
        bench.mod_multi_exp(),
        bench.mod_inv(),
    ]


def check(case: Case) -> None:
    ours, theirs = case.values(case.ours.run()), case.theirs.run()
    if not theirs or ours[: len(theirs)] != theirs:
        raise SystemExit(f"{case.operation} ({case.what}) disagrees with gmpy2")


def against_gmpy2(engine: CpuEngine, made: list[Case], repeats: int) -> list[dict[str, Any]]:
    rows = []
    for case in made:
        check(case)
        columns = beside_peers(case.ours, {"gmpy2": case.theirs}, case.work, repeats)
        rows.append({"path": engine.path, "operation": case.operation, "what": case.what, **columns})
    print_rows(rows, COLUMNS)
    return rows


def two_over_one(repeats: int) -> list[dict[str, Any]]:
    rows = []
    for two, one in zip(shared_cases(CpuEngine(2)), shared_cases(CpuEngine(1)), strict=True):
        if two.values(two.ours.run()) != one.values(one.ours.run()):
            raise SystemExit(f"{one.operation} ({one.what}): two threads disagree with one")
        times = compare(two.ours.run, one.ours.run, repeats)
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
    print_rows(rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one turn: shows that it works, keeps nothing")
    options = parser.parse_args()
    repeats = 1 if options.quick else REPEATS
    for key, value in machine().items():
        print(f"{key}: {value}")
    fastest = CpuEngine(1)
    print(f"\none core, {fastest.describe()['arithmetic']}, beside gmpy2")
    rows = against_gmpy2(fastest, cases(fastest), repeats)
    for path in usable_paths():
        if path != fastest.path:
            print(f"\nthe path {path}")
            engine = CpuEngine(1, path=path)
            rows += against_gmpy2(engine, path_cases(engine), repeats)
    print("\ntwo threads over one, wall time")
    speedups = two_over_one(repeats)
    print("\nhistograms of trees under encryption, processor time")
    # Rings have no kernels of their own for path x86.
    paths = [path for path in usable_paths()[::-1] if path != "x86"]
    bins = [row for path in paths for row in measure_bin_sums(CpuEngine(1, path=path), repeats)]
    print_rows(bins)
    windows = [row for path in paths for row in measure_window_sums(CpuEngine(1, path=path), repeats)]
    print_rows(windows)
    print("\nwhat products left in shares are made of, processor time")
    shared = [row for path in paths for row in measure_shared_products(CpuEngine(1, path=path), repeats)]
    print_rows(shared)
    if not options.quick:
        sums = {"bin_sums": bins, "window_sums": windows, "shared_products": shared}
        extra = {"engine": fastest.describe(), "two_threads": speedups, **sums}
        print(f"\nwritten: {write_results('engine-cpu', rows, **extra)}")


if __name__ == "__main__":
    main()
