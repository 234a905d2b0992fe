"""A proof that x -> x^e is a permutation mod n: without it a dishonest key maker could see through blinding.

Where the prime e divides p-1, x^e reaches only the share 1/e of the residues mod p: then m r^e tells which e-th part
of the group m lies in. The proof is the e-th roots of values that the key itself fixes; where x -> x^e is no
permutation, a proof exists with odds below 2^-138 (`permutation_challenges`).
"""

from __future__ import annotations

from typing import Final

from hekat.engine.interface import Engine
from hekat.errors import KeyRefusedError
from hekat.scheme.permutation_challenges import CHALLENGE_ITEMS, ROOT_COUNT
from hekat.scheme.rsa.blind_signature import sign, verify
from hekat.scheme.rsa.full_domain_hash import hash_in_domain
from hekat.scheme.rsa.group_elements import HashedItems, Signatures, check_kind
from hekat.scheme.rsa.keys import PrivateKey, PublicKey, check_private_key, check_public_key, check_same_key

PROOF_DOMAIN: Final = b"hekat/rsa/permutation-proof/1"


def prove_permutation(key: PrivateKey, *, engine: Engine | None = None) -> Signatures:
    """The proof that x -> x^e is a permutation mod n: e-th roots of nine challenges.

    Args:
        key: The private key of the maker.
        engine: The engine that computes; the selected engine if None.

    Returns:
        The proof, shape (9,).

    Raises:
        FaultError: A root fails its check; nothing is returned.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> hekat.rsa.prove_permutation(keys.private).shape
        (9,)
    """
    return sign(check_private_key(key), _challenges(key.public, engine))


def check_permutation(public: PublicKey, proof: Signatures) -> None:
    """Check the proof that x -> x^e is a permutation mod n, before anything is blinded under the key.

    Args:
        public: The key that the proof belongs to.
        proof: What its maker's `prove_permutation` gave.

    Raises:
        KeyRefusedError: The proof does not hold, or is of another key.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> hekat.rsa.check_permutation(keys.public, hekat.rsa.prove_permutation(keys.private))
    """
    check_kind(proof, Signatures)
    check_same_key(check_public_key(public), proof.public)
    if proof.shape != (ROOT_COUNT,) or not verify(_challenges(public, proof.engine), proof).all():
        raise KeyRefusedError(
            f"key {public.fingerprint} is not shown to blind",
            expected=f"{ROOT_COUNT} roots that only a sound key has",
            got="others",
            cure="do not blind anything under it; ask its owner for prove_permutation(key)",
        )


def _challenges(public: PublicKey, engine: Engine | None) -> HashedItems:
    return hash_in_domain(PROOF_DOMAIN, public, CHALLENGE_ITEMS, b"", engine)
