"""Writes paillier.json: known answers of Paillier, computed by gmpy2 (GMP) alone, without Hekat.

Textbook formulas: c = (n+1)^m r^n mod n^2, and m = L(c^lambda mod n^2) / L((n+1)^lambda mod n^2) with
L(u) = (u-1)/n. Run `python tests/vectors/make_paillier_vectors.py`; the output is the same each time.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import gmpy2

FOLDER = Path(__file__).parent
SIZES = [512, 2048]


def number(bits: int, name: str) -> gmpy2.mpz:
    """`bits` bits of SHAKE-256 of `name`."""
    data = hashlib.shake_256(name.encode()).digest(-(-bits // 8))
    return gmpy2.mpz.from_bytes(data, "little") % (gmpy2.mpz(1) << bits)


def textbook_decrypt(c: gmpy2.mpz, p: gmpy2.mpz, q: gmpy2.mpz) -> gmpy2.mpz:
    n = p * q
    order = gmpy2.lcm(p - 1, q - 1)
    u, v = ((gmpy2.powmod(base, order, n * n) - 1) // n for base in (c, n + 1))
    m = u * gmpy2.invert(v, n) % n
    return m - n if m > n // 2 else m


def case(bits: int) -> dict[str, object]:
    """One stored test key: plaintexts, randomisers, ciphertexts, and products of these."""
    primes = json.loads((FOLDER / "paillier_keys.json").read_text())["keys"][str(bits)][0]
    p, q = (gmpy2.mpz(primes[name], 16) for name in ("p", "q"))
    n, bound = p * q, (p * q - 1) // 2
    plaintexts = [0, 1, -1, bound, -bound, number(bits - 3, f"m {bits}"), -number(64, f"m64 {bits}")]
    randomisers = [number(bits, f"r {bits} {i}") % n for i in range(len(plaintexts))]
    ciphertexts = [
        gmpy2.powmod(n + 1, m % n, n * n) * gmpy2.powmod(r, n, n * n) % n**2
        for m, r in zip(plaintexts, randomisers, strict=True)
    ]
    assert [textbook_decrypt(c, p, q) for c in ciphertexts] == plaintexts
    scalar = -number(70, f"s {bits}")
    return {
        "bits": bits,
        "plaintexts": hexed(plaintexts),
        "ciphertexts": hexed(ciphertexts),
        "first_plus_each": hexed([ciphertexts[0] * c % n**2 for c in ciphertexts]),
        "first_minus_each": hexed([ciphertexts[0] * gmpy2.invert(c, n**2) % n**2 for c in ciphertexts]),
        "scalar": gmpy2.digits(scalar, 16),
        "scalar_times_each": hexed([gmpy2.powmod(c, scalar, n**2) for c in ciphertexts]),
        "each_plus_scalar": hexed([c * gmpy2.powmod(n + 1, scalar, n**2) % n**2 for c in ciphertexts]),
    }


def hexed(values: list[gmpy2.mpz]) -> list[str]:
    return [gmpy2.digits(value, 16) for value in values]


if __name__ == "__main__":
    cases = [case(bits) for bits in SIZES]
    (FOLDER / "paillier.json").write_text(json.dumps(cases, indent=1) + "\n")
