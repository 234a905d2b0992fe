"""RSA blind signatures on one core beside gmpy2 and OpenSSL (by `cryptography`): same keys, same run.

Keys are the published test keys. Every result is checked before it is timed. All are timed in turns, in processor
time; figures are medians an item, a ratio is the other's time over ours in the same turn; `of_limit` as in
bench_paillier.py. Ours signs in constant time, blinds the base and checks each signature. gmpy2 does neither: two
powers mod p and q, and their join. OpenSSL blinds, checks, and pads (PKCS #1 v1.5 of a given digest), one at a time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import gmpy2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa, utils

from hekat.engine.cpu import CpuEngine
from hekat.engine.limbs import ints_from_limbs
from hekat.rsa import PrivateKey, blind, hash_to_group, sign, unblind, verify
from measuring.comparison import REPEATS, Call, beside_peers
from measuring.hardware_limit import Work, any_modulus
from measuring.peers import random_below
from measuring.record import machine, print_rows, write_results

KEY_FILE = Path(__file__).parents[1] / "tests" / "vectors" / "rsa_keys.json"
# By halves, beside gmpy2.
SIGN, TO_REACH = "sign", 4
BATCH, SIGN_BATCH, SAMPLE = 1024, 128, 32
QUICK_BATCH = 16
COLUMNS = (
    "operation", "key_bits", "gmpy2_per_s", "openssl_per_s", "per_s", "us", "times_gmpy2", "times_openssl",
    "of_limit", "to_reach",
)  # fmt: skip


class Textbook:
    """Blind signatures in gmpy2, one number at a time."""

    def __init__(self, key: PrivateKey) -> None:
        self.p, self.q = gmpy2.mpz(key.p), gmpy2.mpz(key.q)
        self.n, self.e = self.p * self.q, key.public.e
        self.d_p, self.d_q = (gmpy2.invert(self.e, prime - 1) for prime in (self.p, self.q))
        self.q_inverse = gmpy2.invert(self.q, self.p)

    def blind(self, m: Any) -> tuple[Any, Any]:
        r = random_below(self.n)
        return m * gmpy2.powmod(r, self.e, self.n) % self.n, gmpy2.invert(r, self.n)

    def sign(self, m: Any) -> Any:
        """m^d mod n, joined as Garner does."""
        s_p, s_q = gmpy2.powmod(m, self.d_p, self.p), gmpy2.powmod(m, self.d_q, self.q)
        return s_q + (s_p - s_q) * self.q_inverse % self.p * self.q

    def unblind(self, m: Any, signature: Any, inverse: Any) -> Any:
        signature = signature * inverse % self.n
        assert self.verify(m, signature)
        return signature

    def verify(self, m: Any, signature: Any) -> bool:
        return bool(gmpy2.powmod(signature, self.e, self.n) == m)


class Bench:
    """What client and signer do, under one key in an engine of one thread."""

    def __init__(self, key: PrivateKey, batch: int, repeats: int) -> None:
        self.key, self.repeats = key, repeats
        items = [f"item {index}".encode() for index in range(batch)]
        self.hash = partial(hash_to_group, key.public, items, engine=CpuEngine(1))
        self.hashed = self.hash()
        self.few = self.hashed[:SIGN_BATCH]
        self.book = Textbook(key)
        self.openssl = openssl_key(key)
        self.numbers = [gmpy2.mpz(m) for m in ints_from_limbs(self.hashed.to_limbs())[:SAMPLE]]
        self.ring = any_modulus(key.public.bits)
        self.rows: list[dict[str, Any]] = []

    def run(self) -> list[dict[str, Any]]:
        signatures = sign(self.key, self.few)
        signed = [self.book.sign(m) for m in self.numbers]
        assert ints_from_limbs(signatures.to_limbs())[: len(signed)] == signed
        self.signing()
        self.blinding(signed)
        self.verification(signed)
        return self.rows

    def signing(self) -> None:
        bits = self.key.public.bits
        halves = any_modulus(bits // 2).power(bits // 2).times(2)
        # r^e and the check; the inverse of r in a batch, and the products with both; the join.
        around = self.ring.work(2 + 5 + 1, 32, of="blinding, join, check")
        digest, how = hashlib.sha256(b"item").digest(), utils.Prehashed(hashes.SHA256())
        self.row(
            SIGN,
            Call(len(self.few), lambda: sign(self.key, self.few)),
            {
                "gmpy2": Call(len(self.numbers), lambda: [self.book.sign(m) for m in self.numbers]),
                "openssl": Call(
                    SAMPLE, lambda: [self.openssl.sign(digest, padding.PKCS1v15(), how) for _ in range(SAMPLE)]
                ),
            },
            halves + around,
        )

    def blinding(self, signed: list[Any]) -> None:
        blinded, state = blind(self.hashed)
        blind_signatures = sign(self.key, blinded)
        assert ints_from_limbs(unblind(state, blind_signatures).to_limbs())[: len(signed)] == signed
        pairs = [self.book.blind(m) for m in self.numbers]
        answers = [(m, self.book.sign(x), inverse) for m, (x, inverse) in zip(self.numbers, pairs, strict=True)]
        assert [self.book.unblind(*answer) for answer in answers] == signed
        self.row(
            "blind",
            Call(len(self.hashed), lambda: blind(self.hashed)),
            {"gmpy2": Call(len(self.numbers), lambda: [self.book.blind(m) for m in self.numbers])},
            self.ring.work(1 + 3 + 1 + 1, 16, of="r^e, its inverse in a batch, the product, the check of units"),
        )
        self.row(
            "unblind and verify",
            Call(len(self.hashed), lambda: unblind(state, blind_signatures)),
            {"gmpy2": Call(len(answers), lambda: [self.book.unblind(*answer) for answer in answers])},
            self.ring.work(2, 16, of="the product, s^e"),
        )

    def verification(self, signed: list[Any]) -> None:
        signatures = sign(self.key, self.hashed)
        assert verify(self.hashed, signatures).all()
        assert all(map(self.book.verify, self.numbers, signed))
        digest, how = hashlib.sha256(b"item").digest(), utils.Prehashed(hashes.SHA256())
        theirs = self.openssl.sign(digest, padding.PKCS1v15(), how)
        check = partial(self.openssl.public_key().verify, theirs, digest, padding.PKCS1v15(), how)
        self.row(
            "verify",
            Call(len(self.hashed), lambda: verify(self.hashed, signatures)),
            {
                "gmpy2": Call(len(signed), lambda: list(map(self.book.verify, self.numbers, signed))),
                "openssl": Call(SAMPLE, lambda: [check() for _ in range(SAMPLE)]),
            },
            self.ring.work(1, 16, of="s^e"),
        )

    def row(self, operation: str, ours: Call, peers: dict[str, Call], work: Work) -> None:
        found = beside_peers(ours, peers, work, self.repeats)
        row = {"operation": operation, "key_bits": self.key.public.bits, **found, "peer": "gmpy2"}
        if operation == SIGN:
            row |= {"to_reach": f"{TO_REACH} x gmpy2", "reached": found["times_gmpy2"] >= TO_REACH}
        print(f"{operation}, {self.key.public.bits} bits: {found['per_s']:,.0f} a second", flush=True)
        self.rows.append(row)


def openssl_key(key: PrivateKey) -> rsa.RSAPrivateKey:
    """The same key in OpenSSL."""
    p, q, e = key.p, key.q, key.public.e
    d = rsa.rsa_recover_private_exponent(e, p, q)
    halves = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
    return rsa.RSAPrivateNumbers(p, q, d, *halves, rsa.RSAPublicNumbers(e, key.public.n)).private_key()


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
    batch, repeats = (QUICK_BATCH, 2) if options.quick else (BATCH, REPEATS)
    for name, value in machine().items():
        print(f"{name}: {value}")
    rows = [row for bits in options.key_bits for row in Bench(stored_key(bits), batch, repeats).run()]
    print_rows(rows, COLUMNS)
    if not options.quick:
        print(write_results("rsa-cpu", rows, engine=CpuEngine(1).describe()))


if __name__ == "__main__":
    main()
