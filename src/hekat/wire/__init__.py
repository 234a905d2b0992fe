"""Versioned, self-describing bytes for keys, ciphertexts and messages, and what each message discloses."""

from hekat.wire import bfv as bfv
from hekat.wire import bin_sums as bin_sums
from hekat.wire import ckks as ckks
from hekat.wire import lattice as lattice
from hekat.wire import shared_products as shared_products
from hekat.wire import slot_products as slot_products
from hekat.wire.disclosure import Disclosure, ciphertext, disclosed, public, sealed
from hekat.wire.kinds import from_bytes, to_bytes
from hekat.wire.message import disclosure_of, kind_name, message
from hekat.wire.paillier import ciphertext_bytes
from hekat.wire.rsa import signature_bytes

__all__ = [
    "Disclosure",
    "ciphertext",
    "ciphertext_bytes",
    "disclosed",
    "disclosure_of",
    "from_bytes",
    "kind_name",
    "message",
    "public",
    "sealed",
    "signature_bytes",
    "to_bytes",
]
