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
    """TEXTBOOK m^e mod n of canonical limbs, in their shape.

    Hides nothing that can be guessed: equal messages have equal ciphertexts, small ones are read by a root.
    Source: RFC 8017, section 5.1.1; FLBooster (ICDE 2023), Table I.

    Args:
        public: the key.
        plain: messages 0 < m < n as little-endian uint64 limbs, shape (..., limbs).
        engine: None: the active one.
        progress: called as `progress(done, total)` after every few thousand.

    Returns:
        The ciphertexts.

    Raises:
        InputError: a message that is 0, n or more.
        KeyRefusedError: no RSA public key.

    Examples:
        >>> keys = rsa.generate_keys(2048)
        >>> plain = np.zeros((1, 32), np.uint64)
        >>> plain[0, 0] = 42
        >>> int(rsa.decrypt(keys.private, rsa.encrypt(keys.public, plain))[0, 0])
        42
    """
    messages = (engine or get_engine()).load(plain, check_public_key(public).n_modulus)
    check_no_zeros(plain, "a message", "encrypt numbers from 1 to n - 1: 0 is its own ciphertext under every key")

    def encrypt_chunk(chunk: slice) -> ResidueArray:
        return public_power(public, take_chunk(messages, chunk))

    parts = run_chunks(encrypt_chunk, messages.size, messages.engine, progress)
    return TextbookCiphertexts(public, join_chunks(parts, messages.shape))
