"""Conformance: mod_multi_exp of sparse exponents, against Python integers and against the same exponents dense."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.engine.reference import ReferenceEngine
from hekat.engine.sparse_exponents import SparseExponents
from hekat.errors import EngineError, InputError

N = Modulus(2**127 - 1)


def sparse(numbers, entries_by_result, limb_count=1, *, signed=True):
    """Exponents from a list of {(base, exponent), ...} for each result; negative ones carry a minus sign."""
    entries = [entry for entries in entries_by_result for entry in entries]
    powers = numbers.objects([abs(power) for _, power in entries], (len(entries),))
    return SparseExponents(
        numbers.limbs(powers, limb_count).reshape(len(entries), limb_count),
        np.array([base for base, _ in entries], np.int64),
        np.cumsum([0, *map(len, entries_by_result)]),
        np.array([power < 0 for _, power in entries], np.bool_) if signed else None,
    )


def check(engine, numbers, modulus, bases, entries_by_result, limb_count=1, *, signed=True):
    expected = []
    for entries in entries_by_result:
        result = 1
        for base, power in entries:
            result = result * pow(bases[base], power, modulus.value) % modulus.value
        expected.append(result)
    a = numbers.load(engine, numbers.objects(bases, (len(bases),)), modulus)
    found = engine.mod_multi_exp(a, sparse(numbers, entries_by_result, limb_count, signed=signed))
    assert found.shape == (len(entries_by_result),)
    numbers.same(numbers.store(found), numbers.objects(expected, (len(expected),)))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    "entries_by_result",
    [
        [],
        [[]],
        [[], [], []],
        [[(0, 1)]],
        [[(4, 2**64 - 1)]],
        [[(0, 0)]],
        [[(1, 0), (2, 7)], [], [(2, 0)]],
        [[], [(3, 5), (1, 9)], [], [(0, 2)], []],
        [[(2, 3), (2, 3)]],
        [[(2, 2**64 - 1), (1, 4), (2, 2**64 - 1), (2, 1)], [(2, 5), (2, 0)]],
        [[(3, 11), (1, 10), (0, 9)], [(4, 8), (3, 7), (2, 6), (1, 5), (0, 4)]],
    ],
)
@pytest.mark.parametrize("bits", [3, 129, 1024])
def test_results_of_every_kind(engine, numbers, bits, entries_by_result, signed):
    modulus = numbers.modulus(bits, "ones")
    bases = [pow(2, i + 3, modulus.value) for i in range(5)]
    check(engine, numbers, modulus, bases, entries_by_result, signed=signed)


@pytest.mark.size_bits(127)
def test_no_bases_and_no_entries(engine, numbers):
    check(engine, numbers, N, [], [[], []])


@pytest.mark.parametrize(
    "entries_by_result",
    [
        [[(2, -1)]],
        [[(2, -5), (2, 5)], [(2, -5), (2, -5), (2, 4)]],
        [[(0, 3), (2, -7)], [(1, 5)], [(2, 7), (3, -(2**64 - 1))], []],
        [[(3, -1), (2, -1), (3, 2)]] * 9,
    ],
)
@pytest.mark.size_bits(4)
def test_minus_signs_need_only_their_own_bases_invertible(engine, numbers, entries_by_result):
    check(engine, numbers, Modulus(15), [3, 5, 2, 7], entries_by_result)


@pytest.mark.size_bits(4)
def test_a_base_without_inverse_is_refused_by_its_own_index(engine, numbers):
    a = numbers.load(engine, numbers.objects([2, 3, 4, 5], (4,)), Modulus(15))
    # Entry order does not matter: the least base is named. A minus sign of a zero exponent counts.
    exponents = SparseExponents(
        np.array([[3], [0], [1]], np.uint64),
        np.array([3, 1, 0], np.int64),
        np.array([0, 3], np.int64),
        np.array([True, True, False]),
    )
    with pytest.raises(InputError, match="residue at index 1 has no inverse"):
        engine.mod_multi_exp(a, exponents)


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("limb_count", [1, 2])
@pytest.mark.parametrize(
    ("k", "m", "entry_count"), [(1, 40, 300), (5, 700, 3000), (900, 6, 400), (300, 300, 300), (40, 1, 5000)]
)
@pytest.mark.size_bits(129)
def test_random_matrices(engine, numbers, k, m, entry_count, limb_count, signed):
    """Crowded and scattered ones, with many repeated entries."""
    modulus = numbers.modulus(129, "ones")
    rng = np.random.default_rng([k, m, limb_count])
    bases = [pow(2, int(i), modulus.value) for i in rng.integers(1, 400, k)]
    entries_by_result = [[] for _ in range(m)]
    for base, result in zip(rng.integers(0, k, entry_count), rng.integers(0, m, entry_count), strict=True):
        power = int.from_bytes(rng.bytes(8 * limb_count), "little") >> int(rng.integers(0, 64 * limb_count))
        entries_by_result[result].append((int(base), -power if signed and rng.random() < 0.3 else power))
    check(engine, numbers, modulus, bases, entries_by_result, limb_count)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.size_bits(513)
def test_the_same_as_dense_exponents(engine, numbers, signed):
    k, m, rng = 30, 8, np.random.default_rng(5)
    modulus = numbers.modulus(513, "ones")
    a = numbers.load(engine, numbers.objects([pow(2, 5 * i + 1, modulus.value) for i in range(k)], (k,)), modulus)
    dense = np.where(rng.random((k, m)) < 0.3, rng.integers(0, 2**63, (k, m)), 0).astype(np.uint64)
    negative = (rng.random((k, m)) < 0.5) & (dense > 0) if signed else None
    results, bases = np.nonzero(dense.T)
    exponents = SparseExponents(
        dense[bases, results][:, np.newaxis],
        bases.astype(np.int64),
        np.concatenate([[0], np.cumsum(np.bincount(results, minlength=m))]).astype(np.int64),
        None if negative is None else negative[bases, results],
    )
    expected = engine.mod_multi_exp(a, dense[..., np.newaxis], negative)
    numbers.same(numbers.store(engine.mod_multi_exp(a, exponents)), numbers.store(expected))


@pytest.mark.size_bits(512)
def test_exponents_on_a_square_modulus(engine, numbers):
    root = numbers.modulus(512, "ones").value
    modulus = Modulus(root * root, root=root)
    check(engine, numbers, modulus, [2, 4, 8, 16], [[(0, 3), (3, -(2**60))], [], [(1, 5), (1, 6), (2, -9)]])


def one_entry(**changes):
    parts = {
        "limbs": np.ones((1, 1), np.uint64),
        "bases": np.zeros(1, np.int64),
        "offsets": np.array([0, 1], np.int64),
        "negative": None,
    }
    return SparseExponents(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limbs": np.ones((1, 1), np.int64)}, "their limbs have the wrong layout; expected an array of uint64"),
        ({"limbs": np.ones(1, np.uint64)}, "their limbs have the wrong layout"),
        ({"limbs": np.ones((1, 0), np.uint64)}, "their limbs have the wrong layout"),
        ({"limbs": [[1]]}, "their limbs have the wrong layout.*got list"),
        (
            {"bases": np.zeros(2, np.int64)},
            r"their bases have the wrong layout; expected .* shape \(1,\); got .*\(2,\)",
        ),
        ({"bases": np.zeros(1, np.int32)}, "their bases have the wrong layout"),
        ({"negative": np.zeros(2, np.bool_)}, "their signs have the wrong layout"),
        ({"negative": np.zeros(1, np.uint8)}, "their signs have the wrong layout"),
        ({"offsets": np.zeros(0, np.int64)}, "their offsets have the wrong layout"),
        ({"offsets": np.array([0, 1], np.int32)}, "their offsets have the wrong layout"),
        ({"offsets": np.array([0, 2], np.int64)}, "offsets do not cut up the entries; expected offsets from 0 to 1"),
        ({"offsets": np.array([1, 1], np.int64)}, "offsets do not cut up the entries"),
        ({"offsets": np.array([0], np.int64)}, "offsets do not cut up the entries"),
        ({"offsets": np.array([0, 1, 0, 1], np.int64)}, "offsets do not cut up the entries"),
        ({"offsets": np.array([0, -1, 1], np.int64)}, "offsets do not cut up the entries"),
    ],
)
def test_malformed_exponents_are_refused_when_made(changes, message):
    with pytest.raises(InputError, match=message):
        one_entry(**changes)


@pytest.mark.parametrize("base", [-1, 3, 2**62])
@pytest.mark.size_bits(127)
def test_bases_out_of_range_are_refused(engine, numbers, base):
    a = numbers.load(engine, numbers.objects([1, 2, 3], (3,)), N)
    with pytest.raises(InputError, match="bases of sparse exponents out of range; expected 0 <= index < 3"):
        engine.mod_multi_exp(a, one_entry(bases=np.array([base], np.int64)))


@pytest.mark.size_bits(127)
def test_what_does_not_go_with_sparse_exponents_is_refused(engine, numbers):
    a = numbers.load(engine, numbers.objects([1, 2], (2,)), N)
    with pytest.raises(InputError, match=r"carry their own signs.*cure: pass the signs to SparseExponents"):
        engine.mod_multi_exp(a, one_entry(), np.zeros((2, 1), np.bool_))
    with pytest.raises(InputError, match="shapes do not fit a multi-exponentiation"):
        engine.mod_multi_exp(engine.reshape(a, (1, 2)), one_entry())
    foreign = numbers.load(ReferenceEngine(), numbers.objects([1], (1,)), N)
    with pytest.raises(EngineError, match="another engine"):
        engine.mod_multi_exp(foreign, one_entry())
