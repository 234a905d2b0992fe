"""Conformance: stored answers of ring operations (tests/vectors/ring.json)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from hekat.engine.ring.parameters import MaskFormat

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "ring.json").read_text())
FIRST_CHUNK = VECTORS["first_chunk"]


def seed(name):
    return hashlib.sha256(name.encode()).digest()


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def values_of(name, party, count):
    data = np.frombuffer(hashlib.shake_256(f"{name} {party}".encode()).digest(count), np.int8).astype(np.int32)
    return np.where(data == -128, 0, data).astype(np.int32)


@pytest.mark.parametrize("case", VECTORS["rings"], ids=lambda case: f"{case['degree']}-{len(case['primes'])}")
def test_streams_and_transforms(engine, oracle, case):
    ring = oracle.make_ring(case["degree"], tuple(case["primes"]))
    assert list(ring.roots) == case["roots"]
    uniform = engine.expand_uniform(ring, seed("uniform"), FIRST_CHUNK, 1)
    assert uniform[0, :, :4].tolist() == case["uniform_first"]
    assert digest(uniform) == case["uniform"]
    small = engine.sample_cbd(seed("small"), FIRST_CHUNK, 1, ring.degree)
    assert small[0, :16].tolist() == case["small_first"]
    assert digest(small) == case["small"]
    assert digest(engine.ring_ntt(ring, oracle.lift(ring, small[0]))) == case["ntt_of_small"]
    assert digest(engine.ring_intt(ring, uniform)) == case["intt_of_uniform"]


@pytest.mark.quick_values
@pytest.mark.parametrize("case", VECTORS["formats"], ids=lambda case: case["name"])
def test_blocks_and_their_sum(engine, oracle, case):
    ring = oracle.make_ring(case["degree"], tuple(case["primes"]))
    form = MaskFormat(ring, case["lanes"], case["lane_bits"], case["dropped_bits"], case["sum_dropped_bits"])
    count, public_key = case["value_count"], seed("public")
    accumulator, secret_sum = np.zeros(form.field_count(count), np.uint64), np.zeros(ring.degree, np.int64)
    expected = np.zeros(count, np.int64)
    for party, (size, block_digest) in enumerate(zip(case["block_sizes"], case["blocks"], strict=True), 1):
        secret = engine.sample_cbd(seed(f"secret {party}"), 0, 1, ring.degree)[0].astype(np.int64)
        secret_ntt = engine.ring_ntt(ring, oracle.lift(ring, secret))
        values = values_of(case["name"], party, count)
        block = engine.mask_values(form, public_key, secret_ntt, seed(f"errors {party}"), FIRST_CHUNK, values)
        assert len(block) == size
        assert party != 1 or block[:24].tobytes().hex() == case["block_first"]
        assert digest(block) == block_digest
        engine.add_masked(form, accumulator, block, count)
        secret_sum, expected = secret_sum + secret, expected + values
    assert digest(accumulator) == case["accumulator"]
    written = engine.write_sum(form, accumulator, count)
    assert len(written) == case["sum_size"]
    assert digest(written) == case["sum"]
    opening = engine.ring_ntt(ring, oracle.lift(ring, secret_sum))
    found, counts = engine.unmask_sum(form, public_key, opening, FIRST_CHUNK, written, count)
    assert counts.tolist() == case["counts"] == [2] * form.chunk_count(count)
    assert np.array_equal(found, expected)
    assert digest(found) == case["values"]
