"""Keys of shares: who holds which, what they expand to, and how they move on."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
from dataclasses import replace

import numpy as np
import pytest

from hekat.channel.canonical import encode_fields
from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.opening.committee import threshold_of
from hekat.protocol.secure_sum.masked.opening.field import PRIME
from hekat.protocol.secure_sum.masked.opening.share_keys import KEY_BYTES, ShareKeys, expand_keys, key_bytes_of_member
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

CONTEXT = UploadContext(b"s" * 32, 3, "round-1", "A16-16")
KEY, SALT = bytes(range(32)), b"salt" * 8


def chacha20_words(key: bytes, count: int) -> list[int]:
    """The stream of RFC 8439 with counter and nonce 0, written out, as 16-bit words."""

    def quarter(state: list[int], a: int, b: int, c: int, d: int) -> None:
        for first, second, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[first] = (state[first] + state[second]) % 2**32
            mixed = state[third] ^ state[first]
            state[third] = (mixed << turn | mixed >> (32 - turn)) % 2**32

    constants = np.frombuffer(b"expand 32-byte k", "<u4").tolist()
    stream = b""
    for block in range(-(-2 * count // 64)):
        start = [*constants, *np.frombuffer(key, "<u4").tolist(), block, 0, 0, 0]
        state = list(start)
        for _ in range(10):
            for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
                quarter(state, a, b, c, d)
            for a, b, c, d in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
                quarter(state, a, b, c, d)
        words = [(one + other) % 2**32 for one, other in zip(state, start, strict=True)]
        stream += np.array(words, "<u4").tobytes()
    return np.frombuffer(stream, "<u2")[:count].tolist()


def test_a_key_expands_to_the_words_of_its_stream_below_the_prime() -> None:
    info = encode_fields(b"hekat/lattice/share-numbers/1", *CONTEXT.upload_fields, b"a", SALT)
    words = chacha20_words(hmac.digest(KEY, info, hashlib.sha256), 20_100)
    expected = [word for word in words if word < PRIME][:20_000]
    assert len(expected) == 20_000
    assert words[:20_000] != expected, "some words are above the prime"
    rows = expand_keys(KEY + bytes(32), CONTEXT, "a", SALT, 20_000)
    assert rows.shape == (2, 20_000)
    assert rows[0].tolist() == expected


def test_numbers_are_of_one_key_session_number_dealer_and_salt() -> None:
    contexts = (CONTEXT, replace(CONTEXT, number=4), replace(CONTEXT, session_id=b"t" * 32))
    found = {expand_keys(KEY, context, "a", SALT, 16).tobytes() for context in contexts}
    found |= {expand_keys(KEY, CONTEXT, "b", SALT, 16).tobytes(), expand_keys(KEY, CONTEXT, "a", KEY, 16).tobytes()}
    found |= {expand_keys(SALT, CONTEXT, "a", SALT, 16).tobytes()}
    assert len(found) == 6


@pytest.mark.parametrize("member_count", range(2, 8))
def test_t_members_hold_every_key_and_fewer_lack_one(member_count: int) -> None:
    threshold = threshold_of(member_count)
    keys = ShareKeys.draw(member_count, threshold)
    held = {}
    for point in range(1, member_count + 1):
        own = keys.held_by(point, member_count, threshold)
        assert len(own) == key_bytes_of_member(member_count, threshold)
        held[point] = {own[at : at + KEY_BYTES] for at in range(0, len(own), KEY_BYTES)}
    every = {keys.as_bytes[at : at + KEY_BYTES] for at in range(0, len(keys.as_bytes), KEY_BYTES)}
    points = list(held)
    for start in range(member_count):
        some = (points + points)[start : start + threshold]
        assert set().union(*(held[point] for point in some)) == every
        assert len(every - set().union(*(held[point] for point in some[:-1]))) == 1


def test_keys_move_on_alike_at_dealer_and_member_and_not_back() -> None:
    dealer = ShareKeys.draw(7, 5)
    member = ShareKeys(dealer.held_by(3, 7, 5))
    seen = set()
    for _ in range(4):
        assert dealer.held_by(3, 7, 5) == member.as_bytes
        seen |= {dealer.as_bytes[at : at + KEY_BYTES] for at in range(0, 35 * KEY_BYTES, KEY_BYTES)}
        dealer.advance()
        member.advance()
    assert len(seen) == 4 * 35
    again = ShareKeys(KEY)
    again.advance()
    assert again.as_bytes == hmac.digest(KEY, b"hekat/lattice/next-share-key/1", hashlib.sha256)


def test_keys_are_not_shown_copied_or_of_another_length() -> None:
    keys = ShareKeys.draw(3, 3)
    assert repr(keys) == "ShareKeys(secret)"
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="one session"):
            copying(keys)
    for raw in (b"", bytes(31), bytes(33)):
        with pytest.raises(InputError, match="not keys of shares"):
            ShareKeys(raw)
