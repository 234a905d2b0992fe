"""What a member refuses of share messages, each wrong one for its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hekat.errors import InputError, ProtocolError
from hekat.protocol.secure_sum.masked.opening.committee import deal, read_share
from hekat.protocol.secure_sum.masked.opening.field import OUT_OF_RANGE, WRONG_LENGTH
from hekat.protocol.secure_sum.masked.opening.share_keys import KEY_BYTES, ShareKeys
from hekat.protocol.secure_sum.masked.opening.share_message import (
    REFUSALS,
    SALT_BYTES,
    WRONG_DIGEST,
    dealing_fields,
    share_digest,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

MakeRound = Callable[..., Any]
DEGREE = 32


@pytest.fixture
def this(make_round: MakeRound) -> Any:
    return make_round(5, seed=70)


def refusal_of(this: Any, keys: bytes, offset: bytes | None = None, digest: bytes | None = None) -> str:
    """Why party-1 refuses what follows from `keys` and `offset` as the share of party-0."""
    dealing = this.dealings["party-0"]
    told = dealing.offset if offset is None else offset
    with pytest.raises(ProtocolError) as caught:
        read_share(this.committee, this.context, "party-0", "party-1", keys, told, digest or dealing.digests[1], DEGREE)
    assert caught.value.what in REFUSALS
    return caught.value.what


def digest_of(this: Any, keys: bytes, offset: bytes) -> bytes:
    return share_digest(this.context, "party-0", "party-1", keys, offset)


def test_a_good_share_can_be_wiped(this: Any) -> None:
    shares = {name: this.keep(name)["party-0"] for name in this.committee.members}
    assert all(share.shape == (DEGREE + 8,) and share.flags.writeable for share in shares.values())


def test_salts_are_fresh(this: Any) -> None:
    """Of one machine that is run twice from a snapshot, two secrets are hidden by different numbers."""
    secret = this.secrets["party-0"]
    offsets = [
        deal(this.committee, this.context, "party-0", secret, ShareKeys(bytes(10 * KEY_BYTES))).offset
        for _ in range(16)
    ]
    assert len({offset[:SALT_BYTES] for offset in offsets}) == 16
    assert len({offset[SALT_BYTES:] for offset in offsets}) == 16


def test_truncated_and_longer_keys_and_offsets_are_refused(this: Any) -> None:
    keys, offset = this.dealings["party-0"].messages["party-1"], this.dealings["party-0"].offset
    for bad in (b"", keys[:-1], keys[:-KEY_BYTES], keys + b"\0", keys + bytes(KEY_BYTES)):
        assert refusal_of(this, bad) == WRONG_LENGTH
        # Also where the dealer signed just that.
        assert refusal_of(this, bad, digest=digest_of(this, bad, offset)) == WRONG_LENGTH
    for bad in (b"", offset[:-1], offset[:-2], offset + b"\0", offset[:SALT_BYTES]):
        assert refusal_of(this, keys, bad, digest_of(this, keys, bad)) == WRONG_LENGTH


def test_altered_keys_and_offsets_are_refused(this: Any) -> None:
    keys, offset = this.dealings["party-0"].messages["party-1"], bytearray(this.dealings["party-0"].offset)
    for where in (0, len(keys) // 2, len(keys) - 1):
        assert refusal_of(this, keys[:where] + bytes([keys[where] ^ 1]) + keys[where + 1 :]) == WRONG_DIGEST
    offset[SALT_BYTES + 1] &= 0x7F
    for where in (0, SALT_BYTES - 1, SALT_BYTES):
        bad = bytearray(offset)
        bad[where] ^= 1
        assert refusal_of(this, keys, bytes(bad)) == WRONG_DIGEST


def test_shares_of_another_dealer_member_number_or_session_are_refused(this: Any) -> None:
    others = this.dealings["party-2"]
    assert refusal_of(this, others.messages["party-1"], others.offset) == WRONG_DIGEST
    assert refusal_of(this, this.dealings["party-0"].messages["party-2"]) == WRONG_DIGEST
    for change in ({"number": 5}, {"session_id": b"t" * 32}):
        context = replace(this.context, **change)
        other = deal(this.committee, context, "party-0", this.secrets["party-0"], this.draw_keys())
        # Neither under this upload's digest, nor with the digest that its dealer signed for the other upload.
        assert refusal_of(this, other.messages["party-1"], other.offset) == WRONG_DIGEST
        assert refusal_of(this, other.messages["party-1"], other.offset, other.digests[1]) == WRONG_DIGEST


def test_a_dealing_of_an_earlier_upload_is_refused_under_the_keys_of_now(this: Any) -> None:
    keys = this.draw_keys()
    secret = this.secrets["party-0"]
    earlier = deal(this.committee, this.context, "party-0", secret, keys)
    now = deal(this.committee, this.context, "party-0", secret, keys)
    assert refusal_of(this, now.messages["party-1"], earlier.offset, earlier.digests[1]) == WRONG_DIGEST


@pytest.mark.parametrize("value", [65521, 65535])
def test_words_from_the_prime_on_are_out_of_range(this: Any, value: int) -> None:
    keys, offset = this.dealings["party-0"].messages["party-1"], this.dealings["party-0"].offset
    for where in (SALT_BYTES, len(offset) - 2):
        bad = offset[:where] + value.to_bytes(2, "little") + offset[where + 2 :]
        assert refusal_of(this, keys, bad, digest_of(this, keys, bad)) == OUT_OF_RANGE


def test_the_digest_and_the_signed_fields_hold_everything(this: Any) -> None:
    keys, offset = this.dealings["party-0"].messages["party-1"], this.dealings["party-0"].offset
    contexts = (this.context, replace(this.context, number=5), replace(this.context, session_id=b"t" * 32))
    digests = {share_digest(context, "party-0", "party-1", keys, offset) for context in contexts}
    digests |= {share_digest(this.context, "party-1", "party-1", keys, offset)}
    digests |= {share_digest(this.context, "party-0", "party-0", keys, offset)}
    digests |= {digest_of(this, keys[::-1], offset), digest_of(this, keys, offset[::-1])}
    assert len(digests) == 7
    lists = ((b"a" * 32, b"b" * 32), (b"b" * 32, b"a" * 32), (b"a" * 32,))
    told = {
        dealing_fields(context, entry, offset) for context in contexts for entry in lists for offset in (b"", bytes(48))
    }
    assert len(told) == 18


def test_what_names_no_upload_is_refused() -> None:
    for session_id, number in ((b"s" * 31, 0), (b"s" * 32, -1), (b"s" * 32, 2**63)):
        with pytest.raises(InputError):
            UploadContext(session_id, number, "round-1", "A16-16")
