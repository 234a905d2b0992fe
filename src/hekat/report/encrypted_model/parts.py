"""What each role's time is shown as, in order, and what happens in it."""

from __future__ import annotations

from typing import Final

PARTS: Final = {
    "keys": "making the key, once",
    "moments": "rows, means and spreads of columns, once",
    "map": "a host's steps of a round as one matrix and vector, in the clear",
    "encrypt": "encrypting: the model at the arbiter, zeros and masks at hosts",
    "products": "that matrix times the encrypted model",
    "sum": "adding hosts' ciphertexts and shares, masking the sum",
    "decrypt": "opening masked numbers",
    "send": "sealing and signing messages, handing them over",
    "open": "opening sealed messages and checking who signed them",
    "idle": "waiting for the others",
}
KINDS: Final = {
    "map": "a host's steps, in the clear",
    "products": "products with the encrypted model",
    "encrypt": "encrypting, adding, opening",
    "keys": "the key, means and spreads, once",
    "message": "messages, files, checks",
    "idle": "waiting for the others",
}
"""What a plot shows of them."""
_KIND_OF_PART: Final = {
    "keys": "keys",
    "moments": "keys",
    "map": "map",
    "products": "products",
    "encrypt": "encrypt",
    "sum": "encrypt",
    "decrypt": "encrypt",
    "idle": "idle",
}


def kind_of_part(part: str) -> str:
    """The kind of time, a key of KINDS, that a plot shows a part as."""
    return _KIND_OF_PART.get(part, "message")
