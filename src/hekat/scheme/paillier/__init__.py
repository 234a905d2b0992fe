"""Paillier encryption of signed integers: keys, encryption, arithmetic on ciphertexts, decryption."""

from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.decrypt import decrypt
from hekat.scheme.paillier.encrypt import encrypt
from hekat.scheme.paillier.evaluate import (
    add,
    add_many,
    add_plain,
    add_uniform,
    matmul_plain,
    multiply_plain,
    negate,
    rerandomise,
    segment_sum,
    subtract,
    sum_along,
)
from hekat.scheme.paillier.keys.key_pair import KeyPair, PrivateKey, PublicKey, generate_keys
from hekat.scheme.paillier.keys.parameters import KeySizeWarning

__all__ = [
    "Ciphertexts",
    "KeyPair",
    "KeySizeWarning",
    "PrivateKey",
    "PublicKey",
    "add",
    "add_many",
    "add_plain",
    "add_uniform",
    "decrypt",
    "encrypt",
    "generate_keys",
    "matmul_plain",
    "multiply_plain",
    "negate",
    "rerandomise",
    "segment_sum",
    "subtract",
    "sum_along",
]
