"""No other role can use up a party's upload numbers: a number far above the last is refused, and nothing is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekat.errors import InputError, ProtocolError
from hekat.protocol.secure_sum.masked.upload_state import MAX_SKIPPED, first_upload_number, take_upload_number
from hekat.state import Counter


def test_a_number_far_above_the_last_is_refused_and_nothing_taken(tmp_path: Path) -> None:
    with Counter.create(tmp_path / "uploads") as uploads:
        take_upload_number(uploads, 6)
        with pytest.raises(ProtocolError, match=r"a number far above the last; expected at most 2\^32 above"):
            take_upload_number(uploads, 7 + MAX_SKIPPED + 1)
        assert uploads.next_value == 7
        take_upload_number(uploads, 7 + MAX_SKIPPED)
        assert uploads.next_value == 8 + MAX_SKIPPED


def test_a_party_whose_number_lies_far_above_the_others_is_named() -> None:
    assert first_upload_number({"a": 3, "b": 3 + MAX_SKIPPED}) == 3 + MAX_SKIPPED
    with pytest.raises(InputError, match="party b states an upload number that cannot be"):
        first_upload_number({"a": 3, "b": 4 + MAX_SKIPPED})
    with pytest.raises(InputError, match="party b"):
        first_upload_number({"a": 3, "b": -1})
