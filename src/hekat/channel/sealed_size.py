"""How long a sealed message is, before there is anything to seal."""

from __future__ import annotations

from hekat.channel.pair_key import SALT_BYTES
from hekat.channel.party_key import SIGNATURE_BYTES
from hekat.channel.sealed_message import CHUNK_BYTES, MAGIC, SESSION_ID_BYTES, SealedHeader

_LENGTH_BYTES = 4
_FINGERPRINT_CHARACTERS = 32


def sealed_bytes(payload_bytes: int, *, run_id: str, protocol: str, step: str, sender: str, receiver: str) -> int:
    """Bytes of the frame that `seal_payload` makes of a payload of so many bytes, between these parties."""
    header = SealedHeader(
        session_id=bytes(SESSION_ID_BYTES),
        run_id=run_id,
        protocol=protocol,
        step=step,
        sequence=0,
        sender=sender,
        receiver=receiver,
        signer="0" * _FINGERPRINT_CHARACTERS,
        salt=bytes(SALT_BYTES),
        payload_bytes=payload_bytes,
        chunk_bytes=CHUNK_BYTES,
    )
    return len(MAGIC) + _LENGTH_BYTES + len(header.encode()) + SIGNATURE_BYTES + header.body_bytes
