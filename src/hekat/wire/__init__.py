"""Versioned, self-describing bytes for keys, ciphertexts and messages, and what each message discloses."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hekat.wire.disclosure import Disclosure, ciphertext, disclosed, public, sealed
from hekat.wire.kinds import from_bytes, to_bytes
from hekat.wire.message import disclosure_of, kind_name, message

if TYPE_CHECKING:
    from hekat.wire.paillier import ciphertext_bytes
    from hekat.wire.rsa import signature_bytes

_OF_SCHEMES = {"ciphertext_bytes": "hekat.wire.paillier", "signature_bytes": "hekat.wire.rsa"}
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


def __getattr__(name: str) -> Any:
    """Load what is of a scheme when it is asked for."""
    if name not in _OF_SCHEMES:
        raise AttributeError(f"module 'hekat.wire' has no attribute {name!r}")
    return getattr(import_module(_OF_SCHEMES[name]), name)
