"""One mask for a whole plaintext: whoever opens it finds a uniform number, whatever lies in it.

The key's holder chooses what is multiplied, and a chosen plaintext can bring what it asks for to any place of the
product. So the mask is uniform mod n and covers all of it: perfect secrecy, and no bound on the plaintext is needed.
"""

from __future__ import annotations

from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import SlotLayout, read_slots
from hekat.protocol.vertical_linear.shared_weights.shares import ShareArray, add_shares, constant, negate
from hekat.scheme.paillier import Ciphertexts, PrivateKey, add_plain, add_uniform, decrypt
from hekat.scheme.paillier.encrypt import plaintext_residues


def mask_products(products: Ciphertexts, layout: SlotLayout) -> tuple[Ciphertexts, ShareArray]:
    """Packed products under fresh masks, and the masker's shares (products.size, slots, 2); not re-randomised.

    Each plaintext v becomes v + offset + R mod n, R uniform in [0, n), drawn for it alone.
    """
    hidden, masks = add_uniform(add_plain(products, _offset(layout)))
    offset = constant(1 << layout.value_bits)
    return hidden, negate(add_shares(read_slots(masks, layout), offset))


def open_products(key: PrivateKey, ciphertexts: Ciphertexts, layout: SlotLayout) -> ShareArray:
    """The shares (ciphertexts.size, slots, 2) of whoever opens what `mask_products` hid."""
    return read_slots(_open_residues(key, ciphertexts), layout)


def _open_residues(key: PrivateKey, ciphertexts: Ciphertexts) -> LimbArray:
    """The plaintexts in [0, n), on the host: uniform numbers, if they were masked."""
    return plaintext_residues(key.public, decrypt(key, ciphertexts).limbs, ciphertexts.engine)


def _offset(layout: SlotLayout) -> PackedPlaintext:
    limb_count = limbs_for_bits(layout.offset.bit_length() + 1)
    return PackedPlaintext(limbs_from_ints([layout.offset], limb_count), layout.offset)
