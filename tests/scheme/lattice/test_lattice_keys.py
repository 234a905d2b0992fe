"""Secrets: fresh, of the exact law, used once, shown nowhere; public keys that never repeat."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
from math import comb

import numpy as np
import pytest

from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.lattice import (
    SETS,
    Accumulator,
    Decryptor,
    Encryptor,
    SecretKey,
    SecretSum,
    encrypt,
    generate_secret,
    public_key,
    secret_from_seed,
    sum_secrets,
)
from hekat.wire import to_bytes

PARAMETERS = SETS["A16-16"]
OTHER = SETS["A8-32"]
KEY = public_key(b"session", 1, PARAMETERS)
VALUES = np.array([1, 2, 3], np.int32)


def seed_of(number: int) -> bytes:
    return number.to_bytes(32, "big")


class Spy:
    """Keeps what is asked of the engine and computes nothing."""

    def __init__(self):
        self.calls = []

    def ring_ntt(self, ring, a):
        return a.copy()

    def mask_values(self, form, public_key, secret_ntt, error_key, first_chunk, values):
        self.calls.append((secret_ntt.tobytes(), bytes(error_key), first_chunk))
        return np.zeros(form.written_bytes(values.size), np.uint8)


def in_child(work) -> str:
    """What `work` returns in a forked process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, work().encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def test_secrets_follow_the_binomial_law(reference):
    """Chi-square of 24 secrets from seeds 0 to 23, 49152 numbers, against P(x) = C(42, 21 + x) / 2^42."""
    drawn = np.concatenate([secret_from_seed(PARAMETERS, seed_of(i), reference).coefficients for i in range(24)])
    law = np.array([comb(42, 21 + x) for x in range(-21, 22)]) / 2.0**42
    # Tails where fewer than ten are expected are one class each.
    edge = next(x for x in range(22) if law[: 22 - x].sum() * drawn.size < 10) - 1
    expected = [law[: 22 - edge].sum(), *law[22 - edge : 21 + edge], law[21 + edge :].sum()]
    classes = np.clip(drawn, -edge, edge) + edge
    observed = np.bincount(classes, minlength=2 * edge + 1)
    expected = np.array(expected) * drawn.size
    statistic = ((observed - expected) ** 2 / expected).sum()
    freedom = len(expected) - 1
    assert freedom > 20
    # Mean and five standard deviations of chi-square.
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)
    assert abs(drawn.mean()) < 5 * np.sqrt(10.5 / drawn.size)
    assert abs(drawn.astype(np.int64).var() - 10.5) < 5 * 10.5 * np.sqrt(2 / drawn.size)


@pytest.mark.parametrize("name", ["A16-16", "C16-128"])
def test_the_public_polynomial_is_uniform(reference, name):
    """Chi-square over 64 equal ranges and over the lowest six bits, eight chunks, fixed session and number."""
    ring = SETS[name].form.ring
    a = reference.expand_uniform(ring, public_key(b"uniform", 1, SETS[name]), 0, 8)
    for i, p in enumerate(ring.primes):
        row = a[:, i].reshape(-1)
        assert row.max() < p
        for classes in (row.astype(np.float64) * 64 / p, row % np.uint64(64)):
            observed = np.bincount(classes.astype(np.int64), minlength=64)
            expected = row.size / 64
            assert ((observed - expected) ** 2 / expected).sum() < 63 + 5 * np.sqrt(2 * 63)


def test_seeds_give_their_secret_and_no_other(reference):
    first, again = (secret_from_seed(PARAMETERS, seed_of(1), reference) for _ in range(2))
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    assert (first.coefficients != secret_from_seed(PARAMETERS, seed_of(2), reference).coefficients).any()
    np.testing.assert_array_equal(first.coefficients, reference.sample_cbd(seed_of(1), 0, 1, 2048)[0])
    for seed in (b"", bytes(31), bytes(33), "0" * 32, 5):
        with pytest.raises(InputError, match="seed refused"):
            secret_from_seed(PARAMETERS, seed, reference)


def test_generated_secrets_are_fresh(reference):
    drawn = {generate_secret(PARAMETERS, reference).coefficients.tobytes() for _ in range(6)}
    assert len(drawn) == 6


