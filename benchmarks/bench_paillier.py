"""Paillier on one core beside gmpy2, gmpy2 with tables in Python, and `phe`: same keys, same run.

Keys are the published test keys. Every result is checked before it is timed. All are timed in turns, in processor
time; figures are medians, a ratio is the other's time over ours in the same turn. `of_limit` is the time that the
multiply-adds of the row's formula take at the rate of vpmadd52 measured in the same turns, over our time. What two
threads gain is wall time. Tables are built before and timed apart; tables of peers have the window that is fastest.
In each setting one engine holds the tables of djn and of crt under its memory cap, as in a process that uses both.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import phe
from phe.paillier import EncryptedNumber

from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import FixedBaseTable
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_from_ints
from hekat.scheme.paillier import Ciphertexts, PrivateKey, decrypt, encrypt, sum_along
from measuring.comparison import REPEATS, Call, beside_peers
from measuring.hardware_limit import Work, joined_halves, message_factor, squared_modulus
from measuring.paillier_operations import BINS, QUICK, WEIGHT_BITS, Operations, Sizes, random_plain
from measuring.peers import CrtTables, DjnTables, Textbook, fastest_tables
from measuring.record import compare, machine, print_rows, write_results

KEY_FILE = Path(__file__).parents[1] / "tests" / "vectors" / "paillier_keys.json"
CONSTANT_TIME, SINGLE_TENANT = "constant time", "single tenant"
TO_REACH = {
    ("encrypt djn", CONSTANT_TIME): ("gmpy2", 75),
    ("encrypt djn", SINGLE_TENANT): ("gmpy2", 130),
    ("encrypt crt", CONSTANT_TIME): ("tables", 6),
    ("encrypt crt", SINGLE_TENANT): ("tables", 13),
    ("decrypt", CONSTANT_TIME): ("gmpy2", 7),
    ("add", ""): ("gmpy2", 6),
    ("multiply by 64-bit scalar", ""): ("gmpy2", 6),
    (f"plain @ cipher, {WEIGHT_BITS}-bit, per term", ""): ("gmpy2", 60),
    ("segment product, per ciphertext", ""): ("gmpy2", 6),
}
# Wall time feels whatever else the machine does: as many turns for each of the other rows'.
THREADS_TURNS = 3
TO_REACH_THREADS = 1.8
SAMPLE = 8  # items a slow peer is timed on
TABLE_SAMPLE = 64  # items one with tables is: enough to bring them back into the caches
MANY = 4096  # items a fast one is
PEER_ROWS = 10  # of a matrix product, for which a peer inverts its ciphertexts once
THREADS_SEGMENT = 100_000

COLUMNS = (
    "operation", "key_bits", "setting", "gmpy2_per_s", "tables_per_s", "phe_per_s", "per_s", "us", "times_gmpy2",
    "times_tables", "of_limit", "to_reach",
)  # fmt: skip


class Bench:
    """All operations under one key in an engine of one thread; encryption also in the setting of a single tenant."""

    def __init__(self, key: PrivateKey, sizes: Sizes, repeats: int) -> None:
        self.key, self.sizes, self.repeats = key, sizes, repeats
        # By an engine of its own, so that its tables take nothing from the memory of the measured ones.
        self.ciphertexts = encrypt(key, random_plain(key, sizes.add)[0], engine=CpuEngine(1)).to_limbs()
        self.operations = Operations(key, CpuEngine(1), sizes, self.ciphertexts)
        self.settings = {
            CONSTANT_TIME: self.operations,
            SINGLE_TENANT: Operations(key, CpuEngine(1, single_tenant=True), sizes, self.ciphertexts),
        }
        self.book = Textbook(key.p, key.q)
        self.numbers = [gmpy2.mpz(c) for c in ints_from_limbs(self.ciphertexts[:MANY])]
        self.phe_public = phe.PaillierPublicKey(key.public.n)
        self.phe_private = phe.PaillierPrivateKey(self.phe_public, key.p, key.q)
        self.phe_numbers = [EncryptedNumber(self.phe_public, int(c)) for c in self.numbers]
        self.ring = squared_modulus(key.public.bits)
        self.half_ring = squared_modulus(key.public.bits // 2, "p^2")
        self.rows: list[dict[str, Any]] = []

    def run(self) -> list[dict[str, Any]]:
        self.encryption("djn", fastest_tables(DjnTables, self.book))
        self.encryption("crt", fastest_tables(CrtTables, self.book))
        self.standard_encryption()
        self.decryption()
        self.addition()
        self.scalars()
        self.rerandomisation()
        self.matrix_product()
        self.segment_product()
        return self.rows

    def row(
        self,
        operation: str,
        setting: str,
        ours: Call,
        peers: dict[str, Call],
        work: Work,
        repeats: int | None = None,
        **extra: Any,
    ) -> None:
        found = beside_peers(ours, peers, work, repeats or self.repeats)
        peer, factor = TO_REACH.get((operation, setting), ("", 0))
        row = {
            "operation": operation,
            "key_bits": self.key.public.bits,
            "setting": setting,
            **found,
            "peer": peer or "gmpy2",
            "to_reach": f"{factor} x {peer}" if peer else "",
            "reached": found[f"times_{peer}"] >= factor if peer else None,
            **extra,
        }
        print(
            f"{operation}, {setting or 'public'}, {self.key.public.bits} bits: {found['per_s']:,.0f} a second",
            flush=True,
        )
        self.rows.append(row)

    def encryption(self, variant: str, peer: DjnTables | CrtTables) -> None:
        peers = {"gmpy2": self._peer(self.book.encrypt), "tables": self._peer(peer.encrypt, TABLE_SAMPLE)}
        peers["phe"] = self._peer(self.phe_public.raw_encrypt)
        for setting, operations in self.settings.items():
            self._check_opened(operations.encrypt(variant), operations.values)
            tables = self._tables(variant, operations)
            assert all(table.constant_time == (setting == CONSTANT_TIME) for table in tables)
            if variant == "djn":
                work = self.ring.fixed_base(tables[0].positions)
            else:
                of_p, of_q = (self.half_ring.fixed_base(table.positions) for table in tables)
                work = of_p + of_q + joined_halves(self.key.public.bits)
            self.row(
                f"encrypt {variant}",
                setting,
                Call(self.sizes.encrypt, lambda operations=operations: operations.encrypt(variant)),
                peers,
                work + message_factor(self.key.public.bits),
                window_bits=tables[0].window_bits,
                table_mib=round(sum(table.size_bytes for table in tables) / 2**20, 1),
                table_made_s=round(sum(_table_s(table) for table in tables), 3),
                peer_window_bits=(peer.table if variant == "djn" else peer.tables[0][1]).window_bits,
            )

    def standard_encryption(self) -> None:
        operations = self.operations
        self._check_opened(operations.encrypt("standard"), operations.values[: self.sizes.standard])
        self.row(
            "encrypt standard",
            "",
            Call(self.sizes.standard, lambda: operations.encrypt("standard")),
            {"gmpy2": self._peer(self.book.encrypt), "phe": self._peer(self.phe_public.raw_encrypt)},
            self.ring.power(self.key.public.bits) + message_factor(self.key.public.bits),
        )

    def decryption(self) -> None:
        opened = _signed(self.operations.decrypt().limbs)
        assert opened[: 2 * SAMPLE] == [self.book.decrypt(c) for c in self.numbers[: 2 * SAMPLE]]
        numbers = self.numbers[:SAMPLE]
        self.row(
            "decrypt",
            CONSTANT_TIME,
            Call(self.sizes.decrypt, self.operations.decrypt),
            {
                "gmpy2": Call(SAMPLE, lambda: [self.book.decrypt(c) for c in numbers]),
                "phe": Call(SAMPLE, lambda: [self.phe_private.raw_decrypt(int(c)) for c in numbers]),
            },
            self.half_ring.power(self.key.public.bits // 2).times(2),
        )

    def addition(self) -> None:
        n2, numbers = self.book.n2, self.numbers
        others = [gmpy2.mpz(c) for c in ints_from_limbs(self.ciphertexts[::-1][: len(numbers)])]
        phe_others = [EncryptedNumber(self.phe_public, int(c)) for c in others]
        expected = [a * b % n2 for a, b in zip(numbers, others, strict=True)]
        assert ints_from_limbs(self.operations.add().to_limbs()[: len(numbers)]) == expected
        self.row(
            "add",
            "",
            Call(self.sizes.add, self.operations.add),
            {
                "gmpy2": Call(len(numbers), lambda: [a * b % n2 for a, b in zip(numbers, others, strict=True)]),
                "phe": Call(len(numbers), lambda: [a + b for a, b in zip(self.phe_numbers, phe_others, strict=True)]),
            },
            self.ring.work(1),
        )
        pairs = list(zip(self.numbers, self.operations.values, strict=False))
        sums = [c * (1 + m * self.book.n) % n2 for c, m in pairs]
        assert ints_from_limbs(self.operations.add_plain().to_limbs()[: len(pairs)]) == sums
        self.row(
            "add a plaintext",
            "",
            Call(self.sizes.encrypt, self.operations.add_plain),
            {"gmpy2": Call(len(pairs), lambda: [c * (1 + m * self.book.n) % n2 for c, m in pairs])},
            message_factor(self.key.public.bits),
        )
        every = ints_from_limbs(self.ciphertexts)
        assert ints_from_limbs(self.operations.sum().to_limbs()) == [self.book.product(every)]
        self.row(
            "sum, per ciphertext",
            "",
            Call(self.sizes.add, self.operations.sum),
            {
                "gmpy2": Call(len(numbers), lambda: self.book.product(numbers)),
                "phe": Call(len(numbers), lambda: sum(self.phe_numbers[1:], self.phe_numbers[0])),
            },
            self.ring.work(1),
        )

    def scalars(self) -> None:
        n2 = self.book.n2
        # A batch inversion is three products an item and one inversion for all.
        inverses = self.ring.work(3, of="batch inversion")
        for name, sign in (("64", 1), ("-63", -1)):
            weights = self.operations.weights[sign]
            expected = [gmpy2.powmod(c, w, n2) for c, w in zip(self.numbers, weights, strict=False)]
            assert ints_from_limbs(self.operations.multiply(sign).to_limbs()[: len(expected)]) == expected
            sample = list(zip(self.numbers, self.phe_numbers, weights, strict=False))[: 8 * SAMPLE]
            power = self.ring.power(64 if sign > 0 else 63)
            self.row(
                f"multiply by {name}-bit scalar",
                "",
                Call(self.sizes.scalar, lambda sign=sign: self.operations.multiply(sign)),
                {
                    "gmpy2": Call(len(sample), lambda sample=sample: [gmpy2.powmod(c, w, n2) for c, _, w in sample]),
                    "phe": Call(len(sample), lambda sample=sample: [c * w for _, c, w in sample]),
                },
                power if sign > 0 else power + inverses,
            )

    def rerandomisation(self) -> None:
        before, after = self.operations.some, self.operations.rerandomise()
        assert _signed(decrypt(self.key, after).limbs) == _signed(decrypt(self.key, before).limbs)
        assert not (before.to_limbs() == after.to_limbs()).all(axis=-1).any()
        n2, numbers = self.book.n2, self.numbers[:SAMPLE]
        self.row(
            "rerandomise",
            "",
            Call(self.sizes.scalar, self.operations.rerandomise),
            {
                "gmpy2": Call(SAMPLE, lambda: [self.book.randomiser() * c % n2 for c in numbers]),
                "phe": Call(SAMPLE, lambda: [c.obfuscate() for c in self.phe_numbers[:SAMPLE]]),
            },
            self.ring.power(self.key.public.bits) + self.ring.work(1, of="ciphertext"),
        )

    def matrix_product(self) -> None:
        terms, results = self.sizes.terms, self.sizes.results
        plain = self.operations.matrix.tolist()
        numbers = self.numbers[:terms]
        expected = self.book.matmul(plain[:2], numbers)
        product = self.operations.matmul()
        assert ints_from_limbs(product.to_limbs()[:2]) == expected
        opened = _signed(decrypt(self.key, self.operations.matmul_terms).limbs)
        assert [m % self.key.public.n for m in _signed(decrypt(self.key, product).limbs)] == [
            sum(w * m for w, m in zip(row, opened, strict=True)) % self.key.public.n for row in plain
        ]
        few = list(zip(self.phe_numbers, plain[0][: terms // 4], strict=False))

        def peer() -> Any:
            products = [c * w for c, w in few]
            return sum(products[1:], products[0])

        self.row(
            f"plain @ cipher, {WEIGHT_BITS}-bit, per term",
            "",
            Call(terms * results, self.operations.matmul),
            {
                "gmpy2": Call(terms * PEER_ROWS, lambda: self.book.matmul(plain[:PEER_ROWS], numbers)),
                "phe": Call(len(few), peer),
            },
            self.ring.multi_power(WEIGHT_BITS, terms, results),
            shape=f"{results} x {terms}",
        )

    def segment_product(self) -> None:
        operations, count = self.operations, len(self.numbers)
        places, bins = operations.places[: 4 * count], operations.bins[0][: 4 * count].tolist()
        everything = [gmpy2.mpz(c) for c in ints_from_limbs(self.ciphertexts)]
        sample = [everything[place] for place in places]
        sliced = operations.segment_sum(len(sample))  # of the first feature
        assert ints_from_limbs(sliced.to_limbs()) == self.book.segment_products(sample, bins, BINS)
        # The bins of any feature multiply to the same: all ciphertexts.
        totals = [ints_from_limbs(sum_along(operations.segment_sum(), 0).to_limbs()) for _ in range(2)]
        assert totals[0] == totals[1]
        self.row(
            "segment product, per ciphertext",
            "",
            Call(self.sizes.segment, operations.segment_sum),
            {"gmpy2": Call(len(sample), lambda: self.book.segment_products(sample, bins, BINS))},
            self.ring.work(1),
            repeats=self.sizes.features,
            shape=f"{self.sizes.segment} ciphertexts, {BINS} bins, {self.sizes.features} features",
            peer_products=len(sample),
        )

    def _peer(self, encrypt_one: Callable[[int], Any], sample: int = SAMPLE) -> Call:
        """A peer's encryption of residues, checked."""
        n = self.key.public.n
        residues = [value % n for value in self.operations.values[:sample]]
        assert [self.book.decrypt(gmpy2.mpz(encrypt_one(m))) % n for m in residues[:2]] == residues[:2]
        return Call(len(residues), lambda: [encrypt_one(m) for m in residues])

    def _check_opened(self, ciphertexts: Ciphertexts, values: list[int]) -> None:
        """All by our decryption, some by the textbook."""
        assert _signed(decrypt(self.key, ciphertexts).limbs) == values
        sample = ints_from_limbs(ciphertexts.to_limbs()[-SAMPLE:])
        assert [self.book.decrypt(gmpy2.mpz(c)) for c in sample] == values[-SAMPLE:]

    def _tables(self, variant: str, operations: Operations) -> list[Any]:
        """The tables of a variant, which its first encryption made."""
        if variant == "crt":
            return [half.randomiser_table(operations.engine) for half in self.key.halves]
        return [self.key.public.djn_tables.get(operations.engine, _refuse)]


