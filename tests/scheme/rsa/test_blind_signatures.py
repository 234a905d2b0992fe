"""Blind signatures: unblinded equals direct, blinded tells nothing, wrong ones are refused."""

from __future__ import annotations

import copy
import math
import pickle

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.rsa import (
    BlindedItems,
    BlindSignatures,
    HashedItems,
    PrivateKey,
    PublicKey,
    Signatures,
    blind,
    encrypt,
    hash_to_group,
    sign,
    unblind,
    verify,
)
from hekat.scheme.rsa.private_power import random_units

# What a correct implementation fails by chance, once in 10^9 runs.
CHANCE = 1e-9


@pytest.mark.quick_values
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, pytest.param(100, marks=pytest.mark.long)])
def test_unblinded_equals_direct(setting, count):
    hashed = setting.hash_count(count)
    blinded, state = blind(hashed)
    signatures = unblind(state, sign(setting.keys.private, blinded))
    assert signatures.shape == state.shape == blinded.shape == (count,)
    wanted = [setting.power_d(m) for m in setting.integers(hashed)]
    assert setting.integers(signatures) == wanted
    assert setting.integers(sign(setting.keys.private, hashed)) == wanted
    holds = verify(hashed, signatures)
    assert holds.shape == (count,)
    assert holds.dtype == np.bool_
    assert holds.all()


@pytest.mark.parametrize("shape", [(), (2, 3), (0, 2)])
def test_shapes_stay(setting, shape):
    hashed = setting.hash_count(int(np.prod(shape)))
    positions = np.arange(hashed.size).reshape(shape)
    blinded, state = blind(hashed.take(positions))
    signatures = unblind(state, sign(setting.keys.private, blinded))
    assert signatures.shape == blinded.shape == verify(hashed.take(positions), signatures).shape == shape


def test_values_at_the_edges_are_signed(setting):
    n, p, q = setting.public.n, setting.keys.private.p, setting.keys.private.q
    values = [1, 2, n - 1, n - 2, p, n - q, (p - 1) * q, 1 << (setting.public.bits - 1)]
    signed = setting.integers(sign(setting.keys.private, setting.hashed(values)))
    assert signed == [setting.power_d(m) for m in values]


def test_keys_whose_size_is_no_whole_number_of_limbs():
    key = PrivateKey._trusted(2**67 - 1044189, 2**67 - 1043601, 65537)
    d = pow(key.public.e, -1, (key.p - 1) * (key.q - 1))
    values = [1, key.public.n - 1, 5**50]
    for name in ("reference", "cpu"):
        limbs = limbs_from_ints(values, key.public.n_modulus.limb_count)
        signed = sign(key, HashedItems.from_limbs(key.public, limbs, get_engine(name)))
        assert ints_from_limbs(signed.to_limbs()) == [pow(m, d, key.public.n) for m in values]


@settings(max_examples=25, deadline=None)
@given(
    items=st.lists(st.binary(max_size=40), max_size=12),
    context=st.binary(max_size=10),
    name=st.sampled_from(["reference", "cpu"]),
)
def test_any_items_sign_and_verify(rsa_keys, items, context, name):
    keys = rsa_keys(512)
    hashed = hash_to_group(keys.public, items, context=context, engine=get_engine(name))
    blinded, state = blind(hashed)
    signatures = unblind(state, sign(keys.private, blinded))
    assert verify(hashed, signatures).all()
    # Equal items meet, and only they do.
    found = [row.tobytes() for row in signatures.to_limbs()]
    assert len(set(found)) == len(set(items))


# --- what the signer sees ------------------------------------------------------------------------------------------


def test_the_signer_sees_other_values_at_each_call(setting):
    hashed = setting.hash_count(4).take(np.array([0, 1, 0, 1]))
    views = [setting.integers(blind(hashed)[0]) for _ in range(3)]
    seen = [value for view in views for value in view]
    assert len(set(seen)) == len(seen) == 12
    assert not set(seen) & set(setting.integers(hashed))


def tiny_key() -> PrivateKey:
    """p = 101, q = 10007, e = 7: small enough to count residues mod p."""
    return PrivateKey._trusted(101, 10007, 7)


