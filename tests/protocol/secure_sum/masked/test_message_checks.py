"""Announcements that no sum can be made of are refused at the aggregator, also where all parties send the same."""

from __future__ import annotations

import pytest

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.message_checks import check_further, check_upload
from hekat.protocol.secure_sum.masked.messages import UploadMessage

SET, SLOTS = "A16-16", 100


def announce(step: str, block: bytes = b"") -> UploadMessage:
    return UploadMessage(step, SET, SLOTS, bytes(32), block, 0)


def test_an_upload_for_another_sum_than_its_secret_was_dealt_for_is_refused() -> None:
    check_upload(announce("tree-1/level-0"), "tree-1/level-0", SET, SLOTS)
    with pytest.raises(InputError, match="an upload for another sum; expected tree-1/level-0"):
        check_upload(announce("tree-1/level-1"), "tree-1/level-0", SET, SLOTS)


def test_in_the_middle_of_a_group_only_sums_that_may_follow_are_taken() -> None:
    allowed = ("tree-1/level-1", "tree-1/leaves")
    for step in allowed:
        check_further(announce(step), allowed, (), SLOTS, 3)
    with pytest.raises(InputError, match="an upload for another sum; expected tree-1/level-1 or tree-1/leaves"):
        check_further(announce("tree-1/level-2"), allowed, (), SLOTS, 3)
