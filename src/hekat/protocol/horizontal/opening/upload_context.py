"""Which upload something belongs to: session, upload number, step and parameter set, as all digests bind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hekat.channel.canonical import encode_number
from hekat.errors import InputError

DIGEST_BYTES = 32
MAX_NUMBER = 2**63 - 1


class Verify(Protocol):
    """Whether `signature` is that party's over these fields for this purpose (SealedChannel.verify)."""

    def __call__(self, party: str, signature: bytes, purpose: str, *fields: bytes) -> bool: ...


@dataclass(frozen=True)
class UploadContext:
    """One upload number of one session, the step of the job that it serves, and the name of its parameter set."""

    session_id: bytes
    number: int
    step: str
    set_name: str

    def __post_init__(self) -> None:
        if len(self.session_id) != DIGEST_BYTES:
            raise InputError("not a session id", expected=f"{DIGEST_BYTES} bytes", got=f"{len(self.session_id)}")
        if not 0 <= self.number <= MAX_NUMBER:
            raise InputError("not an upload number", expected="0 to 2^63 - 1", got=str(self.number))

    @property
    def upload_fields(self) -> tuple[bytes, bytes]:
        """Session id and number, as digests of shares, seeds and challenges bind them."""
        return self.session_id, encode_number(self.number)

    @property
    def statement_fields(self) -> tuple[bytes, bytes, bytes, bytes]:
        """All four, as what parties sign and statements of included uploads bind them."""
        return *self.upload_fields, self.step.encode(), self.set_name.encode()
