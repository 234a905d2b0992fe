"""Keys of small order, under which one signature holds for anything, and other bytes that are no key."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hekat.channel import PartyKey, PartyPublicKey
from hekat.channel.canonical import encode_fields
from hekat.errors import KeyRefusedError

P = 2**255 - 19
NEUTRAL = (1).to_bytes(32, "little")
# y of the points of order 8, from libsodium's list.
ORDER_8 = (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
)


def spelled(y: int, sign: int = 0) -> bytes:
    return (y | sign << 255).to_bytes(32, "little")


SMALL = [
    NEUTRAL,
    spelled(P - 1),
    spelled(0),
    spelled(0, 1),
    *(bytes.fromhex(text) for text in ORDER_8),
    *(spelled(int.from_bytes(bytes.fromhex(text), "little"), 1) for text in ORDER_8),
]
NO_SPELLING = [
    spelled(P),
    spelled(P + 1),
    spelled(P + 1, 1),
    spelled(1, 1),
    spelled(P - 1, 1),
    spelled(2),
    b"\xff" * 32,
]


def test_the_attack_one_signature_under_the_neutral_point_holds_for_every_message() -> None:
    """What the verifying library takes, and a pinned key is not: R the neutral point, s = 0."""
    signature = NEUTRAL + bytes(32)
    forged = Ed25519PublicKey.from_public_bytes(NEUTRAL)
    for words in (b"the sum opens", b"it does not"):
        forged.verify(signature, encode_fields(b"purpose", words))  # raises nothing
    with pytest.raises(KeyRefusedError, match="small order"):
        PartyPublicKey(NEUTRAL)


def test_there_are_eight_points_of_small_order_and_all_are_refused() -> None:
    assert len(set(SMALL)) == 8
    for raw in SMALL:
        with pytest.raises(KeyRefusedError, match="small order"):
            PartyPublicKey(raw)


@pytest.mark.parametrize("raw", NO_SPELLING, ids=lambda raw: raw.hex()[:8])
def test_what_is_no_point_or_another_spelling_of_one_is_refused(raw: bytes) -> None:
    with pytest.raises(KeyRefusedError, match="no point"):
        PartyPublicKey(raw)


def test_keys_that_are_made_are_taken() -> None:
    for index in range(32):
        seed = hashlib.sha256(bytes([index])).digest()
        raw = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
        assert PartyPublicKey(raw).raw == raw


def test_a_pin_shows_that_its_owner_holds_the_private_half() -> None:
    key, other = PartyKey.generate(), PartyKey.generate()
    assert PartyPublicKey.from_pin(f" {key.pin}\n") == key.public
    line, _, proof = key.pin.partition(":possession:")
    with pytest.raises(KeyRefusedError, match="without proof"):
        PartyPublicKey.from_pin(line)
    # Another's key passed off as one's own: with one's own signature, or another's of something else.
    for stolen in (other.pin.partition(":possession:")[2], proof[:-4] + "AAA=", "", proof + "="):
        with pytest.raises(KeyRefusedError, match="proof of a public party key does not hold"):
            PartyPublicKey.from_pin(f"{line}:possession:{stolen}")
    with pytest.raises(KeyRefusedError, match="not a public party key"):
        PartyPublicKey.from_pin("something else")
