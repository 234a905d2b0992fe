"""Textbook RSA encryption m^e mod n: deterministic, for comparison with papers and as a building block only."""

from __future__ import annotations

from hekat.engine.interface import Engine, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.scheduler import Progress
from hekat.engine.select import get_engine
from hekat.scheme.chunks import join_chunks, run_chunks, take_chunk
from hekat.scheme.rsa.group_elements import TextbookCiphertexts, check_no_zeros
from hekat.scheme.rsa.keys import PublicKey, check_public_key
from hekat.scheme.rsa.private_power import public_power


def encrypt(
    public: PublicKey, plain: LimbArray, *, engine: Engine | None = None, progress: Progress | None = None
) -> TextbookCiphertexts:
    """TEXTBOOK m^e mod n, for comparison with papers.

    It hides nothing that can be guessed: equal messages have equal ciphertexts, small ones are read by a root.

    Args:
        public: The key to encrypt under.
        plain: Messages 0 < m < n as uint64 limbs, little-endian, shape (..., limbs).
        engine: The engine that computes; the selected engine if None.
        progress: Called as `progress(done, total)` after every few thousand messages.

    Returns:
        The ciphertexts, in the leading shape of `plain`.

    Raises:
        InputError: A message is 0, or n or more.
        KeyRefusedError: `public` is no RSA public key.

    Source: RFC 8017, section 5.1.1; FLBooster (ICDE 2023), Table I.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> keys = hekat.rsa.generate_keys()
        >>> ciphertexts = hekat.rsa.encrypt(keys.public, np.array([[6], [7]], np.uint64))
        >>> hekat.rsa.decrypt(keys.private, ciphertexts)[:, 0]
        array([6, 7], dtype=uint64)
    """
    messages = (engine or get_engine()).load(plain, check_public_key(public).n_modulus)
    check_no_zeros(plain, "a message", "encrypt numbers from 1 to n - 1: 0 is its own ciphertext under every key")

    def encrypt_chunk(chunk: slice) -> ResidueArray:
        return public_power(public, take_chunk(messages, chunk))

    parts = run_chunks(encrypt_chunk, messages.size, messages.engine, progress)
    return TextbookCiphertexts(public, join_chunks(parts, messages.shape))
