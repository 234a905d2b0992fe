"""BFV: ring LWE for exact integers, products of encrypted rows with plain columns, opened under masks."""

from hekat.scheme.bfv.ciphertexts import Ciphertexts, add, encrypt, multiply_plain
from hekat.scheme.bfv.elements import Elements
from hekat.scheme.bfv.keys import KeyPair, PrivateKey, PublicKey, generate_keys
from hekat.scheme.bfv.masked_products import (
    MaskedProducts,
    Masks,
    mask_products,
    open_products,
    unmask_products,
)
from hekat.scheme.bfv.parameters import CIPHERTEXT_BYTES, PRODUCTS, RESIDUE_BYTES, SETS, BfvParameters
from hekat.scheme.bfv.product_layout import ProductLayout, lay_out_products
from hekat.scheme.bfv.products import (
    Products,
    add_products,
    encrypt_rows,
    encrypt_sum,
    multiply_columns,
    place_sum,
)

__all__ = [
    "CIPHERTEXT_BYTES",
    "PRODUCTS",
    "RESIDUE_BYTES",
    "SETS",
    "BfvParameters",
    "Ciphertexts",
    "Elements",
    "KeyPair",
    "MaskedProducts",
    "Masks",
    "PrivateKey",
    "ProductLayout",
    "Products",
    "PublicKey",
    "add",
    "add_products",
    "encrypt",
    "encrypt_rows",
    "encrypt_sum",
    "generate_keys",
    "lay_out_products",
    "mask_products",
    "multiply_columns",
    "multiply_plain",
    "open_products",
    "place_sum",
    "unmask_products",
]