def test_a_forked_process_draws_other_secrets_and_cannot_use_its_parents(reference):
    secret = generate_secret(PARAMETERS, reference)
    encryptor = Encryptor(PARAMETERS, generate_secret(PARAMETERS, reference), KEY, Spy())

    def draw():
        return generate_secret(PARAMETERS, reference).coefficients.tobytes().hex()

    def reuse():
        refused = 0
        for attempt in (lambda: Encryptor(PARAMETERS, secret, KEY, Spy()), lambda: encryptor.encrypt(VALUES, True)):
            try:
                attempt()
            except KeyRefusedError:
                refused += 1
        return str(refused)

    assert len({draw(), in_child(draw), in_child(draw)}) == 3
    assert in_child(reuse) == "2"
    # In the process that made them both still work.
    Encryptor(PARAMETERS, secret, KEY, Spy())
    encryptor.encrypt(VALUES, last=True)


def test_a_secret_masks_one_contribution(reference):
    secret = generate_secret(PARAMETERS, reference)
    Encryptor(PARAMETERS, secret, KEY, reference)
    with pytest.raises(KeyRefusedError, match="one contribution only"):
        Encryptor(PARAMETERS, secret, public_key(b"session", 2, PARAMETERS), reference)
    with pytest.raises(KeyRefusedError, match="one contribution only"):
        encrypt(PARAMETERS, copy.deepcopy(secret), KEY, VALUES, reference)


def test_refused_arguments_leave_a_secret_unused(reference):
    secret = generate_secret(PARAMETERS, reference)
    with pytest.raises(InputError, match="public key"):
        Encryptor(PARAMETERS, secret, b"short", reference)
    with pytest.raises(KeyRefusedError, match="parameter set"):
        Encryptor(OTHER, secret, KEY, reference)
    with pytest.raises(BoundError):
        encrypt(PARAMETERS, secret, KEY, np.array([1 << 15], np.int32), reference)
    encrypt(PARAMETERS, secret, KEY, VALUES, reference)


def test_no_two_contributions_share_an_error_key_or_a_secret_and_no_two_chunks_a_number(reference):
    spy = Spy()
    block = np.zeros(2 * PARAMETERS.form.values_per_chunk, np.int32)
    for _ in range(8):
        encryptor = Encryptor(PARAMETERS, generate_secret(PARAMETERS, reference), KEY, spy)
        encryptor.encrypt(block)
        encryptor.encrypt(block)
        encryptor.encrypt(VALUES, last=True)
    secrets, error_keys, chunks = (set(column) for column in zip(*spy.calls, strict=True))
    assert len(secrets) == len(error_keys) == 8
    assert {len(key) for key in error_keys} == {32}
    assert [call[2] for call in spy.calls] == [0, 2, 4] * 8
    assert chunks == {0, 2, 4}


def test_what_stopped_in_the_middle_is_not_masked_again(reference):
    class Failing(Spy):
        def mask_values(self, *arguments):
            super().mask_values(*arguments)
            raise MemoryError

    encryptor = Encryptor(PARAMETERS, generate_secret(PARAMETERS, reference), KEY, Failing())
    with pytest.raises(MemoryError):
        encryptor.encrypt(VALUES, last=True)
    with pytest.raises(KeyRefusedError, match="no more values"):
        encryptor.encrypt(VALUES, last=True)


def test_public_keys_differ_by_session_number_and_set():
    keys = {
        public_key(session, number, parameters)
        for session in (b"a", b"b", b"a\x00", b"aa")
        for number in (0, 1, 2**64 - 1)
        for parameters in SETS.values()
    }
    assert len(keys) == 4 * 3 * len(SETS)


def test_public_key_is_the_stated_hash():
    assert KEY.hex() == "bf603ebf769f98d718ee8e27a90d4f423a331ef1da5d11ce87dd6b7fe182c9f5"
    for session, number in ((b"", 1), ("text", 1), (b"a", -1), (b"a", 1 << 64)):
        with pytest.raises(InputError):
            public_key(session, number, PARAMETERS)