def two_threads(key: PrivateKey, sizes: Sizes, ciphertexts: LimbArray, repeats: int) -> list[dict[str, Any]]:
    """Wall time of one thread over wall time of two, in turns; both must have the same results."""
    sizes = dataclasses.replace(sizes, segment=min(sizes.segment, THREADS_SEGMENT))
    both = [Operations(key, CpuEngine(count), sizes, ciphertexts) for count in (1, 2)]
    one, two = (operations.shared() for operations in both)
    rows = []
    for operation, by_two in two.items():
        if operation.startswith("encrypt"):
            for operations, encrypt_all in zip(both, (one[operation], by_two), strict=True):
                assert _signed(decrypt(key, encrypt_all()).limbs) == operations.values
        else:
            assert np.array_equal(_limbs_of(one[operation]()), _limbs_of(by_two()))
        times = compare(by_two, one[operation], repeats * THREADS_TURNS)
        rows.append(
            {
                "operation": operation,
                "key_bits": key.public.bits,
                "one_ms": times.second_s * 1e3,
                "two_ms": times.first_s * 1e3,
                "speedup": times.ratio,
                "best": times.best_ratio,
                "to_reach": TO_REACH_THREADS,
            }
        )
    return rows


def _table_s(table: FixedBaseTable) -> float:
    """Processor time of making one like it, of a base that is there, in an engine whose memory is free."""
    engine = CpuEngine(1)
    base = limbs_from_ints([3], table.modulus.limb_count)[0]
    start = time.process_time()
    engine.fixed_base_table(
        base, table.modulus, table.exponent_bits, table.window_bits, constant_time=table.constant_time
    )
    return time.process_time() - start


