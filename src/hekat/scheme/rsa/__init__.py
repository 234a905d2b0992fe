"""RSA: blind signatures for set intersection, and the textbook operations of the papers."""

from hekat.scheme.key_size import KeySizeWarning
from hekat.scheme.rsa.blind_signature import BlindingState, blind, sign, unblind, verify
from hekat.scheme.rsa.decrypt import decrypt
from hekat.scheme.rsa.encrypt import encrypt
from hekat.scheme.rsa.evaluate import multiply
from hekat.scheme.rsa.full_domain_hash import hash_to_group
from hekat.scheme.rsa.group_elements import (
    BlindedItems,
    BlindSignatures,
    HashedItems,
    Signatures,
    TextbookCiphertexts,
)
from hekat.scheme.rsa.keys import KeyPair, PrivateKey, PublicKey, generate_keys
from hekat.scheme.rsa.permutation_proof import check_permutation, prove_permutation

__all__ = [
    "BlindSignatures",
    "BlindedItems",
    "BlindingState",
    "HashedItems",
    "KeyPair",
    "KeySizeWarning",
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
