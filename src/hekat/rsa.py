"""RSA, under the names users call it by: `hekat.rsa.generate_keys()`, `hekat.rsa.blind(...)`.

Blind signatures: `hash_to_group`, `blind`, `sign`, `unblind`, `verify`. `encrypt`, `decrypt` and `multiply` are
TEXTBOOK RSA: deterministic, no protection of anything that can be guessed; for comparison with papers only.
"""

from hekat.scheme.rsa import (
    BlindedItems,
    BlindingState,
    BlindSignatures,
    HashedItems,
    KeyPair,
    PrivateKey,
    PublicKey,
    Signatures,
    TextbookCiphertexts,
    blind,
    check_permutation,
    decrypt,
    encrypt,
    generate_keys,
    hash_to_group,
    multiply,
    prove_permutation,
    sign,
    unblind,
    verify,
)

__all__ = [
    "BlindSignatures",
    "BlindedItems",
    "BlindingState",
    "HashedItems",
    "KeyPair",
    "PrivateKey",
    "PublicKey",
    "Signatures",
    "TextbookCiphertexts",
    "blind",
    "check_permutation",
    "decrypt",
    "encrypt",
    "generate_keys",
    "hash_to_group",
    "multiply",
    "prove_permutation",
    "sign",
    "unblind",
    "verify",
]
