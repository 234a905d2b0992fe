"""What a member refuses of share messages, each wrong one for its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError, ProtocolError
from hekat.protocol.secure_sum.masked.opening.committee import deal
from hekat.protocol.secure_sum.masked.opening.field import OUT_OF_RANGE, WRONG_LENGTH
from hekat.protocol.secure_sum.masked.opening.share_message import (
    REFUSALS,
    SALT_BYTES,
    WRONG_DIGEST,
    dealing_fields,
    read_share,
    share_digest,
    write_share,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

MakeRound = Callable[..., Any]
DEGREE = 32


@pytest.fixture
def this(make_round: MakeRound) -> Any:
    return make_round(5, seed=70)


def refusal_of(this: Any, message: bytes, digest: bytes | None = None) -> str:
    """Why party-1 refuses `message` as the share of party-0."""
    stated = digest or this.dealings["party-0"].digests[1]
    with pytest.raises(ProtocolError) as caught:
        read_share(this.context, "party-0", "party-1", message, stated, DEGREE)
    assert caught.value.what in REFUSALS
    return caught.value.what


def test_a_good_share_comes_back_and_can_be_wiped(this: Any) -> None:
    shares = {name: this.keep(name)["party-0"] for name in this.committee.members}
    assert all(share.shape == (DEGREE + 8,) and share.flags.writeable for share in shares.values())
    message = write_share(shares["party-1"])
    digest = share_digest(this.context, "party-0", "party-1", message)
    again = read_share(this.context, "party-0", "party-1", message, digest, DEGREE)
    assert np.array_equal(again, shares["party-1"])


def test_salts_are_fresh(this: Any) -> None:
    share = this.keep("party-1")["party-0"]
    assert len({write_share(share)[:SALT_BYTES] for _ in range(16)}) == 16


def test_truncated_and_longer_shares_are_refused(this: Any) -> None:
    message = this.dealings["party-0"].messages["party-1"]
    for bad in (b"", message[:-1], message[:-2], message + b"\0", message[:SALT_BYTES]):
        assert refusal_of(this, bad) == WRONG_LENGTH
        # Also where the dealer signed just that.
        assert refusal_of(this, bad, share_digest(this.context, "party-0", "party-1", bad)) == WRONG_LENGTH


def test_altered_shares_are_refused(this: Any) -> None:
    message = this.dealings["party-0"].messages["party-1"]
    for where in (0, SALT_BYTES - 1, SALT_BYTES, len(message) - 1):
        bad = message[:where] + bytes([message[where] ^ 1]) + message[where + 1 :]
        assert refusal_of(this, bad) == WRONG_DIGEST


def test_shares_of_another_dealer_member_number_or_session_are_refused(this: Any) -> None:
    assert refusal_of(this, this.dealings["party-2"].messages["party-1"]) == WRONG_DIGEST
    assert refusal_of(this, this.dealings["party-0"].messages["party-2"]) == WRONG_DIGEST
    for change in ({"number": 5}, {"session_id": b"t" * 32}):
        other = deal(this.committee, replace(this.context, **change), "party-0", this.secrets["party-0"])
        # Neither under this upload's digest, nor with the digest that its dealer signed for the other upload.
        assert refusal_of(this, other.messages["party-1"]) == WRONG_DIGEST
        assert refusal_of(this, other.messages["party-1"], other.digests[1]) == WRONG_DIGEST


@pytest.mark.parametrize("value", [65521, 65535])
def test_words_from_the_prime_on_are_out_of_range(this: Any, value: int) -> None:
    message = this.dealings["party-0"].messages["party-1"]
    for where in (SALT_BYTES, len(message) - 2):
        bad = message[:where] + value.to_bytes(2, "little") + message[where + 2 :]
        assert refusal_of(this, bad, share_digest(this.context, "party-0", "party-1", bad)) == OUT_OF_RANGE


def test_the_digest_and_the_signed_fields_hold_everything(this: Any) -> None:
    message = this.dealings["party-0"].messages["party-1"]
    contexts = (this.context, replace(this.context, number=5), replace(this.context, session_id=b"t" * 32))
    digests = {share_digest(context, "party-0", "party-1", message) for context in contexts}
    digests |= {share_digest(this.context, "party-1", "party-1", message)}
    digests |= {share_digest(this.context, "party-0", "party-0", message)}
    assert len(digests) == 5
    lists = ((b"a" * 32, b"b" * 32), (b"b" * 32, b"a" * 32), (b"a" * 32,))
    assert len({dealing_fields(context, entry) for context in contexts for entry in lists}) == 9


def test_what_names_no_upload_is_refused() -> None:
    for session_id, number in ((b"s" * 31, 0), (b"s" * 32, -1), (b"s" * 32, 2**63)):
        with pytest.raises(InputError):
            UploadContext(session_id, number, "round-1", "A16-16")
