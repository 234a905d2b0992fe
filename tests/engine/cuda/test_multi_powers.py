"""Both ways to products of powers on a device, whatever the plan would choose, and the plan itself."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda import multi_powers
from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.cuda.multi_powers import MultiExpPlan, plan_multi_exp, read_digits
from hekat.engine.interface import Modulus
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.sparse_exponents import SparseExponents

ROOT = 2**127 - 1
MODULUS = Modulus(ROOT * ROOT, root=ROOT)


@pytest.mark.parametrize("exponent_bits", [1, 7, 64, 100])
@pytest.mark.parametrize("window_bits", [1, 2, 5, 6])
@pytest.mark.parametrize("by_buckets", [False, True])
def test_products_of_powers(monkeypatch, exponent_bits, window_bits, by_buckets):
    def plan(bits, base_count, entry_count, result_count):
        return MultiExpPlan(bits, window_bits, by_buckets, 0)

    monkeypatch.setattr(multi_powers, "plan_multi_exp", plan)
    engine, rng = CudaEngine(EmulatedDevice()), random.Random(exponent_bits)
    values = [rng.randrange(MODULUS.value) for _ in range(9)]
    # Rows of several lengths, an empty one, a base that comes twice; zeros, ones and the longest exponent.
    lengths = [4, 0, 1, 40, 7]
    bases = [rng.randrange(len(values)) for _ in range(sum(lengths))]
    exponents = [rng.getrandbits(exponent_bits) for _ in bases]
    exponents[:3] = [0, 1, 2**exponent_bits - 1]
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    sparse = SparseExponents(limbs_from_ints(exponents, 2), np.array(bases, np.int64), offsets)
    found = engine.mod_multi_exp(engine.load(limbs_from_ints(values, MODULUS.limb_count), MODULUS), sparse)
    expected = [1] * len(lengths)
    for i, row in enumerate(np.repeat(np.arange(len(lengths)), lengths)):
        expected[row] = expected[row] * pow(values[bases[i]], exponents[i], MODULUS.value) % MODULUS.value
    assert ints_from_limbs(engine.store(found)) == expected


def test_bases_beyond_the_scratch_are_taken_in_parts():
    engine, rng = CudaEngine(EmulatedDevice()), random.Random(5)
    engine._table_memory.scratch_bytes = 1
    values = [rng.randrange(MODULUS.value) for _ in range(5)]
    exponents = [[rng.getrandbits(9) for _ in range(2)] for _ in values]
    limbs = np.array(exponents, np.uint64)[..., np.newaxis]
    found = engine.mod_multi_exp(engine.load(limbs_from_ints(values, MODULUS.limb_count), MODULUS), limbs)
    expected = [1, 1]
    for value, row in zip(values, exponents, strict=True):
        expected = [x * pow(value, e, MODULUS.value) % MODULUS.value for x, e in zip(expected, row, strict=True)]
    assert ints_from_limbs(engine.store(found)) == expected


def test_many_terms_of_one_result_go_into_buckets_and_a_matrix_shares_squarings():
    assert plan_multi_exp(32, 100_000, 100_000, 1).by_buckets
    assert not plan_multi_exp(32, 1000, 50_000, 50).by_buckets
    assert not plan_multi_exp(1, 1000, 1000, 1).by_buckets


@pytest.mark.parametrize("bits", [1, 5, 12, 31])
def test_digits_are_read_across_limbs(bits):
    value = random.Random(bits).getrandbits(192)
    limbs = limbs_from_ints([value, 2**192 - 1], 3)
    for first in range(0, 192, bits):
        expected = [x >> first & (1 << bits) - 1 for x in (value, 2**192 - 1)]
        assert read_digits(limbs, first, bits).tolist() == expected
