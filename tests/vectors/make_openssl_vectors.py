"""Writes openssl.json: known answers of the engine operations, computed by OpenSSL's BN library alone.

Run `python tests/vectors/make_openssl_vectors.py`; the output is the same each time, but for OpenSSL's version.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import openssl_bn as bn

# Bits of the modulus and its shape; "squared": the square of a root of half as many bits.
CASES = [(512, "ones"), (516, "below"), (520, "ones"), (521, "above"), (573, "random"), (1000, "below")]
CASES += [(1024, "squared"), (1040, "squared"), (1041, "random"), (2047, "above"), (2048, "ones"), (2080, "below")]
CASES += [(3072, "random"), (4096, "squared"), (4160, "squared"), (6144, "squared"), (8192, "ones")]
COUNT = 4


def draw(bits: int, name: str) -> int:
    """`bits` bits of SHAKE-256 of `name`."""
    return int.from_bytes(hashlib.shake_256(name.encode()).digest(-(-bits // 8)), "little") >> -bits % 8


def make_modulus(bits: int, shape: str) -> tuple[int, int | None]:
    """An odd number of about `bits` bits, and its root where that is known."""
    top = 1 << bits - 1
    if shape == "squared":
        root = (1 << bits // 2) - 1 - 2 * draw(20, f"root {bits}")
        return bn.multiply(root, root), root
    values = {"ones": 2 * top - 1, "below": 2 * top - 1 - 2 * draw(60, f"below {bits}")}
    values |= {"above": top + 2 * draw(60, f"above {bits}") + 1, "random": top | draw(bits - 1, f"modulus {bits}") | 1}
    return values[shape], None


def hexed(values: list[int]) -> list[str]:
    return [f"{value:x}" for value in values]


def units(bits: int, n: int) -> list[int]:
    """COUNT residues that have an inverse: n - 1, a power of two, others."""
    found = [n - 1, 1 << bits - 2]
    i = 0
    while len(found) < COUNT:
        value = bn.remainder(draw(bits + 64, f"a {bits} {i}"), n)
        found += [value] if bn.has_inverse(value, n) else []
        i += 1
    return found


def modular_case(bits: int, shape: str) -> dict[str, object]:
    n, root = make_modulus(bits, shape)
    a = units(bits, n)
    b = [n - 2, (1 << bits - 2) - 1, 0, *(bn.remainder(draw(bits + 64, f"b {bits} {i}"), n) for i in range(COUNT - 3))]
    e = [(1 << 160) - 1, 0, 1, *(draw(160, f"e {bits} {i}") for i in range(COUNT - 3))]
    width = 128 * -(-n.bit_length() // 64)
    wide = [(1 << width) - 1, *(draw(width, f"wide {bits} {i}") for i in range(COUNT - 1))]
    product, multi = 1, 1
    for i in range(COUNT):
        product = bn.mod_mul(product, a[i], n)
        multi = bn.mod_mul(multi, bn.mod_exp(a[i], -e[i] if i % 2 else e[i], n), n)
    return {
        "bits": n.bit_length(),
        "modulus": f"{n:x}",
        **({} if root is None else {"root": f"{root:x}"}),
        "a": hexed(a),
        "b": hexed(b),
        "exponents": hexed(e),
        "wide": hexed(wide),
        "mod_mul": hexed([bn.mod_mul(x, y, n) for x, y in zip(a, b, strict=True)]),
        "mod_exp": hexed([bn.mod_exp(x, y, n) for x, y in zip(a, e, strict=True)]),
        "mod_exp_fixed_of_first_a": hexed([bn.mod_exp(a[0], y, n) for y in e]),
        "mod_inv": hexed([bn.mod_inverse(x, n) for x in a]),
        "mod_product": f"{product:x}",
        "mod_multi_exp_odd_rows_negative": f"{multi:x}",
        "reduce": hexed([bn.remainder(x, n) for x in wide]),
    }


def integer_case(a_bits: int, b_bits: int) -> dict[str, object]:
    a = draw(a_bits, f"left {a_bits} {b_bits}") | 1 << a_bits - 1
    b = draw(b_bits, f"right {a_bits} {b_bits}") | 1 << b_bits - 1
    quotient, remainder = bn.divide(a, b)
    difference = bn.subtract(a, b)
    return {
        "a": f"{a:x}",
        "b": f"{b:x}",
        "sum": f"{bn.add(a, b):x}",
        "difference": f"{abs(difference):x}",
        "below": difference < 0,
        "product": f"{bn.multiply(a, b):x}",
        "quotient": f"{quotient:x}",
        "remainder": f"{remainder:x}",
    }


def main() -> None:
    pairs = [(520, 520), (1040, 521), (3072, 1536), (8192, 4095)]
    answers = {
        "source": bn.version(),
        "modular": [modular_case(bits, shape) for bits, shape in CASES],
        "integer": [integer_case(*pair) for pair in pairs],
    }
    Path(__file__).with_name("openssl.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
