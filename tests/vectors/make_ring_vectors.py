"""Writes ring.json: known answers of the ring operations, by the reference engine; long ones as digests.

Run `python tests/vectors/make_ring_vectors.py`; the output is the same each time. They hold the specification to what
it was: its streams, transforms and layouts are checked against other libraries in tests/conformance/ring.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from hekat.engine.reference import ReferenceEngine
from hekat.engine.ring.parameters import MaskFormat, Ring

ENGINE = ReferenceEngine()
# Degree, primes: one and two, small and of 50 bits, and just above powers of two.
RINGS = [
    (1024, (12289,)),
    (2048, (2199023288321,)),
    (2048, (1125899906826241,)),
    (4096, (562949954093057, 137439010817)),
    (8192, (65537, 1125899906826241)),
]
# Degree, primes, lanes, bits of a lane, dropped bits, dropped bits of a sum.
FORMATS = {
    "A8-32": (2048, (1125899906826241,), 3, 13, 4, 7),
    "A16-16": (2048, (1125899906826241,), 2, 20, 4, 6),
    "A32-32": (2048, (1125899906826241,), 1, 37, 7, 11),
    "C16-128": (4096, (4398046486529, 4398046240769), 3, 23, 7, 13),
    "C24-128": (4096, (549755731969, 274877816833), 2, 31, 7, 13),
    "C16-256": (4096, (17592186028033, 17592185659393), 3, 24, 7, 14),
}
FIRST_CHUNK = 2**33 + 1
# One of them with a whole chunk and a last one that is not.
VALUE_COUNTS = {"A16-16": 2 * 2048 + 6}
VALUE_COUNT = 100


def seed(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def lift(ring: Ring, coefficients: Any) -> Any:
    return np.stack([np.mod(coefficients, p) for p in ring.primes]).astype(np.uint64)


def values_of(name: str, party: int, count: int) -> Any:
    """Values below 2^7: 8 bits of SHAKE-256 each, less 128, but for -128 which is 0."""
    data = np.frombuffer(hashlib.shake_256(f"{name} {party}".encode()).digest(count), np.int8).astype(np.int32)
    return np.where(data == -128, 0, data).astype(np.int32)


def ring_case(degree: int, primes: tuple[int, ...]) -> dict[str, object]:
    ring = Ring(degree, primes)
    uniform = ENGINE.expand_uniform(ring, seed("uniform"), FIRST_CHUNK, 1)
    small = ENGINE.sample_cbd(seed("small"), FIRST_CHUNK, 1, degree)
    return {
        "degree": degree,
        "primes": primes,
        "roots": ring.roots,
        "uniform_first": uniform[0, :, :4].tolist(),
        "uniform": digest(uniform),
        "small_first": small[0, :16].tolist(),
        "small": digest(small),
        "ntt_of_small": digest(ENGINE.ring_ntt(ring, lift(ring, small[0].astype(np.int64)))),
        "intt_of_uniform": digest(ENGINE.ring_intt(ring, uniform)),
    }


def format_case(name: str) -> dict[str, object]:
    """Two parties' blocks, their sum, and what it opens to."""
    degree, primes, lanes, lane_bits, dropped_bits, sum_dropped_bits = FORMATS[name]
    ring = Ring(degree, primes)
    form = MaskFormat(ring, lanes, lane_bits, dropped_bits, sum_dropped_bits)
    count = VALUE_COUNTS.get(name, VALUE_COUNT)
    accumulator = np.zeros(form.field_count(count), np.uint64)
    secret_sum, blocks = np.zeros(degree, np.int64), []
    for party in (1, 2):
        secret = ENGINE.sample_cbd(seed(f"secret {party}"), 0, 1, degree)[0].astype(np.int64)
        secret_ntt = ENGINE.ring_ntt(ring, lift(ring, secret))
        values = values_of(name, party, count)
        errors = seed(f"errors {party}")
        block = ENGINE.mask_values(form, seed("public"), secret_ntt, errors, FIRST_CHUNK, values)
        ENGINE.add_masked(form, accumulator, block, count)
        secret_sum, blocks = secret_sum + secret, [*blocks, block]
    written = ENGINE.write_sum(form, accumulator, count)
    opening = ENGINE.ring_ntt(ring, lift(ring, secret_sum))
    sums, counts = ENGINE.unmask_sum(form, seed("public"), opening, FIRST_CHUNK, written, count)
    return {
        "name": name,
        "degree": degree,
        "primes": primes,
        "lanes": lanes,
        "lane_bits": lane_bits,
        "dropped_bits": dropped_bits,
        "sum_dropped_bits": sum_dropped_bits,
        "value_count": count,
        "block_sizes": [len(block) for block in blocks],
        "block_first": blocks[0][:24].tobytes().hex(),
        "blocks": [digest(block) for block in blocks],
        "accumulator": digest(accumulator),
        "sum_size": len(written),
        "sum": digest(written),
        "values": digest(sums),
        "counts": counts.tolist(),
    }


def main() -> None:
    answers = {
        "source": "the reference engine of Hekat",
        "first_chunk": FIRST_CHUNK,
        "rings": [ring_case(*ring) for ring in RINGS],
        "formats": [format_case(name) for name in FORMATS],
    }
    Path(__file__).with_name("ring.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
