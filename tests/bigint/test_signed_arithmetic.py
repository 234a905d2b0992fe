"""Big-integer add, sub, mul, div, mod and comparison against Python's own integers."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat import bigint
from hekat.errors import InputError

every_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

EDGES = [0, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**127, 2**128 - 1, 2**192 - 2**64, 2**640 - 1]
INTEGERS = st.one_of(
    st.integers(),
    st.integers(-(2**300), 2**300),
    st.sampled_from(EDGES + [-edge for edge in EDGES]),
)
LISTS = st.lists(INTEGERS, min_size=1, max_size=8)
BINARY = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod]
NAMED = {bigint.add: operator.add, bigint.sub: operator.sub, bigint.mul: operator.mul}
NAMED |= {bigint.div: operator.floordiv, bigint.mod: operator.mod}


@pytest.mark.quick_values
@pytest.mark.parametrize("operation", BINARY)
@every_engine
@given(LISTS, INTEGERS)
def test_operators_are_those_of_python(operation, values, other):
    if operation in (operator.floordiv, operator.mod):
        other = other or 1
    assert operation(bigint.array(values), other).tolist() == [operation(value, other) for value in values]


@pytest.mark.quick_values
@pytest.mark.parametrize("operation", BINARY)
@every_engine
@given(INTEGERS, LISTS)
def test_reflected_operators_are_those_of_python(operation, other, values):
    values = [value or 1 for value in values]
    assert operation(other, bigint.array(values)).tolist() == [operation(other, value) for value in values]


@pytest.mark.parametrize("operation", BINARY)
def test_every_edge_with_every_other(operation):
    values = EDGES + [-edge for edge in EDGES]
    others = [value for value in values if value]
    found = operation(bigint.array(values).reshape(-1, 1), others)
    assert found.shape == (len(values), len(others))
    assert found.tolist() == [[operation(value, other) for other in others] for value in values]


@pytest.mark.quick_values
@pytest.mark.parametrize("function", NAMED, ids=lambda function: function.__name__)
@every_engine
@given(LISTS, INTEGERS)
def test_functions_are_the_operators(function, values, other):
    other = other or 1
    expected = [NAMED[function](value, other) for value in values]
    assert function(values, other).tolist() == expected
    assert function(bigint.array(values), [other]).tolist() == expected


@every_engine
@given(LISTS, INTEGERS.filter(bool))
def test_divmod_rebuilds_its_dividend(values, divisor):
    quotient, remainder = divmod(bigint.array(values), divisor)
    assert list(zip(quotient, remainder, strict=True)) == [divmod(value, divisor) for value in values]
    assert (quotient * divisor + remainder == values).all()


def test_division_rounds_towards_minus_infinity():
    quotient, remainder = divmod(bigint.array([7, -7, 7, -7, 6, -6]), [2, 2, -2, -2, -3, 3])
    assert quotient.tolist() == [3, -4, -4, 3, -2, -2]
    assert remainder.tolist() == [1, 1, -1, -1, 0, 0]


@every_engine
@given(LISTS, INTEGERS)
def test_comparisons_are_those_of_python(values, other):
    array = bigint.array([*values, other])
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        found = compare(array, other)
        assert found.dtype == np.bool_
        assert found.tolist() == [compare(value, other) for value in [*values, other]]


@every_engine
@given(LISTS)
def test_unary_operators(values):
    array = bigint.array(values)
    assert (-array).tolist() == [-value for value in values]
    assert abs(array).tolist() == [abs(value) for value in values]
    assert (+array).tolist() == values


@every_engine
@given(LISTS, LISTS, LISTS)
def test_ring_laws(left, middle, right):
    length = min(map(len, (left, middle, right)))
    a, b, c = (bigint.array(values[:length]) for values in (left, middle, right))
    assert ((a + b) * c == a * c + b * c).all()
    assert (a - b == -(b - a)).all()
    assert ((a * b) * c == a * (b * c)).all()


@pytest.mark.parametrize(
    ("left", "right"), [((), (3,)), ((0,), (1,)), ((0,), ()), ((3, 1), (4,)), ((2, 1, 4), (3, 1)), ((3, 4), (3, 4))]
)
@pytest.mark.parametrize("operation", BINARY)
def test_shapes_broadcast_as_in_numpy(operation, left, right):
    a = np.arange(-7, -7 + np.prod(left, dtype=int)).reshape(left)
    b = np.arange(1, 1 + np.prod(right, dtype=int)).reshape(right)
    expected = operation(a, b)
    found = operation(bigint.array(a), bigint.array(b))
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()


def test_widths_grow_and_shrink_with_the_values():
    a = bigint.array([2**4000])
    assert (a * a).bits == 8001
    assert (a - a).bits == 0
    assert (a - a).signed.magnitude.shape == (1, 1)
    assert not (a - a).signed.negative.any()


@pytest.mark.parametrize("operation", BINARY)
def test_shapes_that_do_not_broadcast_are_refused(operation):
    with pytest.raises(InputError, match=r"shapes do not broadcast.*\(2,\) and \(3,\)"):
        operation(bigint.array([1, 2]), [1, 2, 3])


@pytest.mark.parametrize("operation", [operator.eq, operator.lt])
def test_comparisons_refuse_shapes_that_do_not_broadcast(operation):
    with pytest.raises(InputError, match="shapes do not broadcast"):
        operation(bigint.array([1, 2]), [1, 2, 3])


@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod, divmod, bigint.div, bigint.mod])
@pytest.mark.parametrize(
    ("divisor", "named"), [(0, "index 0"), ([5, 0], "index 1"), ([[1, 2], [3, 0]], r"index \(1, 1\)")]
)
def test_a_zero_divisor_is_named_by_its_index(operation, divisor, named):
    with pytest.raises(InputError, match=f"divisor at {named} is zero"):
        operation(bigint.array([2**70, -1]), divisor)


@pytest.mark.parametrize("operation", [*BINARY, operator.eq])
def test_floats_are_refused_with_the_cure(operation):
    for other in (1.5, [1, 2.0], np.ones(2)):
        with pytest.raises(InputError, match="cure: round first"):
            operation(bigint.array([1, 2]), other)


def test_true_division_is_refused_with_the_cure():
    with pytest.raises(InputError, match="cure: use //"):
        bigint.array([4]) / 2
    with pytest.raises(InputError, match="cure: use //"):
        4 / bigint.array([2])
