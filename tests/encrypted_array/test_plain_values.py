"""Reading plain values: every kind of number in, every other thing refused with its cure."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.encrypted_array.plain import read_plain
from hekat.errors import InputError


@pytest.mark.parametrize(
    ("dtype", "bound"),
    [
        (np.int8, 1 << 7),
        (np.int16, 1 << 15),
        (np.int32, 1 << 31),
        (np.int64, 1 << 63),
        (np.uint8, (1 << 8) - 1),
        (np.uint64, (1 << 64) - 1),
    ],
)
def test_integer_bound_comes_from_the_dtype_and_holds_its_extremes(dtype, bound):
    info = np.iinfo(dtype)
    plain = read_plain(np.array([info.min, info.max], dtype=dtype), allow_bool=False)
    assert not plain.is_real
    assert plain.type_bound == bound
    assert [int(v) for v in plain.numbers] == [int(info.min), int(info.max)]


def test_bound_does_not_depend_on_values():
    small, large = (read_plain(np.array([v], dtype=np.int64), allow_bool=False) for v in (0, 2**62))
    assert small.type_bound == large.type_bound
    assert read_plain([0], allow_bool=False).type_bound == read_plain([2**200], allow_bool=False).type_bound


@given(st.lists(st.integers(-(2**200), 2**200), min_size=1, max_size=8))
def test_python_integers_of_any_size_stay_exact(values):
    assert read_plain(values, allow_bool=False).numbers.tolist() == values


def test_integers_around_2_to_63_are_not_turned_into_floats():
    assert read_plain([2**63, -1], allow_bool=False).numbers.tolist() == [2**63, -1]


@pytest.mark.parametrize("values", [[1, 2.5], [np.float32(1), 2], np.array([1.0, 2.5], np.float16), [], [[]], 3.0])
def test_floats_mixed_numbers_and_nothing_are_float64_as_in_numpy(values):
    plain = read_plain(values, allow_bool=False)
    assert plain.is_real
    assert plain.numbers.dtype == np.float64
    assert plain.shape == np.shape(values)


def test_nested_lists_scalars_and_array_likes_keep_their_shape():
    class ArrayLike:
        def __array__(self, dtype=None, copy=None):
            return np.arange(6).reshape(2, 3)

    assert read_plain([[1, 2], [3, 4]], allow_bool=False).shape == (2, 2)
    assert read_plain(5, allow_bool=False).shape == ()
    assert read_plain(np.int32(5), allow_bool=False).type_bound == 1 << 31
    assert read_plain([np.arange(3), np.arange(3)], allow_bool=False).shape == (2, 3)
    assert read_plain(ArrayLike(), allow_bool=False).shape == (2, 3)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, float("nan")],
        np.array([np.inf]),
        [1 + 2j],
        np.array([1j]),
        "17",
        ["1", "2"],
        [None],
        [Decimal("1.5")],
        [Fraction(1, 2)],
        [[1, 2], [3]],
        [np.zeros((2, 2)), np.zeros((2, 3))],
        [[1, 2], 3],
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([1.0], dtype=np.longdouble),
        [2**2000, 1.5],
        {1: 2},
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
    ],
)
def test_what_is_no_finite_number_is_refused_with_a_cure(values):
    with pytest.raises(InputError) as refusal:
        read_plain(values, allow_bool=True)
    assert refusal.value.cure


def test_repr_shows_no_numbers():
    assert repr(read_plain([[1234567]], allow_bool=False)) == "PlainValues(integer, shape (1, 1))"


def test_booleans_count_as_numbers_only_where_allowed():
    for values in (True, [True, False], np.array([True, False])):
        with pytest.raises(InputError, match=r"astype\(np.int8\)"):
            read_plain(values, allow_bool=False)
    assert read_plain(np.array([True, False]), allow_bool=True).numbers.tolist() == [1, 0]
    assert read_plain(True, allow_bool=True).numbers.tolist() == 1
