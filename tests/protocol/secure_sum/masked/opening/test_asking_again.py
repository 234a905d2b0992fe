"""A party's request for releases is of one upload of one session, one statement and one attempt."""

from __future__ import annotations

from dataclasses import replace

from hekat.protocol.secure_sum.masked.opening.included import not_opened_fields
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext


def test_each_request_signs_other_fields() -> None:
    context, digest = UploadContext(bytes(32), 0, "round-1", "A16-16"), bytes(32)
    others = [
        (replace(context, session_id=b"\1" * 32), digest, 0),
        (replace(context, number=1), digest, 0),
        (context, b"\1" * 32, 0),
        (context, digest, 1),
    ]
    fields = [not_opened_fields(context, digest, 0), *(not_opened_fields(*other) for other in others)]
    assert len(set(fields)) == 5
    assert {len(one) for one in fields} == {4}
