"""One mask for a whole plaintext: the key's holder opens a uniform number, whatever lies in the plaintext.

The key's holder chooses the numbers that are multiplied, and a chosen plaintext can bring the numbers that it asks for
to any place of the product. So the mask is uniform mod n and covers the whole plaintext: perfect secrecy, for which the
plaintext needs no bound.
"""

from __future__ import annotations

from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.shares.share_array import ShareArray, add_shares, constant, negate
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import SlotLayout, read_slots
from hekat.scheme.paillier import Ciphertexts, PrivateKey, add_plain, add_uniform, decrypt
from hekat.scheme.paillier.encrypt import plaintext_residues


def mask_products(products: Ciphertexts, layout: SlotLayout) -> tuple[Ciphertexts, ShareArray]:
    """Packed products under fresh masks, and the masking party's shares (products.size, slots, 2).

    Each plaintext v becomes v + offset + R mod n, where R is uniform in [0, n) and drawn for this plaintext alone. The
    caller re-randomises the result.
    """
    hidden, masks = add_uniform(add_plain(products, _offset(layout)))
    offset = constant(1 << layout.value_bits)
    return hidden, negate(add_shares(read_slots(masks, layout), offset))


def open_products(key: PrivateKey, ciphertexts: Ciphertexts, layout: SlotLayout) -> ShareArray:
    """Open results of `mask_products`: the shares (ciphertexts.size, slots, 2) of the key's holder."""
    return read_slots(_open_residues(key, ciphertexts), layout)


def _open_residues(key: PrivateKey, ciphertexts: Ciphertexts) -> LimbArray:
    """The plaintexts in [0, n), in host memory: uniform numbers where they were masked."""
    return plaintext_residues(key.public, decrypt(key, ciphertexts).limbs, ciphertexts.engine)


def _offset(layout: SlotLayout) -> PackedPlaintext:
    limb_count = limbs_for_bits(layout.offset.bit_length() + 1)
    return PackedPlaintext(limbs_from_ints([layout.offset], limb_count), layout.offset)
