"""Key-additive lattice encryption of integer vectors: their sum opens exactly, with the sum of all their secrets."""

from hekat.scheme.lattice.decrypt import Decryptor, decrypt
from hekat.scheme.lattice.encrypt import Encryptor, block_values, encrypt
from hekat.scheme.lattice.evaluate import Accumulator, add
from hekat.scheme.lattice.keys import (
    SecretKey,
    SecretSum,
    generate_secret,
    public_key,
    secret_from_seed,
    sum_secrets,
)
from hekat.scheme.lattice.parameters import LatticeParameters, make_parameters
from hekat.scheme.lattice.sets import SETS, choose_parameters

__all__ = [
    "SETS",
    "Accumulator",
    "Decryptor",
    "Encryptor",
    "LatticeParameters",
    "SecretKey",
    "SecretSum",
    "add",
    "block_values",
    "choose_parameters",
    "decrypt",
    "encrypt",
    "generate_secret",
    "make_parameters",
    "public_key",
    "secret_from_seed",
    "sum_secrets",
]
