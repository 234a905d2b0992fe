"""Textbook RSA: round trips, products, and that it is what its name says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.rsa import TextbookCiphertexts, decrypt, encrypt, hash_to_group, multiply

ENGINES = [get_engine("reference"), get_engine("cpu")]


def messages(setting, count):
    """Edges of the range, then powers of 3 mod n."""
    n = setting.public.n
    return [1, 2, n - 1, n // 2, *(pow(3, 1000 + index, n) for index in range(count))][:count]


@pytest.mark.quick_values
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_round_trip(setting, count):
    values = messages(setting, count)
    ciphertexts = encrypt(setting.public, setting.limbs(values), engine=setting.engine)
    assert setting.integers(ciphertexts) == [pow(m, setting.public.e, setting.public.n) for m in values]
    assert ints_from_limbs(decrypt(setting.keys.private, ciphertexts)) == values


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 4)])
def test_shapes_stay(setting, shape):
    count = math.prod(shape)
    limbs = setting.limbs(messages(setting, count)).reshape(*shape, -1 if count else 3)
    ciphertexts = encrypt(setting.public, limbs, engine=setting.engine)
    assert ciphertexts.shape == shape
    opened = decrypt(setting.keys.private, ciphertexts)
    assert opened.shape == (*shape, setting.public.n_modulus.limb_count)
    assert ints_from_limbs(opened) == messages(setting, count)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), engine=st.sampled_from(ENGINES))
def test_products_of_ciphertexts_are_products_of_messages(rsa_keys, data, engine):
    keys = rsa_keys(512)
    n, limb_count = keys.public.n, keys.public.n_modulus.limb_count
    pairs = data.draw(st.lists(st.tuples(st.integers(1, n - 1), st.integers(1, n - 1)), min_size=1, max_size=5))
    x, y = (encrypt(keys.public, limbs_from_ints(side, limb_count), engine=engine) for side in zip(*pairs, strict=True))
    assert ints_from_limbs(decrypt(keys.private, multiply(x, y))) == [a * b % n for a, b in pairs]


def test_equal_messages_have_equal_ciphertexts(small):
    """What makes it textbook, and why every name here says so."""
    first, second = (encrypt(small.public, small.limbs([5]), engine=small.engine) for _ in range(2))
    assert small.integers(first) == small.integers(second)
    assert "Textbook" in repr(first)
    for function in (encrypt, decrypt, multiply):
        assert "TEXTBOOK" in function.__doc__


def test_messages_out_of_range_are_refused(setting):
    n = setting.public.n
    for value in (n, n + 1, (1 << 64 * setting.public.n_modulus.limb_count) - 1):
        with pytest.raises(InputError) as refusal:
            encrypt(setting.public, setting.limbs([1, value]), engine=setting.engine)
        assert str(value) not in str(refusal.value)
    with pytest.raises(InputError, match=r"a message is 0; .* cure: encrypt numbers from 1 to n - 1"):
        encrypt(setting.public, setting.limbs([1, 0]), engine=setting.engine)


def test_operands_that_do_not_fit_are_refused(small, rsa_keys, paillier_keys):
    other = rsa_keys(512, 1)
    x = encrypt(small.public, small.limbs([1, 2, 3]), engine=small.engine)
    y = encrypt(other.public, small.limbs([1, 2, 3]), engine=small.engine)
    with pytest.raises(KeyRefusedError) as refusal:
        multiply(x, y)
    assert small.public.fingerprint in refusal.value.expected
    assert other.public.fingerprint in refusal.value.got
    with pytest.raises(KeyRefusedError, match="another RSA key"):
        decrypt(other.private, x)
    with pytest.raises(InputError, match="different shape"):
        multiply(x, x[:2])
    for no_key in (small.keys, small.public, paillier_keys(512).private, None):
        with pytest.raises(KeyRefusedError, match="no RSA private key"):
            decrypt(no_key, x)
    for no_key in (small.keys, small.keys.private, paillier_keys(512).public, None):
        with pytest.raises(KeyRefusedError, match="no RSA public key"):
            encrypt(no_key, small.limbs([1]), engine=small.engine)
    hashed = hash_to_group(small.public, [b"item"], engine=small.engine)
    for stranger in (hashed, x.to_limbs(), x.residues):
        with pytest.raises(InputError, match="another kind"):
            decrypt(small.keys.private, stranger)
        with pytest.raises(InputError, match="another kind"):
            multiply(x, stranger)


def test_arrays_of_values_index_and_join(small):
    x = encrypt(small.public, small.limbs([2, 3, 5, 7]), engine=small.engine)
    joined = TextbookCiphertexts.concatenate([x[:1], x[1:]])
    assert small.integers(joined) == small.integers(x)
    assert small.integers(x[::-1]) == small.integers(x)[::-1]
    assert len(x[1:]) == 3
    assert (x[0].shape, x[0].size) == ((), 1)
    with pytest.raises(IndexError):
        x[4]
    with pytest.raises(InputError, match="nothing to concatenate"):
        TextbookCiphertexts.concatenate([])
    with pytest.raises(InputError, match="do not belong to this key"):
        TextbookCiphertexts(small.public, x.to_limbs())
