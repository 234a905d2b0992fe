"""Paillier keys that a party receives: how long it waits for one, and whether it has the job's size."""

from __future__ import annotations

from hekat.errors import KeyRefusedError
from hekat.scheme.paillier import PublicKey

# A key takes a second or some to make; by a release that looked for safe primes, up to minutes.
KEY_TIMEOUT_S = 600.0


def check_key_size(key: PublicKey, key_bits: int, owner: str) -> None:
    """Raise KeyRefusedError for a key of `owner` that does not have the job's `key_bits`."""
    if key.bits != key_bits:
        raise KeyRefusedError(
            f"the key of {owner} is not the job's",
            expected=f"{key_bits} bits",
            got=f"{key.bits} bits",
            cure=f"let {owner} make a key of the job's size",
        )
