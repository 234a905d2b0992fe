"""Textbook RSA decryption c^d mod n, blinded and checked as a signature is."""

from __future__ import annotations

from hekat.engine.limbs import LimbArray
from hekat.engine.scheduler import Progress
from hekat.scheme.rsa.group_elements import TextbookCiphertexts, check_kind
from hekat.scheme.rsa.keys import PrivateKey, check_private_key
from hekat.scheme.rsa.private_power import private_power


def decrypt(key: PrivateKey, ciphertexts: TextbookCiphertexts, *, progress: Progress | None = None) -> LimbArray:
    """The messages of TEXTBOOK ciphertexts as canonical limbs, shape (*shape, limbs).

    `progress(done, total)` is called after every few thousand.
    Raises KeyRefusedError for another key's, InputError for another kind, FaultError where a result fails its check.
    Source: RFC 8017, section 5.1.2; FLBooster (ICDE 2023), Table I.
    """
    check_private_key(key)
    check_kind(ciphertexts, TextbookCiphertexts)
    return ciphertexts.engine.store(private_power(key, ciphertexts, progress))