@pytest.mark.parametrize("value", [1, 2, 999_999])
def test_blinded_items_are_uniform_units_whatever_the_item(value):
    key = tiny_key()
    engine = get_engine("reference")
    hashed = HashedItems.from_limbs(key.public, limbs_from_ints([value] * 30, 1), engine)
    blinded = [x for _ in range(100) for x in ints_from_limbs(blind(hashed)[0].to_limbs())]
    assert all(x % 101 and x % 10007 for x in blinded)
    counts = np.bincount([x % 101 for x in blinded], minlength=101)[1:]
    assert stats.chisquare(counts).pvalue > CHANCE
    counts = np.bincount([x * 50 // key.public.n for x in blinded], minlength=50)
    assert stats.chisquare(counts).pvalue > CHANCE


def test_random_units_come_with_their_inverses():
    key = tiny_key().public
    for name in ("reference", "cpu"):
        engine = get_engine(name)
        for count in (0, 1, 20):
            units, inverses = (ints_from_limbs(engine.store(x)) for x in random_units(key, count, engine))
            assert len(units) == count
            assert all(x * y % key.n == 1 for x, y in zip(units, inverses, strict=True))


def test_the_blinding_state_tells_nothing(small):
    hashed = small.hash_count(2)
    _, state = blind(hashed)
    secrets = [*ints_from_limbs(small.engine.store(state._inverses)), *small.integers(hashed)]
    for shown in (repr(state), str(state), repr(hashed), repr(state._inverses)):
        assert not any(str(value) in shown or f"{value:x}" in shown for value in secrets)
    assert not hasattr(state, "__dict__")
    with pytest.raises(KeyRefusedError, match="not pickled"):
        pickle.dumps(state)
    with pytest.raises(AttributeError, match="does not change"):
        state._inverses = None
    assert copy.copy(state) is copy.deepcopy(state) is state


def test_a_key_of_small_factors_is_found_out_and_does_not_keep_us():
    """30 primes of 17 bits: one item in 2,000 is no unit, and its factor would show through any blinding."""
    primes, candidate = [], (1 << 16) + 1
    while len(primes) < 30:
        candidate = int(gmpy2.next_prime(candidate))
        primes.append(candidate)
    key = PublicKey(math.prod(primes))
    for name, count in (("reference", 5_000), ("cpu", 20_000)):
        engine = get_engine(name)
        units, inverses = random_units(key, count, engine)
        ones = engine.store(engine.mod_mul(units, inverses))
        assert (ones[:, 0] == 1).all()
        assert not ones[:, 1:].any()
        limbs = limbs_from_ints([2, 3 * primes[5], 5], key.n_modulus.limb_count)
        hashed = HashedItems.from_limbs(key, limbs, engine)
        blind(hashed[::2])
        with pytest.raises(KeyRefusedError, match="shares a factor") as refusal:
            blind(hashed)
        assert str(primes[5]) not in str(refusal.value)


def test_a_hash_of_0_is_no_reason_to_mistrust_the_key():
    key, engine = tiny_key().public, get_engine("reference")
    hashed = HashedItems(key, engine.load(limbs_from_ints([5, 0], 1), key.n_modulus))
    with pytest.raises(InputError, match=r"a hash is 0; .*; cure: take what hash_to_group makes"):
        blind(hashed)


# --- refusals -------------------------------------------------------------------------------------------------------


def test_signatures_that_do_not_hold_are_refused(setting):
    hashed = setting.hash_count(3)
    blinded, state = blind(hashed)
    good = sign(setting.keys.private, blinded)
    values = setting.integers(good)
    n = setting.public.n
    for changed in (
        [values[1], values[0], values[2]],
        [values[0] ^ 1, values[1], values[2]],
        [values[0], values[1], n - values[2]],
        [values[0], 1, values[2]],
    ):
        bad = BlindSignatures.from_limbs(setting.public, setting.limbs(changed), setting.engine)
        with pytest.raises(InputError, match="do not hold") as refusal:
            unblind(state, bad)
        assert not any(str(value) in str(refusal.value) for value in changed if value > 99)
    assert unblind(state, good).shape == (3,)


def test_verify_says_which_signatures_hold(setting):
    hashed = setting.hash_count(4)
    values = setting.integers(sign(setting.keys.private, hashed))
    values[1] = setting.public.n - values[1]
    values[3] = values[0]
    forged = Signatures.from_limbs(setting.public, setting.limbs(values), setting.engine)
    assert verify(hashed, forged).tolist() == [True, False, True, False]


def test_values_out_of_range_are_refused(setting):
    n = setting.public.n
    for kind in (HashedItems, BlindedItems, BlindSignatures, Signatures):
        cure = "hash_to_group" if kind is HashedItems else "ask the sender again"
        with pytest.raises(InputError, match=f"a value is 0; .*{cure}"):
            kind.from_limbs(setting.public, setting.limbs([1, 0]), setting.engine)
        for value in (n, n + 1):
            with pytest.raises(InputError) as refusal:
                kind.from_limbs(setting.public, setting.limbs([value]), setting.engine)
            assert str(value) not in str(refusal.value)


def test_other_keys_are_refused(small, rsa_keys, paillier_keys):
    other = rsa_keys(512, 1)
    hashed = small.hash_count(1)
    blinded, state = blind(hashed)
    with pytest.raises(KeyRefusedError) as refusal:
        sign(other.private, blinded)
    assert small.public.fingerprint in refusal.value.got
    foreign = BlindSignatures.from_limbs(other.public, small.limbs([2]), small.engine)
    with pytest.raises(KeyRefusedError, match="another RSA key"):
        unblind(state, foreign)
    with pytest.raises(KeyRefusedError, match="another RSA key"):
        verify(hashed, Signatures.from_limbs(other.public, small.limbs([2]), small.engine))
    with pytest.raises(KeyRefusedError, match="another RSA key"):
        HashedItems.concatenate([hashed, hash_to_group(other.public, [b"x"], engine=small.engine)])
    for no_key in (small.keys, small.public, paillier_keys(512).private, None):
        with pytest.raises(KeyRefusedError, match="no RSA private key"):
            sign(no_key, blinded)


def test_other_kinds_and_shapes_are_refused(small):
    hashed = small.hash_count(3)
    blinded, state = blind(hashed)
    blind_signatures = sign(small.keys.private, blinded)
    signatures = unblind(state, blind_signatures)
    ciphertexts = encrypt(small.public, small.limbs([2, 3, 5]), engine=small.engine)
    for call in (
        lambda: blind(blinded),
        lambda: blind([b"item"]),
        lambda: sign(small.keys.private, signatures),
        lambda: sign(small.keys.private, ciphertexts),
        lambda: sign(small.keys.private, blinded.to_limbs()),
        lambda: unblind(state, signatures),
        lambda: unblind(state, blinded),
        lambda: verify(hashed, blind_signatures),
        lambda: verify(blinded, signatures),
        lambda: HashedItems.concatenate([hashed, blinded]),
    ):
        with pytest.raises(InputError, match="another kind"):
            call()
    with pytest.raises(InputError, match="BlindingState"):
        unblind(blinded, blind_signatures)
    with pytest.raises(InputError, match="different shape"):
        unblind(state, blind_signatures[:2])
    with pytest.raises(InputError, match="different shape"):
        verify(hashed[:2], signatures)
