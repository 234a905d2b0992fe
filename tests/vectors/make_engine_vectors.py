"""Writes engine.json: known answers of the engine operations, computed by gmpy2 (GMP) alone, without Hekat.

Run `python tests/vectors/make_engine_vectors.py`; the output is the same each time.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import gmpy2

SIZES = [3, 64, 65, 127, 129, 1000, 1024, 2047, 2048, 3071, 4096]
COUNT = 5


def number(bits: int, name: str) -> gmpy2.mpz:
    """`bits` bits of SHAKE-256 of `name`."""
    data = hashlib.shake_256(name.encode()).digest(-(-bits // 8))
    return gmpy2.mpz.from_bytes(data, "little") % (gmpy2.mpz(1) << bits)


def hexed(values: list[gmpy2.mpz]) -> list[str]:
    return [gmpy2.digits(value, 16) for value in values]


def modular_case(bits: int) -> dict[str, object]:
    """One prime modulus, residues and exponents with the answer of each modular operation."""
    n = gmpy2.next_prime((gmpy2.mpz(1) << (bits - 1)) + number(bits - 2, f"modulus {bits}"))
    a = [number(bits + 64, f"a {bits} {i}") % (n - 1) + 1 for i in range(COUNT)]
    b = [n - 1, n - 2 if n > 3 else n - 1, *(number(bits + 64, f"b {bits} {i}") % n for i in range(COUNT - 2))]
    e = [number(160, f"e {bits} {i}") for i in range(COUNT)]
    wide = [number(128 * -(-bits // 64), f"wide {bits} {i}") for i in range(COUNT)]
    product = gmpy2.mpz(1)
    multi = gmpy2.mpz(1)
    for i in range(COUNT):
        product = product * a[i] % n
        multi = multi * gmpy2.powmod(a[i], -e[i] if i % 2 else e[i], n) % n
    return {
        "bits": bits,
        "modulus": gmpy2.digits(n, 16),
        "a": hexed(a),
        "b": hexed(b),
        "exponents": hexed(e),
        "wide": hexed(wide),
        "mod_mul": hexed([x * y % n for x, y in zip(a, b, strict=True)]),
        "mod_exp": hexed([gmpy2.powmod(x, y, n) for x, y in zip(a, e, strict=True)]),
        "mod_exp_fixed_of_first_a": hexed([gmpy2.powmod(a[0], y, n) for y in e]),
        "mod_inv": hexed([gmpy2.invert(x, n) for x in a]),
        "mod_product": gmpy2.digits(product, 16),
        "mod_multi_exp_odd_rows_negative": gmpy2.digits(multi, 16),
        "reduce": hexed([x % n for x in wide]),
    }


def integer_case(a_bits: int, b_bits: int) -> dict[str, object]:
    """Two integers of the given sizes and the answer of each integer operation."""
    a = number(a_bits, f"left {a_bits} {b_bits}") | gmpy2.mpz(1) << (a_bits - 1)
    b = number(b_bits, f"right {a_bits} {b_bits}") | gmpy2.mpz(1) << (b_bits - 1)
    quotient, remainder = gmpy2.f_divmod(a, b)
    return {
        "a": gmpy2.digits(a, 16),
        "b": gmpy2.digits(b, 16),
        "sum": gmpy2.digits(a + b, 16),
        "difference": gmpy2.digits(abs(a - b), 16),
        "below": bool(a < b),
        "product": gmpy2.digits(a * b, 16),
        "quotient": gmpy2.digits(quotient, 16),
        "remainder": gmpy2.digits(remainder, 16),
    }


def main() -> None:
    pairs = [(64, 64), (64, 1), (128, 65), (512, 511), (1000, 2000), (2048, 64), (4096, 2048), (6144, 3071)]
    answers = {
        "source": f"gmpy2 {gmpy2.version()}, {gmpy2.mp_version()}",
        "modular": [modular_case(bits) for bits in SIZES],
        "integer": [integer_case(*pair) for pair in pairs],
    }
    Path(__file__).with_name("engine.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
