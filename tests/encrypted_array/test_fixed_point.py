"""Fixed point: rounding to half a unit, exact integers, bounds that hold."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.encrypted_array.fixed_point import (
    decode_fixed_point,
    decode_integers,
    encode_fixed_point,
    max_magnitude,
    scale_bound,
)
from hekat.encrypted_array.plain import read_plain
from hekat.errors import BoundError, InputError

any_float = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(any_float, min_size=1, max_size=6), st.integers(0, 200))
def test_floats_round_to_the_nearest_unit_with_ties_to_even(values, scale_bits):
    encoded = encode_fixed_point(read_plain(values, allow_bool=False), scale_bits, None)
    assert [int(v) for v in encoded] == [round(Fraction(v) * 2**scale_bits) for v in values]


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=6), st.integers(0, 100))
def test_integers_are_exact_at_any_scale(values, scale_bits):
    encoded = encode_fixed_point(read_plain(values, allow_bool=False), scale_bits, None)
    assert [int(v) for v in encoded] == [v << scale_bits for v in values]


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6).map(lambda v: np.array(v, dtype=np.int64)),
    st.integers(0, 64),
)
def test_int64_arrays_are_exact_at_any_scale(values, scale_bits):
    encoded = encode_fixed_point(read_plain(values, allow_bool=False), scale_bits, None)
    assert [int(v) for v in encoded] == [int(v) << scale_bits for v in values]


@given(st.lists(st.integers(-(2**90), 2**90), max_size=6), st.integers(0, 1100))
def test_decoding_rounds_once(integers, scale_bits):
    array = np.array(integers, dtype=object)
    decoded = decode_fixed_point(array, scale_bits)
    assert decoded.dtype == np.float64
    assert decoded.tolist() == [v / 2**scale_bits for v in integers]
    if max_magnitude(array) < 2**63:
        assert decode_fixed_point(array.astype(np.int64), scale_bits).tolist() == decoded.tolist()


@given(st.floats(2**-40, 2**40), st.integers(0, 64), any_float)
def test_scaled_bound_holds_for_every_value_within_the_bound(bound, scale_bits, value):
    if abs(value) <= bound:
        assert abs(round(Fraction(value) * 2**scale_bits)) <= scale_bound(bound, scale_bits)


@pytest.mark.parametrize("bound", [0, -1, float("nan"), float("inf"), "1", True, None])
def test_bound_that_is_no_positive_number_is_refused(bound):
    with pytest.raises(InputError, match="bound refused"):
        scale_bound(bound, 8)


@pytest.mark.parametrize("values", [[1234567.5], [2**80], np.array([-8123], dtype=np.int16)])
def test_value_beyond_its_bound_is_refused_without_being_shown(values):
    with pytest.raises(BoundError) as refusal:
        encode_fixed_point(read_plain(values, allow_bool=False), 0, 1000)
    text = str(refusal.value)
    assert "bound=" in refusal.value.cure
    assert "1 of 1 values" in text
    assert "1234567" not in text
    assert "8123" not in text
    assert str(2**80) not in text


@pytest.mark.parametrize("bound", [1, 2**62, 2**63 - 1, 2**63, 2**100])
def test_values_at_the_bound_are_accepted(bound):
    encoded = encode_fixed_point(read_plain([bound, -bound], allow_bool=False), 0, bound)
    assert [int(v) for v in encoded] == [bound, -bound]
    with pytest.raises(BoundError):
        encode_fixed_point(read_plain([bound + 1], allow_bool=False), 0, bound)


def test_decoded_integer_type_follows_the_bound_not_the_values():
    ones = np.array([1, -1], dtype=object)
    assert decode_integers(ones, 2**63 - 1).dtype == np.int64
    assert decode_integers(ones.astype(np.int64), 2**63).dtype == object


def test_decoding_beyond_float64_is_refused():
    with pytest.raises(BoundError, match="float64"):
        decode_fixed_point(np.array([1 << 1100], dtype=object), 4)
