"""A party's signed word that releases did not fit together there: for that word alone members release once more."""

from __future__ import annotations

from hekat.channel.canonical import encode_number
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

NOT_OPENED_PURPOSE = "hekat/lattice/not-opened/1"


def not_opened_fields(context: UploadContext, statement_digest: bytes, attempt: int) -> tuple[bytes, ...]:
    """What a party signs for NOT_OPENED_PURPOSE: session, number, digest of the statement, attempts before this one.

    So a word is good for one more release of one upload: it can be used neither twice nor elsewhere.
    """
    return *context.upload_fields, statement_digest, encode_number(attempt)
