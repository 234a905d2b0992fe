"""Keys: made to their exact size, refused when unsound, silent about their secrets."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings

import gmpy2
import numpy as np
import pytest

from hekat.engine.reference import ReferenceEngine
from hekat.errors import InputError, KeyRefusedError
from hekat.paillier import KeyPair, PrivateKey, PublicKey, generate_keys
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.factored_key import check_strength
from hekat.scheme.paillier import KeySizeWarning, encrypt
from hekat.scheme.paillier.keys.key_pair import fingerprint_of
from hekat.scheme.paillier.keys.parameters import check_new_key_bits
from hekat.scheme.paillier.randomiser import djn_randomisers

UNSAFE_PRIME = int(gmpy2.next_prime(3 << 254))


@pytest.mark.parametrize("bits", [64, 66, 126, 128, 254, 510, 512])
def test_generated_keys_have_their_exact_size(bits):
    with pytest.warns(KeySizeWarning) as caught:
        keys = generate_keys(bits, unsafe_for_benchmark=True)
    assert len(caught) == 1
    p, q = keys.private.p, keys.private.q
    assert keys.public.n == p * q
    assert keys.public.bits == bits
    assert p != q
    assert p.bit_length() == q.bit_length() == bits // 2
    assert all(gmpy2.is_prime(prime) and prime % 4 == 3 for prime in (p, q))
    assert gmpy2.gcd(p - 1, q - 1) == 2
    assert p >> (bits // 2 - 2) == q >> (bits // 2 - 2) == 3
    # The checks for keys from elsewhere pass on what is made here.
    assert PrivateKey(p, q) is keys.private


def test_square_moduli_tell_engines_their_roots(paillier_keys):
    keys = paillier_keys(512)
    assert keys.public.n_squared.root == keys.public.n
    assert [half.square.root for half in keys.private.halves] == [keys.private.p, keys.private.q]


@pytest.mark.long
@pytest.mark.parametrize("bits", [2048, 3072])
def test_full_size_keys(bits):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        keys = generate_keys(bits)
    assert len(caught) == (1 if bits == 2048 else 0)
    assert keys.public.bits == bits
    assert not keys.public.unsafe
    assert PrivateKey(keys.private.p, keys.private.q).public is keys.public


def test_progress_counts_candidates_and_primes():
    seen = []
    with pytest.warns(KeySizeWarning):
        generate_keys(512, progress=lambda tried, found: seen.append((tried, found)), unsafe_for_benchmark=True)
    assert seen == sorted(seen)
    assert [found for _, found in seen][-1] == 2
    assert {1, 2} <= {found for _, found in seen}


@pytest.mark.parametrize("bits", [1024, 2046])
def test_small_keys_need_consent(bits):
    with pytest.raises(KeyRefusedError, match="at least 2048 bits") as refusal:
        generate_keys(bits)
    assert "unsafe_for_benchmark=True" in refusal.value.cure


@pytest.mark.parametrize("bits", [0, -2048, 8, 62, 2049, 3071, 8194, 1 << 20])
@pytest.mark.parametrize("unsafe", [False, True])
def test_sizes_out_of_range_are_refused(bits, unsafe):
    with pytest.raises(KeyRefusedError, match="even number of bits from 2048 to 8192"):
        generate_keys(bits, unsafe_for_benchmark=unsafe)


@pytest.mark.parametrize("bits", [2048.0, "3072", True, None])
def test_sizes_that_are_no_integers_are_refused(bits):
    with pytest.raises(InputError, match="key size refused"):
        generate_keys(bits)


@pytest.mark.parametrize(("bits", "warning_count"), [(2048, 1), (3070, 1), (3072, 0), (4096, 0)])
def test_one_warning_below_the_default_size(bits, warning_count):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_new_key_bits(bits, unsafe_for_benchmark=False)
    assert [w.category for w in caught] == [KeySizeWarning] * warning_count


@pytest.mark.parametrize("bits", [512, 2048])
def test_unsafe_keys_carry_their_mark(paillier_keys, bits):
    keys = paillier_keys(bits)
    plain = np.array([[1]], np.uint64)
    result = encrypt(keys.private, PackedPlaintext(plain, 1), engine=ReferenceEngine())
    for marked in (keys.public, keys.private, result):
        assert ("UNSAFE" in repr(marked)) == (bits == 512)
    assert keys.public.unsafe == keys.private.unsafe == result.public.unsafe == (bits == 512)


def test_check_strength(paillier_keys):
    check_strength(paillier_keys(2048).public)
    check_strength(paillier_keys(512).private, unsafe_for_benchmark=True)
    for key in paillier_keys(1024):
        with pytest.raises(KeyRefusedError, match="too small"):
            check_strength(key)


def refused_moduli():
    prime = int(gmpy2.next_prime(1 << 511))
    other = int(gmpy2.next_prime(1 << 255))
    yield "even", 1 << 512, "even"
    yield "prime", prime, "prime"
    yield "square", other**2, "perfect power"
    yield "cube", int(gmpy2.next_prime(1 << 170)) ** 3, "perfect power"
    yield "small factor", 65521 * prime, "factor below 65536"
    yield "tiny", 15, "size"
    yield "zero", 0, "size"
    yield "negative", -prime, "size"
    yield "huge", (1 << 8192) + 1, "size"


@pytest.mark.parametrize(("n", "flaw"), [pytest.param(n, flaw, id=name) for name, n, flaw in refused_moduli()])
def test_unsound_public_keys_are_refused(n, flaw):
    with pytest.raises(KeyRefusedError, match=flaw) as refusal:
        PublicKey(n, ())
    assert n < 100 or str(n) not in str(refusal.value)


@pytest.mark.parametrize("n", [1.5, "17", None, True, np.float64(3)])
def test_public_keys_of_other_types_are_refused(n):
    with pytest.raises(InputError):
        PublicKey(n, ())


def primes_that_share_a_factor(bits: int) -> tuple[int, int]:
    """Two primes 2ab + 1 of that many bits with the same a."""
    a = int(gmpy2.next_prime(3 << (bits // 2 - 3)))
    found: list[int] = []
    b = int(gmpy2.next_prime((7 << (bits - 3)) // (2 * a)))
    while len(found) < 2:
        b = int(gmpy2.next_prime(b))
        if gmpy2.is_prime(2 * a * b + 1):
            found.append(2 * a * b + 1)
    return found[0], found[1]


def test_unsound_private_keys_are_refused(paillier_keys):
    p, q = paillier_keys(512).private.p, paillier_keys(512).private.q
    longer = paillier_keys(1024).private.p
    cases = [
        (p, p, "equal"),
        (p, longer, "differ in size"),
        (p, UNSAFE_PRIME, "a small number other than 2"),
        (UNSAFE_PRIME, q, "a small number other than 2"),
        (p, q + 2, "no prime"),
        (*primes_that_share_a_factor(256), "share a factor"),
        (p, -q, "size"),
        (23, 47, "size"),
    ]
    for first, second, flaw in cases:
        with pytest.raises(KeyRefusedError, match=flaw) as refusal:
            PrivateKey(first, second)
        assert str(first) not in str(refusal.value)
    with pytest.raises(InputError):
        PrivateKey(str(p), q)


def test_nothing_shows_the_primes(paillier_keys):
    keys = paillier_keys(512)
    half = keys.private.halves[0]
    for shown in (keys, keys.private, half, half.modulus, half.square):
        for text in (repr(shown), str(shown), f"{shown}"):
            assert not any(str(v) in text or f"{v:x}" in text for v in (keys.private.p, keys.private.q))
    assert not hasattr(keys.private, "__dict__")
    for secret in (keys.private, keys, half):
        with pytest.raises(KeyRefusedError, match="not pickled"):
            pickle.dumps(secret)


def test_keys_are_values_that_do_not_change(paillier_keys):
    keys = paillier_keys(512)
    for key, name in ((keys.public, "n"), (keys.private, "_p")):
        with pytest.raises(AttributeError, match="does not change"):
            setattr(key, name, 1)
        assert copy.copy(key) is copy.deepcopy(key) is key
    again = KeyPair(PublicKey(keys.public.n, keys.public.roots), PrivateKey(keys.private.q, keys.private.p))
    assert again == keys
    assert {again.public, keys.public} == {keys.public}
    assert hash(again.private) == hash(keys.private)
    assert keys.public != paillier_keys(512, 1).public
    assert keys.private != paillier_keys(512, 1).private
    assert keys.public != keys.public.n
    assert keys.private != keys.public


def test_a_key_read_twice_is_one_key(paillier_keys):
    public = paillier_keys(512).public
    assert PublicKey(public.n, public.roots) is public
    assert pickle.loads(pickle.dumps(public)) is public


def test_fingerprint_is_stable():
    """Ledgers and files name keys by it: a change would orphan them."""
    n = int(gmpy2.next_prime(1 << 40)) * int(gmpy2.next_prime(1 << 41))
    assert fingerprint_of(n) == "8522fd1f34b0a0d8759977e966abc70e"


def test_threads_share_one_table(paillier_keys):
    made = []

    class CountingEngine(ReferenceEngine):
        def fixed_base_table(self, *arguments, **options):
            made.append(arguments)
            return super().fixed_base_table(*arguments, **options)

    engine, barrier, threads = CountingEngine(), threading.Barrier(6), []
    key = paillier_keys(512, 2).public

    def use():
        barrier.wait(timeout=60)
        djn_randomisers(key, 1, engine)

    for _ in range(6):
        threads.append(threading.Thread(target=use))
        threads[-1].start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(made) == 1
