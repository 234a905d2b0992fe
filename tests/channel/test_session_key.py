"""HPKE keys of one session: what they seal opens once under the same info, and bad keys are refused."""

from __future__ import annotations

import pickle

import pytest

from hekat.channel.session_key import OVERHEAD_BYTES, PUBLIC_BYTES, SessionKey, SessionPublicKey
from hekat.errors import SealError


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_what_is_sealed_opens_under_the_same_info_and_key_only(size: int) -> None:
    key = SessionKey()
    sealed = SessionPublicKey(key.public.raw).seal(bytes(size), b"info")
    assert len(sealed) == size + OVERHEAD_BYTES
    assert key.open(sealed, b"info") == bytes(size)
    for other, info in ((key, b"other"), (SessionKey(), b"info")):
        with pytest.raises(SealError, match="does not open"):
            other.open(sealed, info)
    with pytest.raises(SealError, match="does not open"):
        key.open(sealed[:-1], b"info")
    with pytest.raises(SealError, match="does not open"):
        key.open(b"", b"info")


def test_public_keys_of_another_length_or_out_of_range_are_refused() -> None:
    for raw in (b"", bytes(PUBLIC_BYTES - 1), bytes(PUBLIC_BYTES + 1), b"\xff" * PUBLIC_BYTES):
        with pytest.raises(SealError, match="malformed session key"):
            SessionPublicKey(raw)


def test_a_key_of_small_order_is_refused_before_anything_is_sealed_to_it() -> None:
    raw = SessionKey().public.raw[:-32] + bytes(32)
    with pytest.raises(SealError, match="session key is unusable"):
        SessionPublicKey(raw).seal(b"content", b"info")


def test_a_session_key_is_not_shown_or_pickled() -> None:
    assert repr(SessionKey()) == "SessionKey(private)"
    with pytest.raises(TypeError, match="lives while a session opens"):
        pickle.dumps(SessionKey())
