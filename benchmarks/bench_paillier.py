"""Paillier operations on one core against gmpy2 textbook code and `phe`, same keys, same run.

Run: python benchmarks/bench_paillier.py [--key-bits 2048 3072]. Keys are the published test keys. Every result is
checked before anything is timed. Times are microseconds of processor time an item, medians of runs taken in turns;
a ratio is the other's time over ours.
gmpy2 does what a careful textbook does: 1 + m n instead of (n+1)^m, decryption modulo p^2 and q^2, randomness from
the operating system. Fixed-base tables are built before and timed on lines of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import phe
from measure import print_rows, write_results
from phe.paillier import EncryptedNumber

from hekat.engine.cpu import CpuEngine
from hekat.engine.limbs import LIMB_BITS, ints_from_limbs, limbs_from_ints
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import (
    Ciphertexts,
    PrivateKey,
    add,
    decrypt,
    encrypt,
    matmul_plain,
    multiply_plain,
    rerandomise,
    sum_along,
)
from hekat.scheme.paillier.randomiser import crt_randomisers, djn_randomisers

KEY_FILE = Path(__file__).parents[1] / "tests" / "vectors" / "paillier_keys.json"
SAMPLE = 8  # items the slow baselines are timed on
REPEATS = 5
MATMUL_ROWS, MATMUL_TERMS, MATMUL_BITS = 4, 64, 32


@dataclass(frozen=True)
class Textbook:
    """Paillier in gmpy2, one number at a time."""

    p: Any
    q: Any
    n: Any = field(init=False)
    n2: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", self.p * self.q)
        object.__setattr__(self, "n2", self.n**2)
        for prime, name in ((self.p, "p"), (self.q, "q")):
            square = prime * prime
            h = gmpy2.invert((gmpy2.powmod(self.n + 1, prime - 1, square) - 1) // prime, prime)
            object.__setattr__(self, f"h_{name}", (square, h))
        object.__setattr__(self, "p_inverse", gmpy2.invert(self.p, self.q))

    def encrypt(self, m: int) -> Any:
        r = gmpy2.mpz(int.from_bytes(os.urandom(self.n.bit_length() // 8 + 16), "little")) % self.n
        return (1 + m * self.n) * gmpy2.powmod(r, self.n, self.n2) % self.n2

    def decrypt(self, c: Any) -> Any:
        parts = []
        for prime, (square, h) in ((self.p, self.h_p), (self.q, self.h_q)):
            parts.append((gmpy2.powmod(c, prime - 1, square) - 1) // prime * h % prime)
        m = parts[0] + (parts[1] - parts[0]) * self.p_inverse % self.q * self.p
        return m - self.n if m > self.n // 2 else m

    def matmul(self, plain: list[list[int]], ciphertexts: list[Any]) -> list[Any]:
        sums = []
        for row in plain:
            total = gmpy2.mpz(1)
            for c, weight in zip(ciphertexts, row, strict=True):
                total = total * gmpy2.powmod(c, weight, self.n2) % self.n2
            sums.append(total)
        return sums


def interleaved_us(calls: list[tuple[int, Callable[[], object]]]) -> list[float]:
    """Median microseconds of processor time an item for each (items, function), taken in turns.

    Turns let a busy machine slow all of them alike, and processor time leaves out what it spends elsewhere.
    """
    times: list[list[float]] = [[] for _ in calls]
    for repeat in range(REPEATS + 1):
        for (count, function), found in zip(calls, times, strict=True):
            start = time.process_time()
            function()
            if repeat:
                found.append((time.process_time() - start) / count * 1e6)
    return [statistics.median(found) for found in times]


class Bench:
    """All operations at one key size in one engine."""

    def __init__(self, engine: CpuEngine, path: str, bits: int, counts: dict[str, int]) -> None:
        primes = json.loads(KEY_FILE.read_text())["keys"][str(bits)][0]
        p, q = int(primes["p"], 16), int(primes["q"], 16)
        self.engine, self.path, self.bits, self.counts = engine, path, bits, counts
        self.key = PrivateKey(p, q)
        self.public = self.key.public
        self.book = Textbook(gmpy2.mpz(p), gmpy2.mpz(q))
        self.phe_public = phe.PaillierPublicKey(self.public.n)
        self.phe_private = phe.PaillierPrivateKey(self.phe_public, p, q)
        self.rows: list[dict[str, Any]] = []

    def plain(self, count: int) -> tuple[PackedPlaintext, list[int]]:
        bound = self.public.plaintext_space.bound
        values = [secrets.randbelow(2 * bound + 1) - bound for _ in range(count)]
        limb_count = self.public.n_modulus.limb_count
        wrapped = [value % (1 << LIMB_BITS * limb_count) for value in values]
        return PackedPlaintext(limbs_from_ints(wrapped, limb_count), bound), values

    def opened(self, ciphertexts: Ciphertexts) -> list[int]:
        """Decrypted by the textbook."""
        return [int(self.book.decrypt(gmpy2.mpz(c))) for c in ints_from_limbs(ciphertexts.to_limbs())]

    def compare(
        self,
        operation: str,
        count: int,
        ours: Callable[[], object],
        gmpy: tuple[int, Callable[[], object]] | None,
        phe_: tuple[int, Callable[[], object]] | None = None,
    ) -> None:
        names = ["ours"] + [name for name, peer in (("gmpy2", gmpy), ("phe", phe_)) if peer]
        calls = [(count, ours)] + [peer for peer in (gmpy, phe_) if peer]
        us = dict(zip(names, interleaved_us(calls), strict=True))
        row: dict[str, Any] = {"operation": operation, "key_bits": self.bits, "path": self.path}
        row["us"] = round(us["ours"], 2)
        for name in ("gmpy2", "phe"):
            row[f"{name}_us"] = round(us[name], 2) if name in us else None
            row[f"times_{name}"] = round(us[name] / us["ours"], 2) if name in us else None
        self.rows.append(row)

    def run(self) -> list[dict[str, Any]]:
        self.tables()
        self.encryption()
        self.decryption()
        self.arithmetic()
        self.matrix_product()
        return self.rows

    def tables(self) -> None:
        for name, make in (
            ("djn table, once", lambda: djn_randomisers(self.public, 1, self.engine)),
            ("crt tables, once", lambda: crt_randomisers(self.key, 1, self.engine)),
        ):
            start = time.process_time()
            make()
            self.rows.append(
                {
                    "operation": name,
                    "key_bits": self.bits,
                    "path": self.path,
                    "us": round((time.process_time() - start) * 1e6),
                }
            )

    def encryption(self) -> None:
        for variant in ("djn", "crt", "standard"):
            count = self.counts[variant]
            key = self.key if variant == "crt" else self.public
            plain, values = self.plain(count)
            residues = [value % self.public.n for value in values[:SAMPLE]]
            checked = encrypt(key, plain, variant=variant, engine=self.engine)
            assert self.opened(checked[:SAMPLE]) == values[:SAMPLE]
            assert [self.book.decrypt(self.book.encrypt(m)) % self.public.n for m in residues] == residues
            self.compare(
                f"encrypt {variant}",
                count,
                lambda key=key, plain=plain, variant=variant: encrypt(key, plain, variant=variant, engine=self.engine),
                (len(residues), lambda residues=residues: [self.book.encrypt(m) for m in residues]),
                (len(residues), lambda residues=residues: [self.phe_public.raw_encrypt(m) for m in residues]),
            )

    def decryption(self) -> None:
        plain, values = self.plain(self.counts["decrypt"])
        ciphertexts = encrypt(self.key, plain, engine=self.engine)
        numbers = [gmpy2.mpz(c) for c in ints_from_limbs(ciphertexts.to_limbs())][:SAMPLE]
        limbs = decrypt(self.key, ciphertexts).limbs
        assert [int.from_bytes(row.tobytes(), "little", signed=True) for row in limbs] == values
        assert [self.book.decrypt(c) for c in numbers] == values[:SAMPLE]
        self.compare(
            "decrypt",
            len(values),
            lambda: decrypt(self.key, ciphertexts),
            (len(numbers), lambda: [self.book.decrypt(c) for c in numbers]),
            (len(numbers), lambda: [self.phe_private.raw_decrypt(int(c)) for c in numbers]),
        )

    def arithmetic(self) -> None:
        count = self.counts["add"]
        x = encrypt(self.key, self.plain(count)[0], engine=self.engine)
        y = encrypt(self.key, self.plain(count)[0], engine=self.engine)
        n2 = self.book.n2
        xs, ys = ([gmpy2.mpz(c) for c in ints_from_limbs(z.to_limbs())] for z in (x, y))
        phe_xs, phe_ys = ([EncryptedNumber(self.phe_public, int(c)) for c in z] for z in (xs, ys))
        assert ints_from_limbs(add(x, y).to_limbs()) == [a * b % n2 for a, b in zip(xs, ys, strict=True)]
        self.compare(
            "add",
            count,
            lambda: add(x, y),
            (count, lambda: [a * b % n2 for a, b in zip(xs, ys, strict=True)]),
            (count, lambda: [a + b for a, b in zip(phe_xs, phe_ys, strict=True)]),
        )
        self.compare("sum of a vector", count, lambda: sum_along(x, 0), (count, lambda: self.product(xs)))
        self.scalars(x[: self.counts["scalar"]], xs, phe_xs)
        some = x[: self.counts["djn"]]
        assert self.opened(rerandomise(some[:SAMPLE])) == self.opened(some[:SAMPLE])
        sample = xs[:SAMPLE]
        self.compare(
            "rerandomise",
            some.size,
            lambda: rerandomise(some),
            (len(sample), lambda: [self.book.encrypt(0) * c % n2 for c in sample]),
        )

    def scalars(self, some: Ciphertexts, xs: list[Any], phe_xs: list[Any]) -> None:
        n2 = self.book.n2
        for name, sign in (("multiply by 64-bit scalar", 1), ("multiply by -63-bit scalar", -1)):
            weights = [sign * (secrets.randbits(62 if sign < 0 else 63) | 1 << (62 if sign < 0 else 63)) for _ in xs]
            weights = weights[: some.size]
            array = np.array(weights, np.int64 if sign < 0 else np.uint64)
            wanted = [gmpy2.powmod(c, w, n2) for c, w in zip(xs, weights, strict=False)]
            assert ints_from_limbs(multiply_plain(some, array).to_limbs()) == wanted
            sample = list(zip(xs, phe_xs, weights, strict=False))[: 4 * SAMPLE]
            self.compare(
                name,
                some.size,
                lambda array=array: multiply_plain(some, array),
                (len(sample), lambda sample=sample: [gmpy2.powmod(c, w, n2) for c, _, w in sample]),
                (len(sample), lambda sample=sample: [c * w for _, c, w in sample]),
            )

    def matrix_product(self) -> None:
        ciphertexts = encrypt(self.key, self.plain(MATMUL_TERMS)[0], engine=self.engine)
        numbers = [gmpy2.mpz(c) for c in ints_from_limbs(ciphertexts.to_limbs())]
        limit = 1 << (MATMUL_BITS - 1)
        plain = [[secrets.randbelow(2 * limit) - limit for _ in range(MATMUL_TERMS)] for _ in range(MATMUL_ROWS)]
        matrix = np.array(plain)
        assert ints_from_limbs(matmul_plain(matrix, ciphertexts).to_limbs()) == self.book.matmul(plain, numbers)
        terms = MATMUL_ROWS * MATMUL_TERMS
        encrypted = [EncryptedNumber(self.phe_public, int(c)) for c in numbers]
        self.compare(
            f"plain @ cipher, {MATMUL_BITS}-bit, per term",
            terms,
            lambda: matmul_plain(matrix, ciphertexts),
            (terms, lambda: self.book.matmul(plain, numbers)),
            (
                MATMUL_TERMS,
                lambda: sum(
                    (c * w for c, w in zip(encrypted[1:], plain[0][1:], strict=True)), encrypted[0] * plain[0][0]
                ),
            ),
        )

    def product(self, numbers: list[Any]) -> Any:
        total = gmpy2.mpz(1)
        for number in numbers:
            total = total * number % self.book.n2
        return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--key-bits", type=int, nargs="+", default=[2048, 3072])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = {"djn": 96, "crt": 192, "standard": 16, "decrypt": 48, "add": 2000, "scalar": 192}
    rows: list[dict[str, Any]] = []
    paths = {}
    for name, engine in (("fastest", CpuEngine(1)), ("portable", CpuEngine(1, path="portable"))):
        paths[name] = engine.describe()["arithmetic"]
        for bits in arguments.key_bits:
            found = Bench(engine, name, bits, counts).run()
            print_rows([row for row in found if "gmpy2_us" in row])
            rows += found
    print(write_results("paillier-cpu", rows, unit="microseconds of processor time an item, one thread", paths=paths))


if __name__ == "__main__":
    main()
