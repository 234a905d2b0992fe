"""Conformance: load, reduce, store, take, reshape, concatenate."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.engine.select import READY, available_engines

BITS = [2, 3, 64, 65, 127, 128, 129, 448, 511, 512, 513, 1000, 1024, 1025, 2047, 2048, 3071, 4096, 8192, 16384]
KINDS = ["ones", "sparse", "random"]


def test_every_engine_is_ready():
    found = available_engines()
    # A GPU may be there or not; the processor always is.
    assert {name: found[name] for name in ("cpu", "reference")} == {"cpu": READY, "reference": READY}


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", BITS)
def test_store_gives_back_what_was_loaded(engine, numbers, bits, kind):
    modulus = Modulus(3) if bits == 2 else numbers.modulus(bits, kind)
    values = numbers.objects(numbers.patterns(modulus), (-1,))
    numbers.same(numbers.store(numbers.load(engine, values, modulus)), values)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (9,), (3, 4), (0, 3), (2, 0), (2, 3, 5), (3000,)])
@pytest.mark.parametrize("bits", [129, 1024])
def test_every_batch_shape_survives_the_engine(engine, numbers, shape, bits):
    modulus = numbers.modulus(bits, "random")
    values = numbers.residues(modulus, shape)
    a = numbers.load(engine, values, modulus)
    assert a.shape == shape
    numbers.same(numbers.store(a), values)


@pytest.mark.parametrize("bits", [512, 1024])
def test_load_accepts_fewer_limbs_than_the_modulus(engine, numbers, bits):
    modulus = numbers.modulus(bits, "random")
    values = numbers.objects([0, 1, 2**128 - 1], (3,))
    numbers.same(numbers.store(engine.load(numbers.limbs(values, 2), modulus)), values)


@pytest.mark.parametrize("bits", [512, 1024])
def test_load_accepts_limbs_that_are_not_contiguous(engine, numbers, bits):
    modulus = numbers.modulus(bits, "random")
    values = numbers.residues(modulus, (6, 4))
    limbs = numbers.limbs(values, modulus.limb_count)
    numbers.same(numbers.store(engine.load(limbs[::2, ::-1], modulus)), values[::2, ::-1])
    fortran = np.asfortranarray(limbs)
    numbers.same(numbers.store(engine.load(fortran, modulus)), values)


@pytest.mark.size_bits(512)
def test_load_keeps_no_hold_on_its_argument(engine, numbers):
    modulus = numbers.modulus(512, "random")
    values = numbers.residues(modulus, (5,))
    limbs = numbers.limbs(values, modulus.limb_count)
    a = engine.load(limbs, modulus)
    limbs[:] = 0
    numbers.same(numbers.store(a), values)


def test_store_gives_a_fresh_array_each_time(each_engine, numbers):
    modulus = numbers.modulus(512, "random")
    values = numbers.residues(modulus, (5,))
    a = numbers.load(each_engine, values, modulus)
    each_engine.store(a)[:] = 0
    numbers.same(numbers.store(a), values)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", BITS)
def test_reduce_takes_any_value_up_to_double_width(engine, numbers, bits, kind):
    modulus = Modulus(3) if bits == 2 else numbers.modulus(bits, kind)
    n, limb_count = modulus.value, modulus.limb_count
    width = 128 * limb_count
    values = [2**width - 1, 2**width - 2, 1 << width - 1, 0, 1, n - 1, n, n + 1, 2 * n - 1, 2 * n, n * n - 1, n * n]
    values += [(2**width - 1) // n * n, (2**width - 1) // n * n - 1, 2 ** (64 * limb_count) - 1, 2 ** (64 * limb_count)]
    values += [numbers.random_int(width, seed) for seed in range(6)]
    array = numbers.objects([value % 2**width for value in values], (-1,))
    found = numbers.store(engine.reduce(numbers.limbs(array, 2 * limb_count), modulus))
    numbers.same(found, array % n)


@pytest.mark.parametrize("bits", [64, 129, 1000, 2048])
def test_reduce_takes_every_width(engine, numbers, bits):
    modulus = numbers.modulus(bits, "random")
    for limb_count in sorted({1, modulus.limb_count, modulus.limb_count + 1, 2 * modulus.limb_count}):
        ones = 2 ** (64 * limb_count) - 1
        values = numbers.objects([ones, ones - 1, ones >> 1, 0, 1, 2 ** (64 * limb_count - 1)], (2, 3))
        numbers.same(numbers.store(engine.reduce(numbers.limbs(values, limb_count), modulus)), values % modulus.value)


@pytest.mark.parametrize("shape", [(), (0,), (9,), (3, 4)])
@pytest.mark.size_bits(129)
def test_reduce_keeps_the_shape(engine, numbers, shape):
    modulus = numbers.modulus(129, "random")
    values = numbers.residues(numbers.modulus(350, "random"), shape)
    numbers.same(numbers.store(engine.reduce(numbers.limbs(values, 6), modulus)), values % modulus.value)


@pytest.mark.parametrize(
    ("shape", "indices"),
    [
        ((9,), [8, 0, 0, 3]),
        ((9,), []),
        ((3, 4), [[11, 0], [5, 5], [2, 1]]),
        ((3, 4), 7),
        ((), [0, 0, 0]),
    ],
)
@pytest.mark.size_bits(129)
def test_take_picks_flat_indices_in_their_own_shape(engine, numbers, shape, indices):
    modulus = numbers.modulus(129, "random")
    values = numbers.residues(modulus, shape)
    picked = np.array(indices, np.int64)
    a = engine.take(numbers.load(engine, values, modulus), picked)
    assert a.shape == picked.shape
    expected = [values.ravel()[i] for i in picked.ravel()]
    numbers.same(numbers.store(a), numbers.objects(expected, picked.shape))


@pytest.mark.parametrize(
    ("shape", "wanted"), [((12,), (3, 4)), ((3, 4), (2, 6)), ((1,), ()), ((), (1, 1)), ((0, 3), (5, 0))]
)
@pytest.mark.size_bits(512)
def test_reshape_keeps_c_order(engine, numbers, shape, wanted):
    modulus = numbers.modulus(512, "random")
    values = numbers.residues(modulus, shape)
    a = engine.reshape(numbers.load(engine, values, modulus), wanted)
    assert a.shape == wanted
    numbers.same(numbers.store(a), values.reshape(wanted))


@pytest.mark.parametrize("shapes", [[(3,)], [(3,), (0,), (7,)], [(2, 4), (1, 4)], [(0, 2), (0, 2)]])
@pytest.mark.size_bits(512)
def test_concatenate_joins_along_the_first_axis(engine, numbers, shapes):
    modulus = numbers.modulus(512, "random")
    parts = [numbers.residues(modulus, shape, seed) for seed, shape in enumerate(shapes)]
    a = engine.concatenate([numbers.load(engine, part, modulus) for part in parts])
    numbers.same(numbers.store(a), np.concatenate(parts))


@pytest.mark.parametrize("bits", [512, 1000])
def test_results_of_shape_operations_compute_further(engine, numbers, bits):
    modulus = numbers.modulus(bits, "random")
    values = numbers.residues(modulus, (3, 4))
    a = numbers.load(engine, values, modulus)
    rows = engine.reshape(engine.take(a, np.array([4, 5, 6, 7], np.int64)), (2, 2))
    both = engine.concatenate([rows, engine.mod_mul(rows, rows)])
    expected = np.concatenate([values[1].reshape(2, 2), values[1].reshape(2, 2) ** 2 % modulus.value])
    numbers.same(numbers.store(both), expected)
