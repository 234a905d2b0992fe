"""BigIntArray: making one, its shape, indexing, text form, and what it refuses."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy

import hekat
from hekat.bigint import BigIntArray
from hekat.errors import InputError

every_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@every_engine
@given(st.lists(st.lists(st.integers(), min_size=2, max_size=2), max_size=5))
def test_nested_lists_come_back(values):
    array = hekat.bigint.array(values)
    assert array.shape == np.array(values, object).shape
    assert array.tolist() == values


@every_engine
@given(
    hypothesis_numpy.arrays(
        st.one_of(hypothesis_numpy.integer_dtypes(), hypothesis_numpy.unsigned_integer_dtypes()),
        hypothesis_numpy.array_shapes(min_dims=0, min_side=0),
    )
)
def test_integer_ndarrays_of_every_dtype_come_back(values):
    array = BigIntArray(values)
    assert array.shape == values.shape
    assert array.tolist() == values.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint64, ">i4"])
def test_the_ends_of_every_dtype_come_back(dtype):
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    assert BigIntArray(ends).tolist() == ends.tolist()


@pytest.mark.parametrize(
    ("values", "expected", "shape"),
    [
        (5, 5, ()),
        (-(2**70), -(2**70), ()),
        (np.int64(-3), -3, ()),
        ([], [], (0,)),
        ([[], []], [[], []], (2, 0)),
        ((1, 2), [1, 2], (2,)),
        (range(3), [0, 1, 2], (3,)),
        ([2**63, -1], [2**63, -1], (2,)),
        ([np.uint8(200), 2**100], [200, 2**100], (2,)),
        (np.array([2**100, -1], object), [2**100, -1], (2,)),
        ([BigIntArray([1, 2]), BigIntArray([3, 2**90])], [[1, 2], [3, 2**90]], (2, 2)),
    ],
)
def test_what_arrays_are_made_of(values, expected, shape):
    array = BigIntArray(values)
    assert array.shape == shape
    assert array.tolist() == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (1.0, "the value is not an integer.*float; cure: round first"),
        ([1, 2.5], "index 1 is not an integer.*float; cure: round first"),
        ([[1, 2], [3, None]], r"index \(1, 1\) is not an integer.*NoneType"),
        (np.ones(3), "array of float64; cure: round first"),
        (np.float32(1), "array of float32; cure: round first"),
        (Decimal(1), "Decimal; cure: round first"),
        (True, "bool; cure: turn booleans"),
        (np.array([True]), "array of bool; cure: turn booleans"),
        (np.bool_(True), "bool; cure: turn booleans"),
        ("12", "str; cure: turn text"),
        (np.array(["12"]), "<U2; cure: turn text"),
        (b"12", "bytes"),
        (1j, "complex"),
        (np.array([0], "M8[s]"), "datetime64"),
        ((i for i in range(3)), "generator"),
        ([[1], [2, 3]], "nested lists of unequal lengths"),
        ([[[1, 2]], [[3]]], "nested lists of unequal lengths"),
        ([1, [2]], "nested lists of unequal lengths"),
    ],
)
def test_what_is_no_integer_is_refused_with_the_cure(values, words):
    with pytest.raises(InputError, match=words):
        BigIntArray(values)


@pytest.mark.parametrize(
    "key",
    [
        1,
        -1,
        slice(None, None, -1),
        slice(5, 9),
        (slice(None), 2),
        (1, slice(1, 3)),
        (..., 0),
        (None, 1),
        [2, 0, 0],
        ([0, 1], [2, 3]),
        np.array([True, False, True]),
        ...,
        (),
    ],
    ids=str,
)
def test_indexing_is_that_of_numpy(key):
    values = np.array([[(-3) ** (20 * i + j) for j in range(4)] for i in range(3)], object)
    found = BigIntArray(values)[key]
    assert isinstance(found, BigIntArray)
    assert found.shape == values[key].shape
    assert found.tolist() == values[key].tolist()


def test_one_element_is_a_python_int():
    array = BigIntArray([[1, 2**100], [3, 4]])
    assert type(array[0, 1]) is int
    assert array[0, 1] == 2**100
    assert array[1][0] == 3
    assert [row.tolist() for row in array] == [[1, 2**100], [3, 4]]


@pytest.mark.parametrize("key", [3, -4, (0, 4), "a"])
def test_an_index_outside_is_an_index_error(key):
    with pytest.raises(IndexError):
        BigIntArray(np.zeros((3, 4), int))[key]


def test_an_array_does_not_change():
    source = np.array([1, 2, 3])
    array = BigIntArray(source)
    source[:] = 9
    assert array.tolist() == [1, 2, 3]
    with pytest.raises(TypeError):
        array[0] = 5
    before = array
    array += 1
    assert before.tolist() == [1, 2, 3]
    assert array.tolist() == [2, 3, 4]


@pytest.mark.parametrize("shape", [(3, 2), (-1, 2), (6,), (1, 6, 1)])
def test_reshape(shape):
    array = BigIntArray(range(6))
    expected = np.arange(6).reshape(shape)
    assert array.reshape(shape).tolist() == array.reshape(*shape).tolist() == expected.tolist()


def test_reshape_to_another_size_is_refused():
    with pytest.raises(InputError, match=r"a shape of 6 integers; got \(4, 2\)"):
        BigIntArray(range(6)).reshape(4, 2)


def test_size_and_dimensions():
    array = BigIntArray(np.zeros((3, 4), int))
    assert (array.ndim, array.size, len(array), array.bits) == (2, 12, 3, 0)
    assert BigIntArray([-(2**64), 5]).bits == 65
    with pytest.raises(TypeError, match="single integer"):
        len(BigIntArray(5))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1, -2], "BigIntArray([1, -2], shape=(2,), bits=2)"),
        ([[0]], "BigIntArray([0], shape=(1, 1), bits=0)"),
        ([], "BigIntArray([], shape=(0,), bits=0)"),
        (range(9), "BigIntArray([0, 1, 2, 3, 4, 5, ...], shape=(9,), bits=4)"),
        ([-(2**128)], "BigIntArray([-0x10000000...00000000], shape=(1,), bits=129)"),
        ([2**128 - 1], f"BigIntArray([{2**128 - 1}], shape=(1,), bits=128)"),
    ],
)
def test_repr_is_short(values, text):
    assert repr(BigIntArray(values)) == text


def test_repr_of_integers_beyond_pythons_own_limit_of_digits():
    assert "bits=50001" in repr(BigIntArray([2**50000]))


def test_numpy_reads_one_as_an_array_of_python_ints():
    array = BigIntArray([[1, 2**100]])
    objects = np.asarray(array)
    assert objects.dtype == object
    assert objects.tolist() == array.tolist()
    assert np.asarray(BigIntArray([1, 2]), dtype=np.int64).dtype == np.int64


def test_numpy_arrays_on_the_left_defer():
    assert isinstance(np.array([1, 2]) * BigIntArray([3, 2**80]), BigIntArray)
    assert (np.array([1, 2]) * BigIntArray([3, 2**80])).tolist() == [3, 2**81]
    assert (np.int64(10) // BigIntArray([3, -3])).tolist() == [3, -4]


def test_truth_and_int_of_one_integer_only():
    assert int(BigIntArray([2**90])) == 2**90
    assert bool(BigIntArray(5))
    assert not BigIntArray([0])
    with pytest.raises(InputError, match=r"ambiguous.*\.any\(\)"):
        bool(BigIntArray([1, 2]))
    with pytest.raises(TypeError):
        int(BigIntArray([1, 2]))


def test_arrays_are_not_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(BigIntArray([1]))
