"""Textbook RSA decryption c^d mod n, blinded and checked as a signature is."""

from __future__ import annotations

from hekat.engine.limbs import LimbArray
from hekat.engine.scheduler import Progress
from hekat.scheme.rsa.group_elements import TextbookCiphertexts, check_kind
from hekat.scheme.rsa.keys import PrivateKey, check_private_key
from hekat.scheme.rsa.private_power import private_power


def decrypt(key: PrivateKey, ciphertexts: TextbookCiphertexts, *, progress: Progress | None = None) -> LimbArray:
    """The messages of TEXTBOOK ciphertexts as canonical limbs.

    Source: RFC 8017, section 5.1.2; FLBooster (ICDE 2023), Table I.

    Args:
        key: the private key.
        ciphertexts: what `encrypt` or `multiply` gave.
        progress: called as `progress(done, total)` after every few thousand.

    Returns:
        Little-endian uint64 limbs, shape (*shape, limbs).

    Raises:
        KeyRefusedError: another key's ciphertexts.
        InputError: ciphertexts of another kind.
        FaultError: a result fails its check.

    Examples:
        >>> keys = rsa.generate_keys(2048)
        >>> plain = np.zeros((1, 32), np.uint64)
        >>> plain[0, 0] = 6
        >>> six = rsa.encrypt(keys.public, plain)
        >>> int(rsa.decrypt(keys.private, rsa.multiply(six, six))[0, 0])
        36
    """
    check_private_key(key)
    check_kind(ciphertexts, TextbookCiphertexts)
    return ciphertexts.engine.store(private_power(key, ciphertexts, progress))
