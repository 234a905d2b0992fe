"""What anyone can compute on textbook RSA ciphertexts: products of what they hold."""

from __future__ import annotations

from hekat.scheme.rsa.group_elements import TextbookCiphertexts, check_kind, check_same_shape
from hekat.scheme.rsa.keys import check_same_key


def multiply(x: TextbookCiphertexts, y: TextbookCiphertexts) -> TextbookCiphertexts:
    """TEXTBOOK ciphertexts of the products mod n of what x and y of one shape hold.

    Source: FLBooster (ICDE 2023), Table I.

    Args:
        x: ciphertexts.
        y: ciphertexts under the same key, in the same shape.

    Returns:
        The products' ciphertexts.

    Raises:
        InputError: other shapes and kinds.
        KeyRefusedError: different keys.

    Examples:
        >>> keys = rsa.generate_keys(2048)
        >>> plain = np.zeros((1, 32), np.uint64)
        >>> plain[0, 0] = 7
        >>> seven = rsa.encrypt(keys.public, plain)
        >>> int(rsa.decrypt(keys.private, rsa.multiply(seven, seven))[0, 0])
        49
    """
    for operand in (x, y):
        check_kind(operand, TextbookCiphertexts)
    check_same_key(x.public, y.public)
    check_same_shape(x, y)
    return TextbookCiphertexts(x.public, x.engine.mod_mul(x.residues, y.residues))
