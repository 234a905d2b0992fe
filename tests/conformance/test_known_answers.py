"""Conformance: stored answers of independent implementations, GMP and OpenSSL.

The scripts beside tests/vectors/engine.json and tests/vectors/openssl.json wrote them once, with nothing of Hekat.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hekat.engine.interface import Modulus

VECTORS = Path(__file__).parents[1] / "vectors"
ANSWERS = {name: json.loads((VECTORS / f"{name}.json").read_text()) for name in ("engine", "openssl")}
MODULAR = [(f"{name}-{case['bits']}bits", case) for name, answers in ANSWERS.items() for case in answers["modular"]]
INTEGERS = [answer for answers in ANSWERS.values() for answer in answers["integer"]]
E_LIMBS = 3


def decoded(numbers, texts):
    return numbers.objects([int(text, 16) for text in texts], (len(texts),))


@pytest.fixture(
    params=[
        pytest.param(case, id=name, marks=pytest.mark.size_bits(case["bits"] // (2 if "root" in case else 1)))
        for name, case in MODULAR
    ]
)
def case(request):
    return request.param


def test_the_sources_are_named():
    assert ANSWERS["engine"]["source"].startswith("gmpy2")
    assert ANSWERS["openssl"]["source"].startswith("OpenSSL")


@pytest.fixture
def modulus(case):
    modulus = Modulus(int(case["modulus"], 16), root=int(case["root"], 16) if "root" in case else None)
    assert modulus.bits == case["bits"]
    return modulus


def test_mod_mul(engine, numbers, case, modulus):
    a, b = (numbers.load(engine, decoded(numbers, case[name]), modulus) for name in "ab")
    numbers.same(numbers.store(engine.mod_mul(a, b)), decoded(numbers, case["mod_mul"]))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
def test_mod_exp(engine, numbers, case, modulus, operation):
    a = numbers.load(engine, decoded(numbers, case["a"]), modulus)
    exponents = numbers.limbs(decoded(numbers, case["exponents"]), E_LIMBS)
    found = getattr(engine, operation)(a, exponents)
    numbers.same(numbers.store(found), decoded(numbers, case["mod_exp"]))


@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("window_bits", [None, 5])
def test_mod_exp_fixed(engine, numbers, case, modulus, window_bits):
    base = numbers.limbs(int(case["a"][0], 16), modulus.limb_count)
    table = engine.fixed_base_table(base, modulus, 160, window_bits)
    found = engine.mod_exp_fixed(table, numbers.limbs(decoded(numbers, case["exponents"]), E_LIMBS))
    numbers.same(numbers.store(found), decoded(numbers, case["mod_exp_fixed_of_first_a"]))


def test_mod_inv(engine, numbers, case, modulus):
    a = numbers.load(engine, decoded(numbers, case["a"]), modulus)
    numbers.same(numbers.store(engine.mod_inv(a)), decoded(numbers, case["mod_inv"]))


def test_products(engine, numbers, case, modulus):
    a = numbers.load(engine, decoded(numbers, case["a"]), modulus)
    expected = numbers.objects([int(case["mod_product"], 16)], (1,))
    numbers.same(numbers.store(engine.mod_product(a)).reshape(1), expected)
    numbers.same(numbers.store(engine.mod_segment_product(a, np.zeros(len(a), np.int64), 1)), expected)


def test_mod_multi_exp(engine, numbers, case, modulus):
    a = numbers.load(engine, decoded(numbers, case["a"]), modulus)
    exponents = numbers.limbs(decoded(numbers, case["exponents"]).reshape(-1, 1), E_LIMBS)
    negative = (np.arange(len(a)) % 2 == 1).reshape(-1, 1)
    found = numbers.store(engine.mod_multi_exp(a, exponents, negative))
    numbers.same(found, numbers.objects([int(case["mod_multi_exp_odd_rows_negative"], 16)], (1,)))


def test_reduce(engine, numbers, case, modulus):
    wide = numbers.limbs(decoded(numbers, case["wide"]), 2 * modulus.limb_count)
    numbers.same(numbers.store(engine.reduce(wide, modulus)), decoded(numbers, case["reduce"]))


@pytest.mark.parametrize("answer", INTEGERS, ids=lambda answer: f"{4 * len(answer['a'])}bits")
@pytest.mark.size_bits(64)
def test_integers(engine, numbers, answer):
    values = {name: int(text, 16) for name, text in answer.items() if name != "below"}
    a = numbers.limbs([values["a"]], numbers.limbs_for_bits(values["a"].bit_length()))
    b = numbers.limbs([values["b"]], numbers.limbs_for_bits(values["b"].bit_length()))
    difference, below = engine.int_sub(a, b)
    quotient, remainder = engine.int_divmod(a, b)
    found = [engine.int_add(a, b), difference, engine.int_mul(a, b), quotient, remainder]
    names = ["sum", "difference", "product", "quotient", "remainder"]
    assert [numbers.ints(limbs)[0] for limbs in found] == [values[name] for name in names]
    assert below.tolist() == [answer["below"]]
