"""What anyone can compute on textbook RSA ciphertexts: products of their messages."""

from __future__ import annotations

from hekat.scheme.rsa.group_elements import TextbookCiphertexts, check_kind, check_same_shape
from hekat.scheme.rsa.keys import check_same_key


def multiply(x: TextbookCiphertexts, y: TextbookCiphertexts) -> TextbookCiphertexts:
    """TEXTBOOK ciphertexts of the products mod n of two arrays of messages.

    Args:
        x: Ciphertexts.
        y: Ciphertexts of the same shape and key.

    Returns:
        Ciphertexts of the products, in the same shape.

    Raises:
        InputError: Shape or kind differ.
        KeyRefusedError: The two belong to different keys.

    Source: FLBooster (ICDE 2023), Table I.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> keys = hekat.rsa.generate_keys()
        >>> x, y = (hekat.rsa.encrypt(keys.public, np.array([[m]], np.uint64)) for m in (6, 7))
        >>> int(hekat.rsa.decrypt(keys.private, hekat.rsa.multiply(x, y))[0, 0])
        42
    """
    for operand in (x, y):
        check_kind(operand, TextbookCiphertexts)
    check_same_key(x.public, y.public)
    check_same_shape(x, y)
    return TextbookCiphertexts(x.public, x.engine.mod_mul(x.residues, y.residues))
