"""Nothing of the lattice scheme has wire bytes of its own: sets go by name, written chunks are bytes already.

Seeds, shares and sums of secrets travel in sealed fields of messages that say so.
"""

from __future__ import annotations

from hekat.scheme.lattice import Decryptor, Encryptor, SecretKey, SecretSum
from hekat.wire.kinds import withhold

withhold(SecretKey, "secrets of contributions are", "let the protocol's opener deal shares of it, or seal its seed")
withhold(SecretSum, "sums of secrets are", "let the protocol's opener seal its coefficients")
withhold(Encryptor, "what encrypts a contribution is", "send the bytes that it writes")
withhold(Decryptor, "what opens a sum is", "send nothing: the sums are for those who opened them")
