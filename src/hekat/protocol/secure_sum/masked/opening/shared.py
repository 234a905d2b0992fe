"""One key that all parties share: every party derives the secrets of all from it, and opens the sum by itself.

The model of the papers. It protects from a curious aggregator alone: every holder of the key can open every upload.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping

from hekat.channel.canonical import encode_fields
from hekat.errors import InputError, KeyRefusedError
from hekat.protocol.secure_sum.masked.opening.authority import sum_of_seeds
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.run_keys import RUN_KEY_BYTES
from hekat.scheme.lattice.keys import SecretSum
from hekat.scheme.lattice.parameters import LatticeParameters

SHARED_SALT_BYTES = 32
_SEED_LABEL = b"hekat/lattice/shared-seed/1"
_SALT_LABEL = b"hekat/lattice/shared-salt/1"


def draw_salt() -> bytes:
    """The fresh salt of one upload, public beside it: no snapshot or fork of a machine repeats a secret."""
    return os.urandom(SHARED_SALT_BYTES)


def derive_seed(key: bytes, context: UploadContext, party: str, salt: bytes) -> bytes:
    """HMAC-SHA256(key, label, session, number, party, salt), fields behind their lengths; secret, 32 bytes.

    Raises KeyRefusedError, InputError for another length of key or salt.
    """
    if len(key) != RUN_KEY_BYTES:
        raise KeyRefusedError("not a shared key", expected=f"{RUN_KEY_BYTES} bytes", got=f"{len(key)}")
    fields = _salted_fields(context, party, salt)
    return hmac.new(key, encode_fields(_SEED_LABEL, *fields), hashlib.sha256).digest()


def salt_digest(context: UploadContext, party: str, salt: bytes) -> bytes:
    """SHA-256 over label, session, number, party and salt: the one entry of the upload's `share_digests`."""
    return hashlib.sha256(encode_fields(_SALT_LABEL, *_salted_fields(context, party, salt))).digest()


def open_shared(
    parameters: LatticeParameters, key: bytes, context: UploadContext, salts: Mapping[str, bytes]
) -> SecretSum:
    """The sum of the secrets of the parties in `salts`; a statement named them, and their digests were checked."""
    return sum_of_seeds(parameters, (derive_seed(key, context, party, salt) for party, salt in salts.items()))


def _salted_fields(context: UploadContext, party: str, salt: bytes) -> tuple[bytes, ...]:
    if len(salt) != SHARED_SALT_BYTES:
        raise InputError("not a salt of an upload", expected=f"{SHARED_SALT_BYTES} bytes", got=f"{len(salt)}")
    return *context.upload_fields, party.encode(), salt