def test_a_purpose_is_one_more_field_under_a_label_of_its_own():
    fields = (b"hekat-a-v2", b"session", (1).to_bytes(8, "big"), PARAMETERS.name.encode(), b"tree-1/level-0")
    stated = hashlib.sha256(b"".join(len(field).to_bytes(4, "big") + field for field in fields)).digest()
    assert public_key(b"session", 1, PARAMETERS, b"tree-1/level-0") == stated
    keys = [public_key(b"session", 1, PARAMETERS, purpose) for purpose in (b"", b"a", b"b", b"ab", b"a\x00")]
    assert len(set(keys)) == len(keys)
    assert keys[0] == KEY


def test_sums_of_secrets(reference):
    secrets = [secret_from_seed(PARAMETERS, seed_of(i), reference) for i in range(3)]
    total = sum_secrets(secrets)
    assert total.addend_count == 3
    expected = np.sum([secret.coefficients for secret in secrets], axis=0, dtype=np.int32)
    np.testing.assert_array_equal(total.coefficients, expected)
    with pytest.raises(InputError, match="no secrets"):
        sum_secrets([])
    with pytest.raises(KeyRefusedError, match="parameter set"):
        sum_secrets([secrets[0], secret_from_seed(OTHER, seed_of(1), reference)])
    with pytest.raises(InputError, match="number of addends"):
        sum_secrets(secrets[:1] * 17)


@pytest.mark.parametrize("count", [1, 3, 16])
def test_sums_beyond_their_bound_are_refused(count):
    for sign in (1, -1):
        coefficients = np.zeros(2048, np.int32)
        coefficients[1000] = sign * 21 * count
        SecretSum(PARAMETERS, coefficients, count)
        coefficients[1000] += sign
        with pytest.raises(BoundError, match=f"no sum of {count} secrets"):
            SecretSum(PARAMETERS, coefficients, count)


def test_malformed_secrets_are_refused():
    for count in (0, -1, 17):
        with pytest.raises(InputError, match="number of addends"):
            SecretSum(PARAMETERS, np.zeros(2048, np.int32), count)
    for bad in (np.zeros(2048, np.int64), np.zeros(2047, np.int32), np.zeros((1, 2048), np.int32), [0] * 2048):
        with pytest.raises(InputError, match="coefficients of a secret"):
            SecretSum(PARAMETERS, bad, 1)
    for bad in (np.zeros(2048, np.int32), np.zeros(4096, np.int8), None):
        with pytest.raises(InputError, match="coefficients of a secret"):
            SecretKey(PARAMETERS, bad)
    for value in (22, -22, 127, -128):
        with pytest.raises(InputError, match="out of range") as refusal:
            SecretKey(PARAMETERS, np.full(2048, value, np.int8))
        assert str(value) not in str(refusal.value).replace("+-21", "")


def holders(reference):
    secret = secret_from_seed(PARAMETERS, seed_of(3), reference)
    yield secret
    yield sum_secrets([secret])
    yield Encryptor(PARAMETERS, secret, KEY, reference)
    yield Decryptor(PARAMETERS, sum_secrets([secret]), KEY, reference)


def test_nothing_shows_copies_or_sends_a_secret(reference):
    names = {"SecretKey": 1, "SecretSum": 1, "Encryptor": 0, "Decryptor": 0}
    for holder in holders(reference):
        assert "array" not in repr(holder)
        assert len(repr(holder)) < 60
        assert str(holder) == repr(holder)
        assert not hasattr(holder, "__dict__")
        with pytest.raises(KeyRefusedError):
            pickle.dumps(holder)
        with pytest.raises(KeyRefusedError, match="not sent"):
            to_bytes(holder)
        if names.pop(type(holder).__name__):
            # A copy is the thing itself: what was used stays used.
            assert copy.copy(holder) is copy.deepcopy(holder) is holder
            with pytest.raises(AttributeError, match="does not change"):
                holder.parameters = OTHER
            with pytest.raises(ValueError, match="read-only"):
                holder.coefficients[0] = 1
        else:
            for make_copy in (copy.copy, copy.deepcopy):
                with pytest.raises(KeyRefusedError):
                    make_copy(holder)
    assert not names
    assert "3 values, 0 addends" in repr(Accumulator(PARAMETERS, 3, reference))


def test_secrets_do_not_follow_the_array_they_were_made_of():
    coefficients = np.zeros(2048, np.int8)
    secret = SecretKey(PARAMETERS, coefficients)
    coefficients[:] = 5
    assert not secret.coefficients.any()
