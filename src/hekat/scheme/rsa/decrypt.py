"""Textbook RSA decryption c^d mod n, blinded and checked as a signature is."""

from __future__ import annotations

from hekat.engine.limbs import LimbArray
from hekat.engine.scheduler import Progress
from hekat.scheme.rsa.group_elements import TextbookCiphertexts, check_kind
from hekat.scheme.rsa.keys import PrivateKey, check_private_key
from hekat.scheme.rsa.private_power import private_power


def decrypt(key: PrivateKey, ciphertexts: TextbookCiphertexts, *, progress: Progress | None = None) -> LimbArray:
    """The messages of TEXTBOOK ciphertexts.

    Args:
        key: The private key.
        ciphertexts: What `encrypt` or `multiply` gave under its public half.
        progress: Called as `progress(done, total)` after every few thousand ciphertexts.

    Returns:
        uint64 limbs, little-endian, shape (*shape, limbs).

    Raises:
        InputError: `ciphertexts` is of another kind.
        KeyRefusedError: The ciphertexts belong to another key.
        FaultError: A result fails its check; nothing is returned.

    Source: RFC 8017, section 5.1.2; FLBooster (ICDE 2023), Table I.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> keys = hekat.rsa.generate_keys()
        >>> ciphertexts = hekat.rsa.encrypt(keys.public, np.array([[42]], np.uint64))
        >>> int(hekat.rsa.decrypt(keys.private, ciphertexts)[0, 0])
        42
    """
    check_private_key(key)
    check_kind(ciphertexts, TextbookCiphertexts)
    return ciphertexts.engine.store(private_power(key, ciphertexts, progress))
