"""CKKS, for comparison with FedML-HE: approximate sums of floats, over a library that is an extra (`hekat[ckks]`).

`hekat run` does not offer it: its lattice aggregation is exact, smaller, faster, and needs no key that opens an update.
Here one private key opens everything under it, single updates like sums.
"""

from hekat.scheme.ckks.ciphertexts import Ciphertexts, ciphertexts_from_streams
from hekat.scheme.ckks.decrypt import Sharing, decrypt
from hekat.scheme.ckks.encrypt import block_values, encrypt
from hekat.scheme.ckks.evaluate import Accumulator, add, weighted_sum
from hekat.scheme.ckks.keys import KeyPair, PrivateKey, PublicKey, generate_keys
from hekat.scheme.ckks.noise import Flooding, default_grid, describe_flooding, error_bound, reached_bits
from hekat.scheme.ckks.parameters import CkksParameters
from hekat.scheme.ckks.seal import library_name
from hekat.scheme.ckks.sets import FEDML_HE, FLOODED, SETS, make_parameters

__all__ = [
    "FEDML_HE",
    "FLOODED",
    "SETS",
    "Accumulator",
    "Ciphertexts",
    "CkksParameters",
    "Flooding",
    "KeyPair",
    "PrivateKey",
    "PublicKey",
    "Sharing",
    "add",
    "block_values",
    "ciphertexts_from_streams",
    "decrypt",
    "default_grid",
    "describe_flooding",
    "encrypt",
    "error_bound",
    "generate_keys",
    "library_name",
    "make_parameters",
    "reached_bits",
    "weighted_sum",
]
