"""Faults: whatever single result of a private operation is damaged, nothing leaves; and no base is the sender's."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest

from hekat.engine.cpu import CpuEngine
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.errors import FaultError
from hekat.rsa import HashedItems, TextbookCiphertexts, blind, decrypt, hash_to_group, prove_permutation, sign, verify

COUNT = 5


def faulty(base, operation, call_number):
    """An engine whose `operation` flips the lowest bit of its third result at its `call_number`-th call from arming."""

    class FaultyEngine(base):
        armed = False
        calls = 0

    if base is ReferenceEngine:
        # There the one is made of the other, which would count twice.
        FaultyEngine.mod_exp_vartime = ReferenceEngine.mod_exp
    sound = getattr(FaultyEngine, operation)

    def damage(self, *arguments):
        result = sound(self, *arguments)
        if not self.armed:
            return result
        self.calls += 1
        if self.calls != call_number + 1:
            return result
        if isinstance(result, np.ndarray):
            result = result.copy()
            result[2, 0] ^= np.uint64(1)
            return result
        limbs = self.store(result)
        limbs[2, 0] ^= np.uint64(1)
        return base.reduce(self, limbs, result.modulus)

    setattr(FaultyEngine, operation, damage)
    return FaultyEngine()


FAULTS = [
    *(("mod_exp", call) for call in range(2)),  # the halves mod p and mod q
    *(("reduce", call) for call in range(3)),  # into the halves, and the join
    *(("mod_mul", call) for call in range(4)),  # blinding, the two shares, unblinding
    *(("int_mul", call) for call in range(2)),
    *(("mod_exp_vartime", call) for call in range(2)),  # r^e, and the check itself
    ("mod_inv", 0),
]


@pytest.mark.parametrize("base", [ReferenceEngine, CpuEngine])
@pytest.mark.parametrize(("operation", "call"), FAULTS)
def test_no_signature_leaves_a_faulty_batch(rsa_keys, base, operation, call):
    keys = rsa_keys(512)
    engine = faulty(base, operation, call)
    hashed = hash_to_group(keys.public, [bytes([i]) for i in range(COUNT)], engine=engine)
    blinded, _ = blind(hashed)
    engine.armed = True
    with pytest.raises(FaultError, match="nothing of the batch is returned") as failure:
        sign(keys.private, blinded)
    assert engine.calls > call
    told = (keys.private.p, keys.private.q, *ints_from_limbs(blinded.to_limbs()))
    assert not any(str(value) in str(failure.value) for value in told)
    # The fault was at one call: the next run is sound.
    assert verify(hashed, sign(keys.private, hashed)).all()


@pytest.mark.parametrize("base", [ReferenceEngine, CpuEngine])
@pytest.mark.parametrize("call", [0, 1])
def test_decryption_and_proofs_are_checked_too(rsa_keys, base, call):
    keys = rsa_keys(512)
    for private_operation in (
        lambda engine: decrypt(
            keys.private,
            TextbookCiphertexts.from_limbs(keys.public, limbs_from_ints(range(2, 2 + COUNT), 8), engine),
        ),
        lambda engine: prove_permutation(keys.private, engine=engine),
    ):
        engine = faulty(base, "mod_exp", call)
        engine.armed = True
        with pytest.raises(FaultError):
            private_operation(engine)


def test_such_a_fault_would_have_given_the_factors_away(rsa_keys, monkeypatch):
    """The check is what stands between one flipped bit and the key (Boneh-DeMillo-Lipton 1997)."""
    keys = rsa_keys(512)
    n, e = keys.public.n, keys.public.e
    engine = faulty(ReferenceEngine, "mod_exp", 0)
    hashed = hash_to_group(keys.public, [bytes([i]) for i in range(COUNT)], engine=engine)
    engine.armed = True
    monkeypatch.setattr("hekat.scheme.rsa.private_power.np.array_equal", lambda *_: True)
    signatures = ints_from_limbs(sign(keys.private, hashed).to_limbs())
    monkeypatch.undo()
    messages = ints_from_limbs(hashed.to_limbs())
    factors = [int(gmpy2.gcd(pow(s, e, n) - m, n)) for s, m in zip(signatures, messages, strict=True)]
    assert factors[2] == keys.private.q
    assert factors[:2] + factors[3:] == [n] * (COUNT - 1)


def test_hashed_items_are_signed_in_chunks(rsa_keys, monkeypatch):
    """A fault in a later chunk takes the whole batch with it."""
    monkeypatch.setattr("hekat.scheme.chunks.CHUNK_COUNT", 4)
    keys = rsa_keys(512)
    engine = ReferenceEngine()
    values = limbs_from_ints(range(2, 13), 8)
    hashed = HashedItems.from_limbs(keys.public, values, engine)
    assert verify(hashed, sign(keys.private, hashed)).all()
    engine = faulty(ReferenceEngine, "mod_exp", 4)
    hashed = HashedItems.from_limbs(keys.public, values, engine)
    engine.armed = True
    with pytest.raises(FaultError):
        sign(keys.private, hashed)


@pytest.mark.parametrize("base", [ReferenceEngine, CpuEngine])
def test_no_base_of_a_secret_power_is_what_was_sent(rsa_keys, base):
    keys = rsa_keys(512)
    seen = []

    class WatchedEngine(base):
        def mod_exp(self, a, exponents):
            if a.modulus is not keys.public.n_modulus:
                seen.append((a.modulus.value, ints_from_limbs(self.store(a)), ints_from_limbs(exponents)))
            return super().mod_exp(a, exponents)

    hashed = hash_to_group(keys.public, [b"item"] * 2, engine=WatchedEngine())
    for _ in range(2):
        sign(keys.private, hashed)
    p, q = keys.private.p, keys.private.q
    assert [modulus for modulus, _, _ in seen] == [p, q, p, q]
    assert all(exponents == [pow(keys.public.e, -1, modulus - 1)] for modulus, _, exponents in seen)
    for prime in (p, q):
        bases = [value for modulus, values, _ in seen for value in values if modulus == prime]
        sent = {value % prime for value in ints_from_limbs(hashed.to_limbs())}
        assert len(set(bases)) == len(bases) == 4
        assert not sent & set(bases)
