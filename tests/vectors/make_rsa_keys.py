"""Writes rsa_keys.json: published RSA test keys, made by gmpy2 (GMP) from SHAKE-256 of their names, without Hekat.

Run `python tests/vectors/make_rsa_keys.py`; the output is the same each time.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import gmpy2

FOLDER = Path(__file__).parent
EXPONENT = 65537
COUNTS = {512: 2, 1024: 1, 2048: 2, 3072: 1}


def prime(bits: int, name: str) -> gmpy2.mpz:
    """The first prime from SHAKE-256 of `name` on, top two bits set, less one no multiple of EXPONENT."""
    start = gmpy2.mpz.from_bytes(hashlib.shake_256(name.encode()).digest(bits // 8), "little")
    found = gmpy2.next_prime(start | gmpy2.mpz(3) << (bits - 2))
    while (found - 1) % EXPONENT == 0:
        found = gmpy2.next_prime(found)
    return found


def key(bits: int, index: int) -> dict[str, str]:
    primes = {name: prime(bits // 2, f"rsa test key {bits} {index} {name}") for name in ("p", "q")}
    assert gmpy2.bit_length(primes["p"] * primes["q"]) == bits
    return {name: gmpy2.digits(value, 16) for name, value in primes.items()}


if __name__ == "__main__":
    content = {
        "warning": "Test keys. Their private halves are published here and so secret to nobody: never use them.",
        "format": "bits of n -> key pairs of e = 65537, each two primes in hexadecimal",
        "keys": {str(bits): [key(bits, index) for index in range(count)] for bits, count in COUNTS.items()},
    }
    (FOLDER / "rsa_keys.json").write_text(json.dumps(content, indent=1) + "\n")
