"""Sums by segment of encrypted arrays, against NumPy on the same plain array; every answer also through bytes."""

import numpy as np
import pytest

import hekat
from hekat.encrypted_array import EncryptedArray, segment_sum
from hekat.errors import BoundError, InputError

RNG_SEED = 20
PLAIN = np.random.default_rng(RNG_SEED).integers(-1000, 1000, (12, 3, 4)).astype(np.int32)
IDS = np.array([3, 0, 3, 3, 5, 0, 1, 3, 5, 5, 0, 3])


def opened(x, keys):
    sent = EncryptedArray.from_bytes(x.to_bytes(), key=keys.public)
    assert np.array_equal(np.asarray(sent.decrypt(keys.private), np.float64), x.decrypt(keys.private))
    return x.decrypt(keys.private)


def sums_of(values, ids, count):
    result = np.zeros((count, *values.shape[1:]), values.dtype)
    np.add.at(result, ids, values)
    return result


@pytest.fixture(scope="module")
def encrypted(keys, engine_name):
    return hekat.array(PLAIN, key=keys.public, engine=engine_name)


@pytest.mark.long_cases("reference")
def test_segment_sum_as_numpy_adds(keys, encrypted):
    found = segment_sum(encrypted, IDS, 7)
    assert found.shape == (7, 3, 4)
    assert np.array_equal(opened(found, keys), sums_of(PLAIN, IDS, 7))
    one_axis = segment_sum(encrypted[:, 1, 2], IDS)
    assert np.array_equal(opened(one_axis, keys), sums_of(PLAIN[:, 1, 2], IDS, 6))


@pytest.mark.parametrize("minlength", [0, 3, 9])
def test_bincount(keys, encrypted, minlength):
    found = np.bincount(IDS.astype(np.uint8), weights=encrypted[:, 0, 0], minlength=minlength)
    assert np.array_equal(opened(found, keys), np.bincount(IDS, PLAIN[:, 0, 0], minlength))


def test_bincount_of_nothing(keys, engine_name):
    nothing = hekat.array(np.zeros(0, np.int8), key=keys.public, engine=engine_name)
    assert np.bincount([], nothing).shape == (0,)
    assert np.bincount([], nothing, 2).decrypt(keys.private).tolist() == [0, 0]


@pytest.mark.long_cases("reference--3-indices1")
@pytest.mark.parametrize("indices", [[0, 4, 7], [5, 1, 1, 11, 3, 3], [11], []])
@pytest.mark.parametrize("axis", [0, -3])
def test_reduceat(keys, encrypted, indices, axis):
    found = np.add.reduceat(encrypted, indices, axis=axis)
    assert np.array_equal(opened(found, keys), np.add.reduceat(PLAIN, np.array(indices, np.int64), axis))


@pytest.mark.long_cases("reference--1", "reference-1")
@pytest.mark.parametrize("axis", [1, -1])
def test_reduceat_along_other_axes(keys, encrypted, axis):
    found = np.add.reduceat(encrypted, [1, 0, 2, 2], axis)
    assert np.array_equal(opened(found, keys), np.add.reduceat(PLAIN, [1, 0, 2, 2], axis))


@pytest.mark.parametrize(
    "options", [{}, {"bins": 4}, {"bins": [-500, 0, 10, 700]}, {"bins": 3, "range": (-100, 400)}, {"bins": [5, 5]}]
)
def test_histogram(keys, encrypted, options):
    values = np.random.default_rng(RNG_SEED).normal(0, 500, 12).round(1)
    values[:4] = -500, 0, 700, 400  # on edges
    found, edges = np.histogram(values, weights=encrypted[:, 2, 3], **options)
    expected, expected_edges = np.histogram(values, weights=PLAIN[:, 2, 3], **options)
    assert np.array_equal(edges, expected_edges)
    assert np.array_equal(opened(found, keys), expected)


@pytest.mark.parametrize("values", [[[1, 2, 3], [4, 5, 6]], [[True, False, True]], [[0.5, 1.5]], [[]], 3])
def test_histogram_of_nested_lists(keys, values):
    weights = np.arange(1, np.size(values) + 1).reshape(np.shape(values))
    found, edges = np.histogram(values, bins=2, range=(0, 6), weights=hekat.array(weights, key=keys.public))
    expected, expected_edges = np.histogram(np.array(values, np.float64), bins=2, range=(0, 6), weights=weights)
    assert np.array_equal(edges, expected_edges)
    assert np.array_equal(opened(found, keys), expected)


def test_floats_keep_their_scale(keys):
    values = np.arange(12) / 8
    x = hekat.array(values, key=keys.public, bound=2)
    assert opened(np.bincount(IDS, weights=x), keys) == pytest.approx(np.bincount(IDS, values), abs=1e-9)


