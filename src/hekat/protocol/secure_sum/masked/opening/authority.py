"""What a key authority holds and opens: 32-byte seeds of secrets, their digests, and the sum of the secrets.

The authority follows the same rules for the included set as a committee's member, and keeps the same record.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from hekat.channel.canonical import encode_fields
from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.field import WRONG_LENGTH
from hekat.protocol.secure_sum.masked.opening.share_message import WRONG_DIGEST
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.scheme.lattice.keys import SEED_BYTES, SecretSum, secret_from_seed, sum_secrets
from hekat.scheme.lattice.parameters import LatticeParameters

_DIGEST_LABEL = b"hekat/lattice/seed/1"


def draw_seed() -> bytes:
    """A fresh seed of one upload's secret from the operating system's randomness; secret."""
    return os.urandom(SEED_BYTES)


def seed_digest(context: UploadContext, party: str, seed: bytes) -> bytes:
    """SHA-256 over label, session, number, party and seed: the one entry of the upload's `share_digests`.

    A seed has 256 random bits, so its digest hides it without a salt.
    """
    return hashlib.sha256(encode_fields(_DIGEST_LABEL, *context.upload_fields, party.encode(), seed)).digest()


def check_seed(context: UploadContext, party: str, seed: bytes, digest: bytes) -> None:
    """Raise ProtocolError, its `what` one of REFUSALS, for another length or digest."""
    if len(seed) != SEED_BYTES:
        raise ProtocolError(WRONG_LENGTH, expected=f"{SEED_BYTES} bytes", got=f"{len(seed)}")
    if seed_digest(context, party, seed) != digest:
        raise ProtocolError(WRONG_DIGEST, expected="a seed of the stated digest", got="another")


def sum_of_seeds(parameters: LatticeParameters, seeds: Iterable[bytes]) -> SecretSum:
    """The sum of the secrets that these seeds give."""
    secrets = [secret_from_seed(parameters, seed) for seed in seeds]
    try:
        return sum_secrets(secrets)
    finally:
        for secret in secrets:
            secret.wipe()
