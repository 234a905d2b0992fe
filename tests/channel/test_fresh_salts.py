"""Every message has a salt of its own: a key that comes twice, as after a fork, seals no two payloads alike."""

from __future__ import annotations

from hekat.channel.sealed_message import SALT_BYTES, parse_frame

MESSAGES = 8


def test_every_message_has_a_salt_of_its_own(trio) -> None:
    """Of every pair and direction, whatever the payload and the step are."""
    salts = [
        parse_frame(trio.sent(sender, receiver, "step", b"the same")).header.salt
        for sender, receiver in (("a", "b"), ("b", "a"), ("a", "c"))
        for _ in range(MESSAGES)
    ]
    assert all(len(salt) == SALT_BYTES for salt in salts)
    assert len(set(salts)) == len(salts)
    # Random: no byte is the same in all of them, which chance brings with odds of 2^-179.
    assert all(len({salt[place] for salt in salts}) > 1 for place in range(SALT_BYTES))


def test_a_sender_that_is_set_back_seals_under_another_key(trio) -> None:
    """The attack: a machine is copied while it runs, and both copies send. One key and nonce for two payloads would
    give their exclusive or away, and the key that authenticates them."""
    key = trio.sealed["a"]._session.sending["b"]
    before = bytes(key._raw)
    frames = []
    for payload in (b"the first copy", b"the other copy"):
        key._raw[:] = before
        trio.sealed["a"]._next_sent["b"] = 0
        frames.append(parse_frame(trio.sent("a", "b", "step", payload)))
    first, second = (frame.body.tobytes()[: len(b"the first copy")] for frame in frames)
    assert frames[0].header.sequence == frames[1].header.sequence
    differ = bytes(x ^ y for x, y in zip(first, second, strict=True))
    assert differ != bytes(x ^ y for x, y in zip(b"the first copy", b"the other copy", strict=True))
