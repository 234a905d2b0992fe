"""The rings, formats and elements that the ring cases are made of, and an oracle in NumPy's integers of any size."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import cache
from typing import Any

import gmpy2
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from hekat.engine.ring.parameters import MaskFormat, Ring

# Python integers take a quarter of a second a chunk: the reference is held to its oracles with these in the long run.
LONG_IN_REFERENCE = ("4096-half", "8192", "A16-16", "A32-32", "C32-128", "thousands")


# Innermost: the mark `quick_values` chooses among the others.
@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    found = yield
    for item in found if isinstance(found, list) else []:
        of_reference = hasattr(item, "callspec") and item.callspec.params.get("engine") == "reference"
        if of_reference and any(part in item.name for part in LONG_IN_REFERENCE):
            item.add_marker(pytest.mark.long)
    return found


def prime_above(power: int, degree: int) -> int:
    """The least prime above 2^power that is 1 mod 2N: of the masked words about half are rejected."""
    p = (1 << power) + 1
    while not gmpy2.is_prime(p):
        p += 2 * degree
    return p


@cache
def primes_below(power: int, degree: int, count: int) -> tuple[int, ...]:
    """The greatest primes below 2^power that are 1 mod 2N."""
    found, p = [], (1 << power) + 1
    while len(found) < count:
        p -= 2 * degree
        if gmpy2.is_prime(p):
            found.append(p)
    return tuple(found)


RINGS = {
    "1024-smallest": (1024, (12289,)),
    "1024-top-two": (1024, primes_below(50, 1024, 2)),
    "2048-half-rejected": (2048, (prime_above(41, 2048),)),
    "2048-top": (2048, primes_below(50, 2048, 1)),
    "4096-half-rejected-two": (4096, (prime_above(49, 4096), prime_above(37, 4096))),
    "4096-smallest": (4096, (40961,)),
    "8192-unlike-two": (8192, (65537, *primes_below(50, 8192, 1))),
    "8192-top": (8192, primes_below(50, 8192, 1)),
}

# As published: value bits, parties, degree, primes, slots, slot bits, delta, dropped bits, dropped bits of a sum.
SETS = {
    "A8-4": (8, 4, 2048, (1125899906826241,), 4, 10, 1023, 7, 8),
    "A16-4": (16, 4, 2048, (70368744067073,), 2, 18, 1023, 7, 8),
    "A24-4": (24, 4, 2048, (68719464449,), 1, 26, 1023, 7, 8),
    "A32-4": (32, 4, 2048, (17592186028033,), 1, 34, 1023, 7, 8),
    "A8-32": (8, 32, 2048, (1125899906826241,), 3, 13, 2047, 4, 7),
    "A8-128": (8, 128, 2048, (35184372060161,), 2, 15, 32767, 7, 13),
    "A16-16": (16, 16, 2048, (1125899906826241,), 2, 20, 1023, 4, 6),
    "A16-128": (16, 128, 2048, (274877820929,), 1, 23, 32767, 7, 13),
    "C16-128": (16, 128, 4096, (4398046486529, 4398046240769), 3, 23, 32767, 7, 13),
    "A24-128": (24, 128, 2048, (70368744067073,), 1, 31, 32767, 7, 13),
    "C24-128": (24, 128, 4096, (549755731969, 274877816833), 2, 31, 32767, 7, 13),
    "A32-32": (32, 32, 2048, (1125899906826241,), 1, 37, 8191, 7, 11),
    "C32-128": (32, 128, 4096, (140737488273409, 70368743669761), 2, 39, 32767, 7, 13),
    "A24-256": (24, 256, 2048, (281474976694273,), 1, 32, 65535, 7, 14),
    "A16-256": (16, 256, 2048, (1099511590913,), 1, 24, 65535, 7, 14),
    "C16-256": (16, 256, 4096, (17592186028033, 17592185659393), 3, 24, 65535, 7, 14),
}
# What is like another set but for its numbers.
LONG_SETS = ("A8-4", "A24-4", "A32-4", "A8-128", "A16-128", "A24-128", "C24-128", "A24-256", "A16-256", "C16-256")


@dataclass(frozen=True)
class Published:
    """A published set: its format, and what it promises."""

    name: str
    form: MaskFormat
    delta: int
    value_bits: int
    party_count: int

    @property
    def value_limit(self) -> int:
        return (1 << (self.value_bits - 1)) - 1

    @property
    def sum_limit(self) -> int:
        return self.party_count * self.value_limit

    @property
    def noise_limit(self) -> int:
        """The most that errors and roundings of all parties add to a coefficient of the written sum."""
        d, d2 = self.form.dropped_bits, self.form.sum_dropped_bits
        return self.party_count * (21 + (1 << d >> 1)) + (1 << d2 >> 1)


@cache
def published_set(name: str) -> Published:
    value_bits, party_count, degree, primes, slots, slot_bits, delta, dropped, sum_dropped = SETS[name]
    form = MaskFormat(make_ring(degree, primes), slots, slot_bits, dropped, sum_dropped)
    return Published(name, form, delta, value_bits, party_count)


@cache
def make_ring(degree: int, primes: tuple[int, ...]) -> Ring:
    """One object for each ring, so that its roots are found once."""
    return Ring(degree, primes)


@pytest.fixture(params=RINGS)
def ring(request: pytest.FixtureRequest) -> Ring:
    """Every degree, one and two primes, the smallest, the greatest, and those of which most words are rejected."""
    return make_ring(*RINGS[request.param])


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.long] if name in LONG_SETS else []) for name in SETS])
def published(request: pytest.FixtureRequest) -> Published:
    return published_set(request.param)


class Oracle:
    """Elements as object arrays of integers, streams from OpenSSL, bytes from NumPy's bits."""

    make_ring = staticmethod(make_ring)
    published_set = staticmethod(published_set)
    prime_above = staticmethod(prime_above)
    primes_below = staticmethod(primes_below)
    format = staticmethod(MaskFormat)

    @staticmethod
    def stream(key: bytes, nonce: bytes, counter: int, byte_count: int) -> Any:
        """The key stream by OpenSSL, as bytes in an array."""
        encryptor = Cipher(ChaCha20(key, counter.to_bytes(4, "little") + nonce), None).encryptor()
        return np.frombuffer(encryptor.update(bytes(byte_count)), np.uint8)

    @staticmethod
    def words(key: bytes, number: int, chunk: int, count: int) -> Any:
        nonce = number.to_bytes(4, "little") + chunk.to_bytes(8, "little")
        return Oracle.stream(key, nonce, 0, 8 * count).view("<u8")

    @staticmethod
    def primes(ring: Ring) -> Any:
        """A column that broadcasts against elements."""
        return np.array(ring.primes, np.uint64)[:, np.newaxis]

    @staticmethod
    def random(ring: Ring, shape: tuple[int, ...], seed: int) -> Any:
        rows = [np.random.default_rng([seed, p]).integers(0, p, (*shape, ring.degree), np.uint64) for p in ring.primes]
        return np.stack(rows, axis=-2)

    @staticmethod
    def structured(ring: Ring) -> dict[str, Any]:
        """Elements that carry bugs are found with."""
        highest = Oracle.primes(ring) - np.uint64(1)
        zeros = np.zeros((len(ring.primes), ring.degree), np.uint64)
        first, last, alternating = zeros.copy(), zeros.copy(), zeros.copy()
        first[:, :1], last[:, -1:], alternating[:, ::2] = highest, highest, highest
        ones = zeros + np.uint64(1)
        return {
            "zeros": zeros,
            "ones": ones,
            "all p-1": zeros + highest,
            "first p-1": first,
            "last p-1": last,
            "alternating": alternating,
            "half": zeros + highest // np.uint64(2),
        }

    @staticmethod
    def lift(ring: Ring, integers: Any) -> Any:
        """Integers (..., N) of any size as canonical residues (..., primes, N)."""
        rows = [np.asarray(np.asarray(integers, object) % p, np.uint64) for p in ring.primes]
        return np.stack(rows, axis=-2)

    @staticmethod
    def integers(ring: Ring, element: Any) -> Any:
        """Residues (..., primes, N) as integers mod q."""
        q, parts = ring.modulus, []
        for i, p in enumerate(ring.primes):
            parts.append(element[..., i, :].astype(object) * (q // p * pow(q // p, -1, p)))
        return sum(parts) % q

    @staticmethod
    def constant(ring: Ring, value: int) -> Any:
        """The element of which all coefficients are `value`."""
        return Oracle.lift(ring, np.full(ring.degree, value, object))

    @staticmethod
    def write(coefficients: Any, field_bits: tuple[int, ...]) -> Any:
        """The bytes of one chunk of written integers."""
        planes, shift = [], 0
        for bits in field_bits:
            fields = np.asarray(np.asarray(coefficients, object) >> shift & (1 << bits) - 1, np.uint64)
            planes.append(
                np.packbits((fields[:, np.newaxis] >> np.arange(bits, dtype=np.uint64)) & 1, bitorder="little")
            )
            shift += bits
        return np.concatenate(planes)

    @staticmethod
    def read(written: Any, used: int, field_bits: tuple[int, ...]) -> tuple[Any, Any]:
        """The integers of one chunk's `used` coefficients, and the bytes behind it."""
        total, shift = np.zeros(used, object), 0
        for bits in field_bits:
            byte_count = -(-used * bits // 8)
            plane, written = np.unpackbits(written[:byte_count], bitorder="little"), written[byte_count:]
            weights = np.array([1 << i for i in range(bits)], object)
            total = total + (plane[: used * bits].reshape(used, bits).astype(object) @ weights << shift)
            shift += bits
        return total, written

    @staticmethod
    def used(form: MaskFormat, value_count: int) -> list[int]:
        """Coefficients that each chunk uses."""
        return [form.ring.degree] * (form.chunk_count(value_count) - 1) + [form.last_used(value_count)]

    @staticmethod
    def messages(form: MaskFormat, values: Any, addend_count: int = 1) -> list[Any]:
        """The integers m of each chunk's used coefficients."""
        chunks, at = [], 0
        for used in Oracle.used(form, len(values)):
            slots = np.zeros(form.slots * used, object)
            part = np.asarray(values[at : at + min(form.slots * used - 1, form.values_per_chunk)], object)
            slots[0], slots[1 : 1 + len(part)] = addend_count, part
            at += len(part)
            chunks.append(sum(slots[j * used : (j + 1) * used] << j * form.slot_bits for j in range(form.slots)))
        assert at == len(values)
        return chunks

    @staticmethod
    def round_off(x: Any, bits: int) -> Any:
        return x + (1 << bits >> 1) >> bits


@pytest.fixture(scope="session")
def oracle() -> type[Oracle]:
    return Oracle
