"""Encrypted arrays: the owner holds the keys, somebody else computes on values it cannot read."""

import numpy as np

import hekat
from hekat.encrypted_array import EncryptedArray

keys = hekat.paillier.generate_keys()  # 3072 bits; only keys.private decrypts
heights = np.array([[1.62, 1.80, 1.75], [1.91, 1.58, 1.69]])
message = hekat.array(heights, key=keys.public, bound=3).to_bytes()

# Elsewhere, with the public key alone: NumPy's operators; to_bytes re-randomises what it sends.
x = EncryptedArray.from_bytes(message, key=keys.public)
print(x)
answer = (np.array([0.25, 0.75]) @ x[:, 1:] + 0.5).to_bytes()
by_group = np.bincount([0, 1, 1, 0, 1, 0], weights=x.ravel(), minlength=3).to_bytes()  # a histogram of secret weights

# Back at the owner.
print(EncryptedArray.from_bytes(answer, key=keys.public).decrypt(keys.private))
print(EncryptedArray.from_bytes(by_group, key=keys.public).decrypt(keys.private))

# 60 small integers to a ciphertext, in lanes wide enough for every sum that the bound allows.
votes = hekat.array(np.arange(120, dtype=np.int8).reshape(2, 60), key=keys.private, pack=60)
print(votes.sum(axis=0).decrypt(keys.private)[:5], "from", votes.ciphertexts.size, "ciphertexts")
