"""Writes known_answers.txt with OpenSSL's BN library: one case a line, an operation and its numbers in hexadecimal.

Run `python native/tests/make_known_answers.py`. The first line, after a #, names the library and its version.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "vectors"))
import openssl_bn as bn

MODULUS_BITS = (2, 3, 64, 65, 127, 128, 512, 513, 520, 521, 573, 1000, 1024, 1040, 1041, 2047, 2080, 3071, 8192)
SEED = 20261121


def special_values(bits: int, rng: random.Random) -> list[int]:
    """Values that carry far: all ones, sparse limbs, single bits, and one at random."""
    limbs = -(-bits // 64)
    sparse = sum(rng.choice((0, 0, 1, 1 << 63, (1 << 64) - 1)) << (64 * i) for i in range(limbs))
    return [0, 1, (1 << bits) - 1, 1 << (bits - 1), sparse & ((1 << bits) - 1), rng.getrandbits(bits)]


def odd_moduli(bits: int, rng: random.Random) -> list[int]:
    """All ones, barely above a power of two, sparse, random: odd, of exactly `bits` bits, above 1."""
    top = 1 << (bits - 1)
    found = {(1 << bits) - 1, top | 1, top | special_values(bits, rng)[4] | 1, top | rng.getrandbits(bits) | 1}
    moduli = sorted(n for n in found if n > 1)
    return moduli if bits < 3000 else rng.sample(moduli, 2)


def modular_cases(rng: random.Random) -> list[str]:
    lines = []
    for bits in MODULUS_BITS:
        for n in odd_moduli(bits, rng):
            values = [value % n for value in special_values(bits, rng)] + [n - 1, n // 2]
            for a in rng.sample(values, 4 if bits < 3000 else 2):
                b = rng.choice(values)
                lines.append(f"mul {n:x} {a:x} {b:x} {bn.mod_mul(a, b, n):x}")
                exponent = rng.choice(special_values(rng.choice((64, 128, 320)), rng))
                lines.append(f"exp {n:x} {a:x} {exponent:x} {bn.mod_exp(a, exponent, n):x}")
                inverse = f"{bn.mod_inverse(a, n):x}" if bn.has_inverse(a, n) else "none"
                lines.append(f"inv {n:x} {a:x} {inverse}")
            wide = rng.choice(special_values(2 * 64 * -(-bits // 64), rng))
            lines.append(f"reduce {n:x} {wide:x} {bn.remainder(wide, n):x}")
            lines.append(multi_power_case(n, bits, rng))
    return lines


def multi_power_case(n: int, bits: int, rng: random.Random) -> str:
    """A product of powers, minus signs only where the base has an inverse."""
    terms = []
    for value in special_values(bits, rng)[1:]:
        exponent = rng.choice(special_values(rng.choice((8, 40, 128)), rng))
        sign = -1 if bn.has_inverse(value % n, n) and rng.random() < 0.5 else 1
        terms.append((value % n, sign * exponent))
    result = 1
    for base, exponent in terms:
        result = bn.mod_mul(result, bn.mod_exp(base, exponent, n), n)
    return f"multi {n:x} {' '.join(f'{base:x} {exponent:x}' for base, exponent in terms)} {result:x}"


def divide_case(a: int, b: int) -> str:
    quotient, remainder = bn.divide(a, b)
    return f"divide {a:x} {b:x} {quotient:x} {remainder:x}"


def integer_cases(rng: random.Random) -> list[str]:
    lines = []
    for a_bits, b_bits in ((64, 64), (128, 64), (128, 128), (320, 192), (576, 512), (1024, 1088), (2048, 960)):
        for a in special_values(a_bits, rng):
            for b in rng.sample(special_values(b_bits, rng), 3):
                lines.append(f"product {a:x} {b:x} {bn.multiply(a, b):x}")
                if b:
                    lines.append(divide_case(a, b))
    # Here the estimate of a quotient's digit stays one too large, and the divisor is added back (Knuth 4.3.1, D6).
    top = 1 << 63
    for a, b in (
        (top << 128 | 3, 1 << 61 << 128 | 1),
        ((top - 1) << 192 | top << 128, top << 128 | 1),
        (top << 192 | (top - 1) << 128 | 5, top << 128 | (1 << 64) - 1),
    ):
        lines.append(divide_case(a, b))
    return lines


def main() -> None:
    rng = random.Random(SEED)  # noqa: S311 - test cases, the same every time
    lines = [f"# {bn.version()}", *modular_cases(rng), *integer_cases(rng)]
    Path(__file__).with_name("known_answers.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
