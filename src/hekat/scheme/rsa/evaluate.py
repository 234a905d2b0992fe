"""What anyone can compute on textbook RSA ciphertexts: products of what they hold."""

from __future__ import annotations

from hekat.scheme.rsa.group_elements import TextbookCiphertexts, check_kind, check_same_shape
from hekat.scheme.rsa.keys import check_same_key


def multiply(x: TextbookCiphertexts, y: TextbookCiphertexts) -> TextbookCiphertexts:
    """TEXTBOOK ciphertexts of the products mod n of what x and y of one shape hold.

    Raises InputError for other shapes and kinds, KeyRefusedError for different keys.
    Source: FLBooster (ICDE 2023), Table I.
    """
    for operand in (x, y):
        check_kind(operand, TextbookCiphertexts)
    check_same_key(x.public, y.public)
    check_same_shape(x, y)
    return TextbookCiphertexts(x.public, x.engine.mod_mul(x.residues, y.residues))
