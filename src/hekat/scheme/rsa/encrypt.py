"""Textbook RSA encryption m^e mod n: deterministic, for comparison with papers and as a building block only."""

from __future__ import annotations

from hekat.engine.interface import Engine
from hekat.engine.limbs import LimbArray
from hekat.scheme.rsa.group_elements import TextbookCiphertexts
from hekat.scheme.rsa.keys import PublicKey
from hekat.scheme.rsa.private_power import public_power


def encrypt(public: PublicKey, plain: LimbArray, *, engine: Engine | None = None) -> TextbookCiphertexts:
    """TEXTBOOK m^e mod n of canonical limbs (..., limbs) with 0 < m < n, in their shape.

    Hides nothing that can be guessed: equal messages have equal ciphertexts, small ones are read by a root.
    Raises InputError for a message that is 0, n or more, KeyRefusedError for no RSA public key.
    Source: RFC 8017, section 5.1.1; FLBooster (ICDE 2023), Table I.
    """
    messages = TextbookCiphertexts.from_limbs(public, plain, engine)
    return TextbookCiphertexts(public, public_power(public, messages.residues))