def test_slots_stay_side_by_side(keys):
    x = hekat.array(PLAIN[:, 0], key=keys.public, pack=3)
    found = segment_sum(x, IDS, 6)
    assert found.pack == 3
    assert np.array_equal(opened(found, keys), sums_of(PLAIN[:, 0], IDS, 6))
    assert np.array_equal(np.add.reduceat(x, [0, 5], 0).decrypt(keys.private), np.add.reduceat(PLAIN[:, 0], [0, 5]))
    with pytest.raises(InputError, match="packed axis"):
        np.add.reduceat(x, [0, 1], 1)
    with pytest.raises(InputError, match="packed axis"):
        np.bincount(IDS, weights=hekat.array(PLAIN[:, 0, 0], key=keys.public, pack=3))


def test_the_public_bound_tells_nothing_of_the_segments(keys):
    x = hekat.array(np.ones(12, np.int8), key=keys.public, bound=1)
    for ids in (IDS, np.zeros(12, int), np.arange(12)):
        found = segment_sum(x, ids, 12)
        assert (found.scaled_bound, found.bound_is_public) == (12, True)


def test_a_bound_from_the_largest_segment_stays_here(keys):
    """Six bits hold the largest segment's five threes and not all twelve."""
    x = hekat.array(np.full((12, 2), 3, np.int8), key=keys.public, bound=3, pack=2, lane_bits=6)
    found = segment_sum(x, IDS, 6)
    assert (found.scaled_bound, found.bound_is_public) == (15, False)
    assert opened(found, keys)[3].tolist() == [15, 15]
    with pytest.raises(BoundError, match="a slot"):
        segment_sum(x, np.zeros(12, int), 1)


REFUSED = {
    "ids of another length": (lambda x: segment_sum(x, IDS[:5]), "do not fit"),
    "ids of two axes": (lambda x: segment_sum(x, IDS[:, None]), "do not fit"),
    "a negative id": (lambda x: segment_sum(x, IDS - 1), "out of range"),
    "an id beyond": (lambda x: segment_sum(x, IDS, 5), "3 outside"),
    "float ids": (lambda x: segment_sum(x, IDS * 1.0), "expected integers"),
    "boolean ids": (lambda x: segment_sum(x, IDS > 0), "expected integers"),
    "ids beyond int64": (lambda x: segment_sum(x, IDS.astype(np.uint64) + np.uint64(1 << 63)), "below 2\\^63"),
    "a negative count": (lambda x: segment_sum(x, IDS, -1), "num_segments refused"),
    "no encrypted array": (lambda x: segment_sum(PLAIN, IDS), "adds encrypted values"),
    "a scalar": (lambda x: segment_sum(x[0, 0, 0], 0), "no such axis"),
    "encrypted ids": (lambda x: segment_sum(x, x[:, 0, 0]), "exchange the roles"),
    "bincount of encrypted indices": (lambda x: np.bincount(x[:, 0, 0]), "exchange the roles"),
    "bincount of several axes": (lambda x: np.bincount(IDS, weights=x), "segment_sum"),
    "bincount of a float minlength": (lambda x: np.bincount(IDS, x[:, 0, 0], 2.0), "minlength refused"),
    "reduceat beyond": (lambda x: np.add.reduceat(x, [0, 12]), "out of range"),
    "reduceat along no axis": (lambda x: np.add.reduceat(x, [0], 3), "no such axis"),
    "reduceat at encrypted indices": (lambda x: np.add.reduceat(PLAIN, x[:, 0, 0]), "exchange the roles"),
    "reduceat with dtype": (lambda x: np.add.reduceat(x, [0], dtype=np.int64), "dtype="),
    "subtract.reduceat": (lambda x: np.subtract.reduceat(x, [0]), "reduceat"),
    "add.at": (lambda x: np.add.at(x, IDS, 1), "segment_sum"),
    "histogram of encrypted values": (lambda x: np.histogram(x), "weights=encrypted"),
    "a density": (lambda x: np.histogram(np.arange(12), weights=x[:, 0, 0], density=True), "divides"),
    "bins by a rule": (lambda x: np.histogram(np.arange(12), "auto", weights=x[:, 0, 0]), "bins refused"),
    "falling edges": (lambda x: np.histogram(np.arange(12), [2, 1], weights=x[:, 0, 0]), "bins refused"),
    "NaN": (lambda x: np.histogram(np.full(12, np.nan), weights=x[:, 0, 0]), "not finite"),
    "integers beyond int64": (lambda x: np.histogram([1 << 70] * 12, 2, weights=x[:, 0, 0]), "at most 64 bits"),
    "weights of another shape": (lambda x: np.histogram(np.arange(5), weights=x[:, 0, 0]), "weights do not fit"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_what_helps(keys, case):
    operation, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        operation(hekat.array(PLAIN, key=keys.public))
