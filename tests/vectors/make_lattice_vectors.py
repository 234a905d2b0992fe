"""Writes lattice.json: known answers of lattice aggregation, by Python's integers and OpenSSL's ChaCha20 alone.

Polynomials are multiplied as long integers, `a` is interpolated from its values point by point: no fast transform.
Run `python tests/vectors/make_lattice_vectors.py` (a quarter of a minute); the output is the same each time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from math import prod
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

FOLDER = Path(__file__).parent
# Degree, primes, lanes, lane bits, dropped bits, dropped bits of a sum, level.
SETS = {
    "A16-16": (2048, (1125899906826241,), 2, 20, 4, 6, 32767),
    "C16-128": (4096, (4398046486529, 4398046240769), 3, 23, 7, 13, 32767),
}
PARTIES = 3
SESSION = b"known answers"
NUMBER = 7


def stream(key: bytes, nonce: bytes, word_count: int) -> list[int]:
    """64-bit little-endian words of the key stream from block 0 on."""
    encryptor = Cipher(ChaCha20(key, bytes(4) + nonce), mode=None).encryptor()
    data = encryptor.update(bytes(8 * word_count))
    return [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]


def nonce(first: int, chunk: int) -> bytes:
    return first.to_bytes(4, "little") + chunk.to_bytes(8, "little")


def cbd(key: bytes, chunk: int, degree: int) -> list[int]:
    words = stream(key, nonce(2**32 - 1, chunk), degree)
    return [(w % 2**21).bit_count() - (w // 2**21 % 2**21).bit_count() for w in words]


def uniform(key: bytes, prime_number: int, p: int, chunk: int, degree: int) -> list[int]:
    words = stream(key, nonce(prime_number, chunk), 4 * degree)
    return [x for w in words if (x := w % 2 ** p.bit_length()) < p][:degree]


def interpolate(values: list[int], p: int) -> list[int]:
    """The coefficients mod p of the polynomial whose value at psi^(2 brv(j) + 1) is values[j]."""
    degree = len(values)
    bits = degree.bit_length() - 1
    orders = (pow(x, (p - 1) // (2 * degree), p) for x in range(2, 1000))
    root = next(r for r in orders if pow(r, degree, p) == p - 1)
    psi = min(pow(root, k, p) for k in range(1, 2 * degree, 2))
    powers = [1]
    for _ in range(2 * degree - 1):
        powers.append(powers[-1] * psi % p)
    exponents = [2 * int(f"{j:0{bits}b}"[::-1], 2) + 1 for j in range(degree)]
    inverse = pow(degree, -1, p)
    return [
        sum(value * powers[-e * n % (2 * degree)] for value, e in zip(values, exponents, strict=True)) * inverse % p
        for n in range(degree)
    ]


def chinese(rows: list[list[int]], primes: tuple[int, ...]) -> list[int]:
    q = prod(primes)
    weights = [q // p * pow(q // p, -1, p) for p in primes]
    return [sum(w * r for w, r in zip(weights, column, strict=True)) % q for column in zip(*rows, strict=True)]


def multiply(a: list[int], s: list[int], q: int) -> list[int]:
    """a s mod X^N + 1 and q, for small s: two long products, of its positive and of its negative part."""
    degree, width = len(a), q.bit_length() // 8 + 5
    long_a = int.from_bytes(b"".join(x.to_bytes(width, "little") for x in a), "little")
    result = [0] * degree
    for sign in (1, -1):
        part = b"".join(max(0, sign * x).to_bytes(width, "little") for x in s)
        data = (long_a * int.from_bytes(part, "little")).to_bytes(2 * degree * width, "little")
        for n in range(2 * degree):
            x = int.from_bytes(data[n * width : (n + 1) * width], "little")
            result[n % degree] += sign * x if n < degree else -sign * x
    return [x % q for x in result]


def round_off(x: int, bits: int) -> int:
    return (x + 2**bits // 2) // 2**bits


def write(coefficients: list[int], bits: int, prime_count: int) -> bytes:
    sizes = [bits] if prime_count == 1 else [(bits + 1) // 2, bits // 2]
    written = b""
    for size in sizes:
        number = sum(x % 2**size * 2 ** (size * i) for i, x in enumerate(coefficients))
        written += number.to_bytes(-(-len(coefficients) * size // 8), "little")
        coefficients = [x >> size for x in coefficients]
    return written


def values_of(name: str, count: int, level: int) -> list[int]:
    data = hashlib.shake_256(name.encode()).digest(4 * count)
    return [int.from_bytes(data[4 * i : 4 * i + 4], "little") % (2 * level + 1) - level for i in range(count)]


def chunks(value_count: int, lanes: int, degree: int) -> Iterator[tuple[int, int, int]]:
    """Number, first value and used coefficients of each chunk."""
    per_chunk = lanes * degree - 1
    for number in range(-(-value_count // per_chunk)):
        in_chunk = min(per_chunk, value_count - number * per_chunk)
        yield number, number * per_chunk, -(-(in_chunk + 1) // lanes)


def case(name: str) -> dict[str, object]:
    degree, primes, lanes, lane_bits, dropped, sum_dropped, level = SETS[name]
    q = prod(primes)
    delta, q_bits = q >> (lanes * lane_bits), q.bit_length()
    value_count = lanes * degree - 1 + 1001
    fields = (b"hekat-a-v1", SESSION, NUMBER.to_bytes(8, "big"), name.encode())
    public_key = hashlib.sha256(b"".join(len(f).to_bytes(4, "big") + f for f in fields)).digest()
    seeds = [hashlib.sha256(f"secret {name} {i}".encode()).digest() for i in range(PARTIES)]
    error_keys = [hashlib.sha256(f"error {name} {i}".encode()).digest() for i in range(PARTIES)]
    values = [values_of(f"values {name} {i}", value_count, level) for i in range(PARTIES)]
    written = [b""] * PARTIES
    written_sum = b""
    for chunk, first, used in chunks(value_count, lanes, degree):
        rows = [interpolate(uniform(public_key, i, p, chunk, degree), p) for i, p in enumerate(primes)]
        a = chinese(rows, primes)
        total = [0] * used
        for party in range(PARTIES):
            lane_values = [1, *values[party][first : first + lanes * degree - 1]]
            lane_values += [0] * (lanes * used - len(lane_values))
            m = [sum(lane_values[j * used + n] * 2 ** (j * lane_bits) for j in range(lanes)) for n in range(used)]
            mask = multiply(a, cbd(seeds[party], 0, degree), q)
            errors = cbd(error_keys[party], chunk, degree)
            masked = [(mask[n] + errors[n] + delta * m[n]) % q for n in range(used)]
            sent = [round_off(x, dropped) for x in masked]
            written[party] += write(sent, q_bits - dropped, len(primes))
            total = [x + y for x, y in zip(total, sent, strict=True)]
        rounded = [round_off(x * 2**dropped % q, sum_dropped) for x in total]
        written_sum += write(rounded, q_bits - sum_dropped, len(primes))
    sums = [sum(column) for column in zip(*values, strict=True)]
    return {
        "set": name,
        "session": SESSION.hex(),
        "number": NUMBER,
        "public_key": public_key.hex(),
        "secret_seeds": [seed.hex() for seed in seeds],
        "error_keys": [key.hex() for key in error_keys],
        "value_count": value_count,
        "contribution_bytes": len(written[0]),
        "contribution_starts": [data[:32].hex() for data in written],
        "contribution_sha256": [hashlib.sha256(data).hexdigest() for data in written],
        "sum_bytes": len(written_sum),
        "sum_start": written_sum[:32].hex(),
        "sum_sha256": hashlib.sha256(written_sum).hexdigest(),
        "sums_sha256": hashlib.sha256(b"".join(x.to_bytes(8, "little", signed=True) for x in sums)).hexdigest(),
    }


if __name__ == "__main__":
    (FOLDER / "lattice.json").write_text(json.dumps([case(name) for name in SETS], indent=1) + "\n")
