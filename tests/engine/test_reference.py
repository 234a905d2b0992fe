"""The specification itself, against plain Python `pow` and GMP, and what only it promises."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.engine.interface import Modulus
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.reference import ReferenceEngine

ENGINE = ReferenceEngine()
ODD = st.integers(1, 2**200).map(lambda i: 2 * i + 1)


def residues(values, modulus):
    return ENGINE.reduce(limbs_from_ints(values, 2 * modulus.limb_count), modulus)


def ints(a):
    return ints_from_limbs(ENGINE.store(a))


@given(ODD, st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=6), st.integers(0, 2**128 - 1))
def test_modular_operations_are_those_of_gmp(n, values, exponent):
    modulus = Modulus(n)
    a = residues(values, modulus)
    e = limbs_from_ints([exponent], 2)
    assert ints(a) == [int(gmpy2.f_mod(value, n)) for value in values]
    assert ints(ENGINE.mod_mul(a, a)) == [int(gmpy2.powmod(value, 2, n)) for value in values]
    assert ints(ENGINE.mod_exp(a, e)) == [int(gmpy2.powmod(value, exponent, n)) for value in values]
    product = int(gmpy2.f_mod(gmpy2.mpz(int(np.prod(np.array(values, object)))), n))
    assert ints(ENGINE.mod_product(a)) == [product]


@given(ODD, st.integers(0, 2**200), st.integers(1, 7), st.integers(0, 2**70 - 1))
def test_fixed_base_entries_are_what_the_contract_says(n, base, window_bits, exponent):
    modulus = Modulus(n)
    limbs = limbs_from_ints([base % n], modulus.limb_count)[0]
    table = ENGINE.fixed_base_table(limbs, modulus, 70, window_bits)
    assert len(table.data) == table.positions == -(-70 // window_bits)
    for i, row in enumerate(table.data):
        assert row == [pow(base, j << window_bits * i, n) for j in range(1 << window_bits)]
    assert ints(ENGINE.mod_exp_fixed(table, limbs_from_ints([exponent], 2))) == [pow(base, exponent, n)]


@given(st.integers(0, 2**256 - 1), st.integers(1, 2**128 - 1))
def test_integer_operations_are_those_of_python(a, b):
    left, right = limbs_from_ints([a], 4), limbs_from_ints([b], 2)
    quotient, remainder = ENGINE.int_divmod(left, right)
    difference, below = ENGINE.int_sub(left, right)
    assert ints_from_limbs(ENGINE.int_add(left, right)) == [a + b]
    assert ints_from_limbs(ENGINE.int_mul(left, right)) == [a * b]
    assert (ints_from_limbs(quotient), ints_from_limbs(remainder)) == ([a // b], [a % b])
    assert (ints_from_limbs(difference), below.tolist()) == ([abs(a - b)], [a < b])


def test_it_says_that_it_is_not_constant_time():
    assert ENGINE.describe()["constant time"] == "no"


def test_no_repr_holds_a_residue():
    modulus = Modulus(2**61 - 1)
    a = ENGINE.load(limbs_from_ints([123456789123456789], 1), modulus)
    assert repr(a) == "ResidueArray(reference, shape (1,), Modulus(61 bits))"


def test_no_repr_holds_an_entry_of_a_table():
    table = ENGINE.fixed_base_table(limbs_from_ints([123456789], 1)[0], Modulus(2**61 - 1), 64, window_bits=4)
    assert repr(table) == "FixedBaseTable(reference, 64 bits by 4, Modulus(61 bits))"


@pytest.mark.parametrize("attribute", ["value", "bits"])
def test_a_modulus_does_not_change(attribute):
    with pytest.raises(AttributeError):
        setattr(Modulus(15), attribute, 3)
