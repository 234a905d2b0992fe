"""Entrywise products of one party's private vector with another's, left in shares mod a prime or two."""

from hekat.scheme.bfv.slot_products.answers import SlotAnswer, SlotTerm, multiply_slots_masked
from hekat.scheme.bfv.slot_products.encrypted_slots import EncryptedSlots, encrypt_slots
from hekat.scheme.bfv.slot_products.layout import SlotSums, SlotVector, lay_out_slot_sums
from hekat.scheme.bfv.slot_products.opening import open_slots
from hekat.scheme.bfv.slot_products.plain_slots import PlainSlots, prepare_slots
from hekat.scheme.bfv.slot_products.plaintext import SLOT_PRIMES

__all__ = [
    "SLOT_PRIMES",
    "EncryptedSlots",
    "PlainSlots",
    "SlotAnswer",
    "SlotSums",
    "SlotTerm",
    "SlotVector",
    "encrypt_slots",
    "lay_out_slot_sums",
    "multiply_slots_masked",
    "open_slots",
    "prepare_slots",
]
