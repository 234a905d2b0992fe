"""The proof that x -> x^e is a permutation: sound keys pass, keys that see through blinding do not."""

from __future__ import annotations

import gmpy2
import pytest

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.rsa import (
    BlindedItems,
    PublicKey,
    Signatures,
    blind,
    check_permutation,
    hash_to_group,
    prove_permutation,
    sign,
)
from hekat.scheme.rsa.permutation_proof import PROOF_DOMAIN, ROOT_COUNT

from .test_full_domain_hash import by_definition

E = 65537


def test_a_sound_key_proves_itself(setting):
    proof = prove_permutation(setting.keys.private, engine=setting.engine)
    check_permutation(setting.public, proof)
    roots = [setting.power_d(value) for value in challenges(setting.public)]
    assert setting.integers(proof) == roots


def challenges(public: PublicKey) -> list[int]:
    return [by_definition(public, bytes([index]), domain=PROOF_DOMAIN) for index in range(ROOT_COUNT)]


def test_proofs_that_do_not_hold_are_refused(small, rsa_keys):
    proof = prove_permutation(small.keys.private, engine=small.engine)
    roots = small.integers(proof)
    one_wrong = ([*roots[:place], 2, *roots[place + 1 :]] for place in range(ROOT_COUNT))
    for values in (*one_wrong, roots[::-1], roots[:-1], [*roots, 1], []):
        forged = Signatures.from_limbs(small.public, small.limbs(values), small.engine)
        with pytest.raises(KeyRefusedError, match="not shown to blind"):
            check_permutation(small.public, forged)
    with pytest.raises(KeyRefusedError, match="another RSA key"):
        check_permutation(rsa_keys(512, 1).public, proof)
    with pytest.raises(KeyRefusedError, match="no RSA public key"):
        check_permutation(small.keys.private, proof)
    with pytest.raises(InputError, match="another kind"):
        check_permutation(small.public, BlindedItems(small.public, proof.residues))
    with pytest.raises(KeyRefusedError, match="no RSA private key"):
        prove_permutation(small.public)


def trapped_primes() -> tuple[int, int]:
    """p with e | p - 1, and an ordinary q."""
    p = 3 * (1 << 254) // (2 * E) * 2 * E + 1
    while not gmpy2.is_prime(p):
        p += 2 * E
    return p, int(gmpy2.next_prime(3 << 254))


def test_a_trapped_key_sees_through_blinding_and_has_no_proof():
    """Why there is a proof: x^((p-1)/e) mod p is the same for m and for m r^e."""
    p, q = trapped_primes()
    public = PublicKey(p * q)
    engine = get_engine("reference")
    hashed = hash_to_group(public, [bytes([index]) for index in range(20)], engine=engine)
    blinded, _ = blind(hashed)
    before, after = (
        [pow(value, (p - 1) // E, p) for value in ints_from_limbs(x.to_limbs())] for x in (hashed, blinded)
    )
    assert before == after
    assert len(set(before)) == 20
    # No root exists for values outside the share 1/e, and so no proof.
    assert all(pow(value, (p - 1) // E, p) != 1 for value in challenges(public))


def test_a_proof_is_no_signature_of_an_item(small):
    """Items are hashed in another domain, so that nobody gets a proof by asking for signatures."""
    items = [bytes([index]) for index in range(ROOT_COUNT)]
    signed = sign(small.keys.private, hash_to_group(small.public, items, engine=small.engine))
    limbs = limbs_from_ints(small.integers(signed), small.public.n_modulus.limb_count)
    with pytest.raises(KeyRefusedError):
        check_permutation(small.public, Signatures.from_limbs(small.public, limbs, small.engine))
