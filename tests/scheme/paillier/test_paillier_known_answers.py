"""Stored answers of textbook formulas, computed by GMP without Hekat, digit for digit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.scheme.paillier import Ciphertexts, add, add_plain, matmul_plain, multiply_plain, subtract

VECTORS = {
    case["bits"]: case for case in json.loads((Path(__file__).parents[2] / "vectors" / "paillier.json").read_text())
}


@pytest.fixture
def case(setting):
    return VECTORS[setting.keys.public.bits]


def integers(texts):
    return [int(text, 16) for text in texts]


def load(setting, texts):
    public = setting.keys.public
    return Ciphertexts.from_limbs(public, limbs_from_ints(integers(texts), public.n_squared.limb_count), setting.engine)


def values(ciphertexts):
    return ints_from_limbs(ciphertexts.to_limbs())


def test_decrypt(setting, case):
    assert setting.decrypt(load(setting, case["ciphertexts"])) == integers(case["plaintexts"])


def test_arithmetic(setting, case):
    each, scalar = load(setting, case["ciphertexts"]), int(case["scalar"], 16)
    assert values(add(each[0], each)) == integers(case["first_plus_each"])
    assert values(subtract(each[0], each)) == integers(case["first_minus_each"])
    assert values(multiply_plain(each, scalar)) == integers(case["scalar_times_each"])
    assert values(add_plain(each, scalar)) == integers(case["each_plus_scalar"])
    diagonal = np.zeros((len(each), len(each)), object)
    np.fill_diagonal(diagonal, scalar)
    assert values(matmul_plain(diagonal, each)) == integers(case["scalar_times_each"])
