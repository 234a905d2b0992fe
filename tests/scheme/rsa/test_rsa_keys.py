"""RSA keys: made to their exact size, refused when unsound, silent about their secrets."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import pickle
import warnings
from pathlib import Path

import gmpy2
import pytest

from hekat.errors import InputError, KeyRefusedError
from hekat.rsa import KeyPair, PrivateKey, PublicKey, generate_keys
from hekat.scheme.factored_key import check_strength
from hekat.scheme.rsa import KeySizeWarning
from hekat.scheme.rsa.parameters import check_new_key_bits
from hekat.scheme.rsa.primes import is_allowed_prime, is_close

VECTORS = Path(__file__).parents[2] / "vectors"
E = 65537


@pytest.mark.parametrize("bits", [128, 130, 254, 512, 1024])
def test_generated_keys_have_their_exact_size(bits):
    with pytest.warns(KeySizeWarning, match="RSA key") as caught:
        keys = generate_keys(bits, unsafe_for_benchmark=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    p, q = keys.private.p, keys.private.q
    assert (keys.public.n, keys.public.e, keys.public.bits) == (p * q, E, bits)
    assert all(gmpy2.is_prime(prime) for prime in (p, q))
    assert p >> (bits // 2 - 2) == q >> (bits // 2 - 2) == 3
    assert math.gcd(E, (p - 1) * (q - 1)) == 1
    assert not is_close(p, q)
    # The checks for keys from elsewhere pass on what is made here.
    assert PrivateKey(p, q) == keys.private


@pytest.mark.long
@pytest.mark.parametrize("bits", [2048, 3072, 4096])
def test_full_size_keys(bits):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        keys = generate_keys(bits)
    assert len(caught) == (1 if bits == 2048 else 0)
    assert keys.public.bits == bits
    assert not keys.public.unsafe


def test_the_default_size_is_3072_bits():
    assert generate_keys().public.bits == 3072


def test_progress_counts_candidates_and_primes():
    seen = []
    with pytest.warns(KeySizeWarning):
        generate_keys(1024, progress=lambda tried, found: seen.append((tried, found)), unsafe_for_benchmark=True)
    assert seen == sorted(seen)
    assert [found for _, found in seen][-1] == 2


@pytest.mark.parametrize("bits", [1024, 2046])
def test_small_keys_need_consent(bits):
    with pytest.raises(KeyRefusedError, match="at least 2048 bits") as refusal:
        generate_keys(bits)
    assert "unsafe_for_benchmark=True" in refusal.value.cure


@pytest.mark.parametrize("bits", [0, -2048, 126, 2049, 8194, 1 << 20])
@pytest.mark.parametrize("unsafe", [False, True])
def test_sizes_out_of_range_are_refused(bits, unsafe):
    with pytest.raises(KeyRefusedError, match="even number of bits from 2048 to 8192"):
        generate_keys(bits, unsafe_for_benchmark=unsafe)


@pytest.mark.parametrize("bits", [2048.0, "3072", True, None])
def test_sizes_that_are_no_integers_are_refused(bits):
    with pytest.raises(InputError, match="key size refused"):
        generate_keys(bits)


@pytest.mark.parametrize(("bits", "warning_count"), [(2048, 1), (3070, 1), (3072, 0), (8192, 0)])
def test_one_warning_below_the_default_size(bits, warning_count):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_new_key_bits(bits, unsafe_for_benchmark=False)
    assert [w.category for w in caught] == [KeySizeWarning] * warning_count


@pytest.mark.parametrize("bits", [1024, 2048])
def test_unsafe_keys_carry_their_mark(rsa_keys, bits):
    keys = rsa_keys(bits)
    for key in keys:
        assert ("UNSAFE" in repr(key)) == key.unsafe == (bits == 1024)
    if bits == 1024:
        for key in keys:
            with pytest.raises(KeyRefusedError, match="too small"):
                check_strength(key)
            check_strength(key, unsafe_for_benchmark=True)
    else:
        check_strength(keys.public)


def refused_moduli():
    prime = int(gmpy2.next_prime(1 << 511))
    yield "even", 1 << 512, "even"
    yield "prime", prime, "prime"
    yield "square", int(gmpy2.next_prime(1 << 255)) ** 2, "perfect power"
    yield "cube", int(gmpy2.next_prime(1 << 170)) ** 3, "perfect power"
    yield "small factor", 65521 * prime, "factor below 65536"
    yield "tiny", 15, "size"
    yield "zero", 0, "size"
    yield "negative", -prime, "size"
    yield "huge", (1 << 8192) + 1, "size"


@pytest.mark.parametrize(("n", "flaw"), [pytest.param(n, flaw, id=name) for name, n, flaw in refused_moduli()])
def test_unsound_public_keys_are_refused(n, flaw):
    with pytest.raises(KeyRefusedError, match=flaw) as refusal:
        PublicKey(n)
    assert n < 100 or str(n) not in str(refusal.value)


@pytest.mark.parametrize("e", [-E, 0, 1, 2, 3, 17, 65535, 65536, 65539 * 65537, 65541, (1 << 32) + 15, 1 << 3000])
def test_unsound_exponents_are_refused(rsa_keys, e):
    private = rsa_keys(512).private
    with pytest.raises(KeyRefusedError, match="prime from 65537"):
        PublicKey(private.public.n, e)
    with pytest.raises(KeyRefusedError, match="prime from 65537"):
        PrivateKey(private.p, private.q, e)


@pytest.mark.parametrize("e", [65537.0, "65537", True, None])
def test_exponents_of_other_types_are_refused(rsa_keys, e):
    with pytest.raises(InputError, match="public exponent refused"):
        PublicKey(rsa_keys(512).public.n, e)


@pytest.mark.parametrize("n", [1.5, "17", None, True])
def test_public_keys_of_other_types_are_refused(n):
    with pytest.raises(InputError):
        PublicKey(n)


def test_unsound_private_keys_are_refused(rsa_keys):
    p, q = rsa_keys(512).private.p, rsa_keys(512).private.q
    longer = rsa_keys(1024).private.p
    near = int(gmpy2.next_prime(p))
    # A prime that e divides, less one: then x -> x^e is no permutation.
    trap = 3 * (1 << 254) // E * E + 1
    while not (trap % 2 and gmpy2.is_prime(trap)):
        trap += E
    assert trap.bit_length() == 256
    cases = [
        (p, p, "equal or too close"),
        (p, near, "equal or too close"),
        (p, longer, "differ in size"),
        (p >> 1, (1 << 255) + 1, "out of range|a bit less"),
        (p, q + 2, "not prime"),
        (trap, q, "not prime, or e divides"),
        (p, trap, "not prime, or e divides"),
        (p, -q, "size"),
        (23, 47, "size"),
    ]
    for first, second, flaw in cases:
        with pytest.raises(KeyRefusedError, match=flaw) as refusal:
            PrivateKey(first, second)
        assert str(first) not in str(refusal.value)
    with pytest.raises(InputError):
        PrivateKey(str(p), q)


def test_allowed_primes_agree_with_trial_division():
    for value in range((1 << 17) + 1, (1 << 17) + 2000):
        is_prime = all(value % factor for factor in range(2, 370))
        assert is_allowed_prime(gmpy2.mpz(value), 7) == (is_prime and value % 7 != 1)


def test_nothing_shows_the_primes(rsa_keys):
    keys = rsa_keys(512)
    half = keys.private.halves[0]
    for shown in (keys, keys.private, half, half.modulus):
        for text in (repr(shown), str(shown), f"{shown}"):
            assert not any(str(v) in text or f"{v:x}" in text for v in (keys.private.p, keys.private.q))
    assert not hasattr(keys.private, "__dict__")
    for secret in (keys.private, keys, half):
        with pytest.raises(KeyRefusedError, match="not pickled"):
            pickle.dumps(secret)


def test_keys_are_values_that_do_not_change(rsa_keys):
    keys = rsa_keys(512)
    for key, name in ((keys.public, "n"), (keys.public, "e"), (keys.private, "_p")):
        with pytest.raises(AttributeError, match="does not change"):
            setattr(key, name, 1)
        assert copy.copy(key) is copy.deepcopy(key) is key
    again = KeyPair(PublicKey(keys.public.n), PrivateKey(keys.private.q, keys.private.p))
    assert again == keys
    assert hash(again.private) == hash(keys.private)
    assert keys.public != rsa_keys(512, 1).public
    assert keys.private != rsa_keys(512, 1).private
    assert keys.public != keys.public.n
    assert keys.private != keys.public


def test_the_exponent_is_part_of_the_key(rsa_keys):
    public = rsa_keys(512).public
    other = PublicKey(public.n, 65539)
    assert other != public
    assert other.fingerprint != public.fingerprint
    assert PublicKey(public.n) is public
    assert pickle.loads(pickle.dumps(other)) is other


def test_fingerprint_is_stable():
    """Messages name keys by it: a change would orphan them."""
    n = int(gmpy2.next_prime(1 << 80)) * int(gmpy2.next_prime(1 << 81))
    assert PublicKey(n).fingerprint == "30d4bb8aa04681eaab559cccb1ec041c"


def test_stored_keys_are_as_their_script_makes_them():
    specification = importlib.util.spec_from_file_location("make_rsa_keys", VECTORS / "make_rsa_keys.py")
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    stored = json.loads((VECTORS / "rsa_keys.json").read_text())["keys"]
    assert {int(bits): len(keys) for bits, keys in stored.items()} == script.COUNTS
    for bits in (512, 1024):
        assert stored[str(bits)] == [script.key(bits, index) for index in range(script.COUNTS[bits])]
