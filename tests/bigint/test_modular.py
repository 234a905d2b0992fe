"""mod_mul, mod_pow and mod_inv under odd and even moduli against Python's own integers."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hekat import bigint
from hekat.errors import InputError

every_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)

MODULI = [
    1,
    2,
    3,
    4,
    6,
    8,
    2**63,
    2**64,
    2**64 + 1,
    2**65,
    2**127 - 1,
    2**128,
    3 * 2**100,
    15 * 2**64,
    10**40,
    2**521 - 1,
]
MODULUS = st.one_of(st.sampled_from(MODULI), st.integers(1, 2**200))
VALUES = st.lists(st.one_of(st.integers(), st.integers(-(2**400), 2**400)), min_size=1, max_size=6)


@every_engine
@given(VALUES, st.integers(-(2**200), 2**200), MODULUS)
def test_mod_mul_is_that_of_python(values, other, modulus):
    found = bigint.mod_mul(values, other, modulus)
    assert found.tolist() == [value * other % modulus for value in values]


@pytest.mark.long_cases("reference")
@every_engine
@given(VALUES, st.lists(st.integers(0, 2**70), min_size=6, max_size=6), MODULUS)
def test_mod_pow_is_that_of_python(values, exponents, modulus):
    exponents = exponents[: len(values)]
    found = bigint.mod_pow(values, exponents, modulus)
    assert found.tolist() == [pow(a, e, modulus) for a, e in zip(values, exponents, strict=True)]


@pytest.mark.long_cases("reference")
@every_engine
@given(VALUES, st.integers(-(2**70), -1), MODULUS)
def test_mod_pow_of_negative_exponents_powers_the_inverse(values, exponent, modulus):
    values = [value for value in values if gcd(value, modulus) == 1]
    assume(values)
    found = bigint.mod_pow([*values, 0], [exponent] * len(values) + [2], modulus)
    assert found.tolist() == [*(pow(value, exponent, modulus) for value in values), 0]


@every_engine
@given(VALUES, MODULUS)
def test_mod_inv_is_that_of_python(values, modulus):
    values = [value for value in values if gcd(value, modulus) == 1]
    assume(values)
    assert bigint.mod_inv(values, modulus).tolist() == [pow(value, -1, modulus) for value in values]


@pytest.mark.quick_values
@pytest.mark.parametrize("two_bits", [0, 1, 2, 3, 4, 63, 64, 65, 127, 128, 129, 200])
@pytest.mark.parametrize("odd_part", [1, 3, 2**64 - 59, 2**127 - 1])
def test_every_split_of_a_modulus_into_odd_part_and_power_of_two(odd_part, two_bits):
    modulus = odd_part << two_bits
    values = [1, 5, modulus - 1, modulus + 1, 7**50, -(11**30), 2**300 + 1]
    exponents = [0, 1, 2, 2**64 - 1, 65537, 2**70 + 3, 3]
    assert bigint.mod_pow(values, exponents, modulus).tolist() == [
        pow(a, e, modulus) for a, e in zip(values, exponents, strict=True)
    ]
    units = [value for value in values if gcd(value, modulus) == 1]
    assert bigint.mod_inv(units, modulus).tolist() == [pow(value, -1, modulus) for value in units]
    assert bigint.mod_mul(values, exponents, modulus).tolist() == [
        a * e % modulus for a, e in zip(values, exponents, strict=True)
    ]


@pytest.mark.parametrize("modulus", [2**127 - 1, 10**30])
@pytest.mark.parametrize(("left", "right"), [((), ()), ((0,), ()), ((3, 1), (4,)), ((2, 3), (3,)), ((5,), ())])
def test_modular_functions_broadcast(left, right, modulus):
    a = np.arange(2, 2 + np.prod(left, dtype=int)).reshape(left).astype(object)
    b = np.arange(3, 3 + np.prod(right, dtype=int)).reshape(right).astype(object)
    product, power = bigint.mod_mul(a, b, modulus), bigint.mod_pow(a, b, modulus)
    expected = np.asarray(a * b, object)
    assert product.shape == power.shape == expected.shape
    assert product.tolist() == np.asarray(expected % modulus, object).tolist()
    assert power.tolist() == np.asarray(np.frompyfunc(lambda x, e: pow(x, e, modulus), 2, 1)(a, b), object).tolist()


def test_mod_takes_a_modulus_for_each_element():
    assert bigint.mod([2**100, -7, 9], [10**9, 4, -5]).tolist() == [2**100 % 10**9, 1, -1]


def test_zero_to_the_zero_is_one():
    for modulus in (3, 8, 12):
        assert bigint.mod_pow(0, 0, modulus).tolist() == 1
    assert bigint.mod_pow(0, 0, 1).tolist() == 0


def test_a_long_batch_goes_in_chunks_that_report():
    values = [3**i for i in range(200)]
    steps = []
    found = bigint.mod_pow(values, 65537, 2**127 - 1, progress=lambda done, total: steps.append((done, total)))
    assert found.tolist() == [pow(value, 65537, 2**127 - 1) for value in values]
    assert len(steps) == 6
    assert steps == sorted(steps)
    assert steps[-1] == (200, 200)


def test_a_long_batch_is_interrupted_between_chunks():
    steps = []

    def interrupt(done, total):
        steps.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bigint.mod_pow([2] * 200, 3, 2**127 - 1, progress=interrupt)
    assert len(steps) == 1


def test_products_under_moduli_beyond_the_engines():
    modulus = 2**20000 + 1
    assert bigint.mod_mul([2**19999, 5], [4, -1], modulus).tolist() == [2**20001 % modulus, -5 % modulus]


@pytest.mark.parametrize("function", [bigint.mod_inv, lambda a, n: bigint.mod_pow(a, 3, n)])
def test_powers_and_inverses_beyond_the_engines_are_refused(function):
    with pytest.raises(InputError, match=r"modulus refused.*16384 bits"):
        function([3], 2**20000 + 1)


@pytest.mark.parametrize(
    ("values", "modulus", "named"),
    [
        ([1, 2, 3], 15, "index 2"),
        ([0], 7, "index 0"),
        ([1, 3, 4], 8, "index 2"),
        ([1, 5, 9], 12, "index 2"),
        ([[1, 1], [1, 6]], 12, r"index \(1, 1\)"),
    ],
)
def test_what_has_no_inverse_is_named_by_its_index(values, modulus, named):
    with pytest.raises(InputError, match=f"residue at {named} has no inverse"):
        bigint.mod_inv(values, modulus)
    with pytest.raises(InputError, match=f"residue at {named} has no inverse"):
        bigint.mod_pow(values, -2, modulus)


@pytest.mark.parametrize(
    ("modulus", "words"),
    [
        (0, "one integer >= 1"),
        (-5, "one integer >= 1.*cure: use %"),
        ([3, 5], r"got shape \(2,\); cure: use %"),
        (2.0, "cure: round first"),
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        lambda n: bigint.mod_mul([1], [2], n),
        lambda n: bigint.mod_pow([1], [2], n),
        lambda n: bigint.mod_inv([1], n),
    ],
    ids=["mod_mul", "mod_pow", "mod_inv"],
)
def test_moduli_that_are_refused(function, modulus, words):
    with pytest.raises(InputError, match=words):
        function(modulus)


def test_shapes_that_do_not_broadcast_are_refused():
    for function in (bigint.mod_mul, bigint.mod_pow):
        with pytest.raises(InputError, match="shapes do not broadcast"):
            function([1, 2], [1, 2, 3], 7)
