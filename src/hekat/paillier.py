"""Paillier keys, under the name users call them by: `hekat.paillier.generate_keys()`."""

from hekat.scheme.key_size import KeySizeWarning
from hekat.scheme.paillier.keys.key_pair import KeyPair, PrivateKey, PublicKey, generate_keys

__all__ = ["KeyPair", "KeySizeWarning", "PrivateKey", "PublicKey", "generate_keys"]
