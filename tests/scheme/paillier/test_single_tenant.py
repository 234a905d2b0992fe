"""On a machine without other tenants the tables of randomness are plain look-ups, and no other table is."""

from __future__ import annotations

import pytest

from hekat.engine.cpu import CpuEngine
from hekat.engine.reference import ReferenceEngine
from hekat.scheme.paillier import KeyPair, decrypt, encrypt, rerandomise


@pytest.fixture
def keys(paillier_keys) -> KeyPair:
    return paillier_keys(512)


@pytest.fixture(params=["cpu", "reference"])
def make_engine(request):
    return (
        (lambda alone: CpuEngine(1, single_tenant=alone))
        if request.param == "cpu"
        else (lambda alone: ReferenceEngine(single_tenant=alone))
    )


@pytest.mark.parametrize("alone", [False, True])
def test_only_tables_of_randomness_obey(small, keys, make_engine, alone):
    engine, plain = make_engine(alone), small.plain([4, -5, 0])
    by_holder = encrypt(keys.private, plain, engine=engine)
    by_anyone = encrypt(keys.public, plain, engine=engine)
    for ciphertexts in (by_holder, by_anyone, rerandomise(by_anyone), rerandomise(by_holder, keys.private)):
        assert small.integers(decrypt(keys.private, ciphertexts)) == [4, -5, 0]
    half = keys.private.halves[0]
    assert half.randomiser_table(engine).constant_time is not alone
    assert half.blinding_table(engine).constant_time
    # What was made above is what is kept.
    kept = keys.public.djn_tables.get(engine, lambda: pytest.fail("encryption made no table"))
    assert kept.constant_time is not alone


def test_plain_tables_have_wider_windows(keys):
    half = keys.private.halves[0]
    usual, alone = (half.randomiser_table(CpuEngine(1, single_tenant=alone), 1 << 15) for alone in (False, True))
    assert alone.window_bits > usual.window_bits
