"""The upload that a message belongs to, and its parties' agreement; all digests and signatures bind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hekat.channel.canonical import encode_number
from hekat.channel.statements import Statements
from hekat.errors import InputError

DIGEST_BYTES = 32
MAX_NUMBER = 2**63 - 1


class Verify(Protocol):
    """Whether `signature` is that party's over these fields for this purpose (SealedChannel.verify)."""

    def __call__(self, party: str, signature: bytes, purpose: str, *fields: bytes) -> bool: ...


class FindUnsigned(Protocol):
    """The first party that did not sign its statement for this purpose (SealedChannel.find_unsigned)."""

    def __call__(self, purpose: str, statements: Statements) -> str | None: ...


@dataclass(frozen=True)
class UploadContext:
    """One upload number of one session, the step of the job that it serves, and the name of its parameter set.

    `agreement` is a digest of what a party takes for granted of the others, under a key of the parties.
    """

    session_id: bytes
    number: int
    step: str
    set_name: str
    agreement: bytes = bytes(DIGEST_BYTES)

    def __post_init__(self) -> None:
        if len(self.session_id) != DIGEST_BYTES:
            raise InputError("not a session id", expected=f"{DIGEST_BYTES} bytes", got=f"{len(self.session_id)}")
        if not 0 <= self.number <= MAX_NUMBER:
            raise InputError("not an upload number", expected="0 to 2^63 - 1", got=str(self.number))
        if len(self.agreement) != DIGEST_BYTES:
            raise InputError("not an agreement", expected=f"{DIGEST_BYTES} bytes", got=f"{len(self.agreement)}")

    @property
    def upload_fields(self) -> tuple[bytes, bytes]:
        """Session id and number, as digests of shares, seeds and challenges bind them."""
        return self.session_id, encode_number(self.number)

    @property
    def statement_fields(self) -> tuple[bytes, bytes, bytes, bytes, bytes]:
        """All five, as what parties sign and statements of included uploads bind them."""
        return *self.upload_fields, self.step.encode(), self.set_name.encode(), self.agreement

    @property
    def group(self) -> str:
        """The steps whose sums are of the same updates ("standardise", "round-3"): one set of parties is in all."""
        return group_of(self.step)


def group_of(step: str) -> str:
    """The group of a step: what stands before its first "/"."""
    return step.split("/")[0]
