"""One party's private matrix times another party's private matrix, the product left in shares mod 2^bits."""

from hekat.scheme.bfv.shared_products.answers import (
    Answer,
    add_answers,
    cover_products,
    mask_products,
    multiply_masked,
)
from hekat.scheme.bfv.shared_products.blocks import Blocks, Shape
from hekat.scheme.bfv.shared_products.cancelling_masks import cancelling_masks
from hekat.scheme.bfv.shared_products.encoding import Numbers
from hekat.scheme.bfv.shared_products.encrypted_matrix import EncryptedMatrix, add_to_matrix, encrypt_matrix
from hekat.scheme.bfv.shared_products.layout import MatrixLayout, first_primes, lay_out_matrices
from hekat.scheme.bfv.shared_products.opening import open_share
from hekat.scheme.bfv.shared_products.plain_matrix import PlainMatrix, centre, prepare_matrix
from hekat.scheme.bfv.shared_products.products import Products, multiply_matrices
from hekat.scheme.bfv.shared_products.residues import Residues

__all__ = [
    "Answer",
    "Blocks",
    "EncryptedMatrix",
    "MatrixLayout",
    "Numbers",
    "PlainMatrix",
    "Products",
    "Residues",
    "Shape",
    "add_answers",
    "add_to_matrix",
    "cancelling_masks",
    "centre",
    "cover_products",
    "encrypt_matrix",
    "first_primes",
    "lay_out_matrices",
    "mask_products",
    "multiply_masked",
    "multiply_matrices",
    "open_share",
    "prepare_matrix",
]