def _limbs_of(result: Any) -> LimbArray:
    return result.to_limbs() if isinstance(result, Ciphertexts) else result.limbs


def stored_key(bits: int) -> PrivateKey:
    primes = json.loads(KEY_FILE.read_text())["keys"][str(bits)][0]
    return PrivateKey(int(primes["p"], 16), int(primes["q"], 16))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key-bits", type=int, nargs="+", default=[2048, 3072])
    parser.add_argument(
        "--quick", action="store_true", help="small batches, two turns: shows that it works, keeps nothing"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes, repeats = (QUICK, 2) if options.quick else (Sizes(), REPEATS)
    for name, value in machine().items():
        print(f"{name}: {value}")
    rows, threads = [], []
    for bits in options.key_bits:
        bench = Bench(stored_key(bits), sizes, repeats)
        rows += bench.run()
        threads += two_threads(bench.key, sizes, bench.ciphertexts, repeats)
    print_rows(rows, COLUMNS)
    print("\ntwo threads over one, wall time")
    print_rows(threads)
    if not options.quick:
        print(write_results("paillier-cpu", rows, engine=CpuEngine(1).describe(), two_threads=threads))


def _signed(limbs: LimbArray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in limbs]


def _refuse() -> Any:
    raise AssertionError("the table is made by the first encryption")


if __name__ == "__main__":
    main()
