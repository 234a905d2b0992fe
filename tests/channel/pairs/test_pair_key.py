"""Pair keys: sealed to one receiver, one session and one direction; every message has a key of its own."""

from __future__ import annotations

import pickle

import pytest

from hekat.channel.pair_key import KEY_BYTES, SALT_BYTES, TAG_BYTES, PairKey
from hekat.channel.session_key import SessionKey
from hekat.errors import SealError

SESSION = b"i" * 32
SALT = b"s" * SALT_BYTES


def test_a_pair_key_opens_for_its_receiver_session_and_direction_only() -> None:
    key, session_key = PairKey.generate(), SessionKey()
    sealed = key.seal_to(session_key.public, SESSION, "a", "b")
    opened = PairKey.open_from(sealed, session_key, SESSION, "a", "b")
    chunk = key.message_key(SALT).seal(b"content", 0, b"info")
    assert opened.message_key(SALT).open(chunk, 0, b"info") == b"content"
    for other in (
        (SessionKey(), SESSION, "a", "b"),
        (session_key, bytes(32), "a", "b"),
        (session_key, SESSION, "b", "a"),
        (session_key, SESSION, "a", "c"),
    ):
        with pytest.raises(SealError, match="does not open"):
            PairKey.open_from(sealed, *other)


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_what_is_sealed_opens_under_the_same_salt_index_and_info_only(size: int) -> None:
    key = PairKey.generate()
    sealed = key.message_key(SALT).seal(bytes(size), 3, b"info")
    assert len(sealed) == size + TAG_BYTES
    assert key.message_key(SALT).open(sealed, 3, b"info") == bytes(size)
    for pair_key, salt, index, info in (
        (PairKey.generate(), SALT, 3, b"info"),
        (key, bytes(SALT_BYTES), 3, b"info"),
        (key, SALT, 2, b"info"),
        (key, SALT, 3, b"other"),
    ):
        with pytest.raises(SealError, match="does not open"):
            pair_key.message_key(salt).open(sealed, index, info)
    for damaged in (b"", sealed[:-1], sealed + b"x"):
        with pytest.raises(SealError, match="does not open"):
            key.message_key(SALT).open(damaged, 3, b"info")


def test_message_keys_are_those_of_hkdf_with_sha256() -> None:
    """As another library derives them (RFC 5869); so the derivation cannot change unseen."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    raw = bytes(range(KEY_BYTES))
    derived = HKDF(SHA256(), KEY_BYTES, SALT, b"hekat/message-key/1").derive(raw)
    expected = AESGCM(derived).encrypt((5).to_bytes(12, "big"), b"content", b"info")
    assert PairKey(raw).message_key(SALT).seal(b"content", 5, b"info") == expected


def test_a_pair_key_is_not_shown_copied_or_of_another_length() -> None:
    key = PairKey.generate()
    assert repr(key) == "PairKey(secret)"
    with pytest.raises(TypeError, match="lives for one session"):
        pickle.dumps(key)
    with pytest.raises(SealError, match="malformed pair key"):
        PairKey(bytes(KEY_BYTES - 1))


def test_a_wiped_pair_key_is_zeros_and_seals_nothing() -> None:
    key = PairKey.generate()
    raw = key._raw
    assert raw != bytes(KEY_BYTES)
    key.wipe()
    assert raw == bytes(KEY_BYTES)
    with pytest.raises(SealError, match="pair key is wiped"):
        key.message_key(SALT)
    with pytest.raises(SealError, match="pair key is wiped"):
        key.seal_to(SessionKey().public, SESSION, "a", "b")
    key.wipe()


def test_a_key_moves_on_at_both_ends_alike_and_not_back() -> None:
    raw = bytes(range(KEY_BYTES))
    sender, receiver, kept = PairKey(raw), PairKey(raw), PairKey(raw)
    sealed = sender.message_key(SALT).seal(b"first", 0, b"info")
    assert receiver.message_key(SALT).open(sealed, 0, b"info") == b"first"
    sender.advance()
    receiver.advance()
    for key in (sender, receiver):
        with pytest.raises(SealError, match="does not open"):
            key.message_key(SALT).open(sealed, 0, b"info")
    second = sender.message_key(SALT).seal(b"second", 0, b"info")
    assert receiver.message_key(SALT).open(second, 0, b"info") == b"second"
    with pytest.raises(SealError, match="does not open"):
        kept.message_key(SALT).open(second, 0, b"info")


def test_a_wiped_key_does_not_move_on() -> None:
    key = PairKey.generate()
    key.wipe()
    with pytest.raises(SealError, match="wiped"):
        key.advance()
