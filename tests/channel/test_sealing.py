"""Sealed payloads against a man in the middle: every way to move or change one has its own refusal."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat.channel import PartyKey
from hekat.channel.pair_key import SALT_BYTES, TAG_BYTES, PairKey
from hekat.channel.sealed_message import (
    MAGIC,
    SealedHeader,
    decode_header,
    parse_frame,
    seal_payload,
)
from hekat.errors import SealError

MESSAGES = 8
SHARED_FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def header_of(keys, **changes) -> SealedHeader:
    values = {
        "session_id": bytes(32),
        "run_id": "run-1",
        "protocol": "test",
        "step": "step",
        "sequence": 0,
        "sender": "a",
        "receiver": "b",
        "signer": keys["a"].fingerprint,
        "salt": b"s" * SALT_BYTES,
        "payload_bytes": 5,
        "chunk_bytes": 64,
    }
    return SealedHeader(**(values | changes))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 1000])
def test_payloads_of_every_chunk_count_arrive(trio, size: int) -> None:
    payload = bytes(index % 251 for index in range(size))
    trio.sealed["a"].send("b", "step", payload)
    assert trio.sealed["b"].receive("a", "step") == payload


def test_pairs_count_their_own_sequences(trio) -> None:
    for index in range(3):
        for to in "bc":
            trio.sealed["a"].send(to, "step", bytes([index]))
        trio.sealed["b"].send("a", "step", bytes([index]))
    for index in range(3):
        assert trio.sealed["b"].receive("a", "step") == bytes([index])
        assert trio.sealed["c"].receive("a", "step") == bytes([index])
        assert trio.sealed["a"].receive("b", "step") == bytes([index])


def test_nothing_of_the_payload_shows_and_no_two_sealings_are_alike(trio) -> None:
    payload = b"the patient is 47 years old " * 20
    first, second = (trio.sent("a", "b", "step", payload) for _ in range(2))
    assert not any(payload[start : start + 8] in first for start in range(0, 28))
    assert parse_frame(first).body.tobytes()[:64] != parse_frame(second).body.tobytes()[:64]
    assert len(first) == len(second)


def test_what_both_ends_hold_after_a_message_does_not_open_it(trio) -> None:
    """Forward secrecy within a session: memory that is read later, at either end, opens nothing of before."""
    data = trio.sent("a", "b", "step", b"the patient is 47 years old")
    trio.put("a", "b", "step", data)
    assert trio.sealed["b"].receive("a", "step") == b"the patient is 47 years old"
    for key in (trio.sealed["a"]._session.sending["b"], trio.sealed["b"]._session.receiving["a"]):
        with pytest.raises(SealError, match="does not open"):
            parse_frame(data).open(key)


def test_replay_is_refused(trio) -> None:
    data = trio.sent("a", "b", "step", b"once")
    trio.put("a", "b", "step", data)
    trio.put("a", "b", "step", data)
    assert trio.sealed["b"].receive("a", "step") == b"once"
    with pytest.raises(SealError, match="was replayed"):
        trio.sealed["b"].receive("a", "step")


def test_reorder_and_loss_are_refused(trio) -> None:
    first, second = trio.sent("a", "b", "step", b"1"), trio.sent("a", "b", "step", b"2")
    trio.put("a", "b", "step", second)
    trio.put("a", "b", "step", first)
    with pytest.raises(SealError, match="was reordered, or one before it is missing"):
        trio.sealed["b"].receive("a", "step")
    # A refusal moves nothing on: the right message is still taken.
    assert trio.sealed["b"].receive("a", "step") == b"1"


def test_redirect_is_refused(trio) -> None:
    trio.put("a", "c", "step", trio.sent("a", "b", "step", b"for b"))
    with pytest.raises(SealError, match="meant for another party; expected 'c'; got 'b'"):
        trio.sealed["c"].receive("a", "step")


def test_reflection_is_refused(trio) -> None:
    trio.put("b", "a", "step", trio.sent("a", "b", "step", b"for b"))
    with pytest.raises(SealError, match="wrong signer"):
        trio.sealed["a"].receive("b", "step")


def test_a_message_as_if_from_another_party_is_refused(trio) -> None:
    trio.put("c", "b", "step", trio.sent("a", "b", "step", b"from a"))
    with pytest.raises(SealError, match="wrong signer"):
        trio.sealed["b"].receive("c", "step")


def test_another_step_is_refused(trio) -> None:
    trio.put("a", "b", "round 2", trio.sent("a", "b", "round 1", b"x"))
    with pytest.raises(SealError, match="another step; expected 'round 2'; got 'round 1'"):
        trio.sealed["b"].receive("a", "round 2")


def test_another_session_of_the_same_parties_is_refused(make_trio) -> None:
    first, second = make_trio(), make_trio()
    second.put("a", "b", "step", first.sent("a", "b", "step", b"x"))
    with pytest.raises(SealError, match="belongs to another session"):
        second.sealed["b"].receive("a", "step")


@pytest.mark.parametrize("cut", [1, TAG_BYTES - 1, TAG_BYTES, TAG_BYTES + 1, TAG_BYTES + 64])
def test_truncation_is_refused(trio, cut: int) -> None:
    data = trio.sent("a", "b", "step", bytes(200))
    trio.put("a", "b", "step", data[:-cut])
    with pytest.raises(SealError, match="was truncated"):
        trio.sealed["b"].receive("a", "step")


def test_every_shorter_prefix_is_refused_as_truncated(trio) -> None:
    data = trio.sent("a", "b", "step", b"hello")
    for length in range(0, len(data), 7):
        trio.put("a", "b", "step", data[:length])
        with pytest.raises(SealError, match="truncated"):
            trio.sealed["b"].receive("a", "step")


def test_bytes_after_the_end_are_refused(trio) -> None:
    trio.put("a", "b", "step", trio.sent("a", "b", "step", b"hello") + b"\0")
    with pytest.raises(SealError, match="goes on after its end"):
        trio.sealed["b"].receive("a", "step")


def test_altered_content_is_refused(trio) -> None:
    data = bytearray(trio.sent("a", "b", "step", b"hello"))
    data[-1] ^= 1
    trio.put("a", "b", "step", bytes(data))
    with pytest.raises(SealError, match="was altered on the way"):
        trio.sealed["b"].receive("a", "step")


def test_exchanged_chunks_are_refused(trio) -> None:
    data = trio.sent("a", "b", "step", bytes(128))
    size = 64 + TAG_BYTES
    trio.put("a", "b", "step", data[: -2 * size] + data[-size:] + data[-2 * size : -size])
    with pytest.raises(SealError, match="was altered on the way"):
        trio.sealed["b"].receive("a", "step")


def test_even_the_sender_cannot_exchange_its_chunks(party_keys) -> None:
    """The index is inside each chunk's own authentication, not only under the signature."""
    key = PairKey.generate()
    header = header_of(party_keys, payload_bytes=128)
    frame = parse_frame(seal_payload(bytes(128), header, party_keys["a"], key))
    size = 64 + TAG_BYTES
    body = memoryview(frame.body.tobytes()[size:] + frame.body.tobytes()[:size])
    with pytest.raises(SealError, match="does not open"):
        type(frame)(header, frame.header_data, frame.signature, body).open(key)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("session_id", b"\1" * 32),
        ("run_id", "run-2"),
        ("protocol", "other"),
        ("step", "other"),
        ("sequence", 1),
        ("sender", "c"),
        ("receiver", "c"),
        ("salt", bytes(SALT_BYTES)),
        ("payload_bytes", 4),
        ("chunk_bytes", 65),
    ],
)
def test_every_header_field_is_bound_into_the_chunks(party_keys, field: str, value: object) -> None:
    key = PairKey.generate()
    header = header_of(party_keys)
    changed = header_of(party_keys, **{field: value})
    frame = parse_frame(seal_payload(b"12345", header, party_keys["a"], key))
    assert frame.open(key) == b"12345"
    with pytest.raises(SealError, match="does not open"):
        type(frame)(changed, changed.encode(), frame.signature, frame.body).open(key)


def test_a_wrong_signer_is_refused(trio) -> None:
    """A stranger seals to b properly, but signs with a key that b has not pinned."""
    stranger = PartyKey.generate()
    b = trio.sealed["b"]
    values = {"session_id": b.session_id, "signer": stranger.fingerprint}
    header = header_of(trio.keys, **values)
    pair_key = trio.sealed["a"]._session.sending["b"]
    trio.put("a", "b", "step", seal_payload(b"12345", header, stranger, pair_key))
    with pytest.raises(SealError, match=r"wrong signer.*telephone"):
        b.receive("a", "step")
    # The same, naming the pinned key as its signer.
    header = header_of(trio.keys, session_id=b.session_id)
    trio.put("a", "b", "step", seal_payload(b"12345", header, stranger, pair_key))
    with pytest.raises(SealError, match="signed by somebody else"):
        b.receive("a", "step")


def test_a_signed_header_that_names_another_sender_or_run_is_refused(trio) -> None:
    b, pair_key = trio.sealed["b"], trio.sealed["a"]._session.sending["b"]
    for changes, pattern in (
        ({"sender": "c"}, "another sender"),
        ({"run_id": "run-2"}, "another run or protocol"),
        ({"protocol": "other"}, "another run or protocol"),
    ):
        header = header_of(trio.keys, session_id=b.session_id, **changes)
        trio.put("a", "b", "step", seal_payload(b"12345", header, trio.keys["a"], pair_key))
        with pytest.raises(SealError, match=pattern):
            b.receive("a", "step")


def test_content_sealed_to_another_key_is_refused(trio) -> None:
    header = header_of(trio.keys, session_id=trio.sealed["b"].session_id)
    trio.put("a", "b", "step", seal_payload(b"12345", header, trio.keys["a"], PairKey.generate()))
    with pytest.raises(SealError, match="does not open"):
        trio.sealed["b"].receive("a", "step")


def test_another_version_and_other_bytes_have_their_own_message(trio) -> None:
    data = trio.sent("a", "b", "step", b"x")
    for changed, pattern in (
        (MAGIC[:-1] + b"\x01" + data[8:], "another version"),
        (b"GET / HTTP/1.1", "not a sealed message"),
        (MAGIC + b"\xff" * 200, "malformed sealed header"),
    ):
        trio.put("a", "b", "step", changed)
        with pytest.raises(SealError, match=pattern):
            trio.sealed["b"].receive("a", "step")


MUTATION = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, 7)),
    st.tuples(st.just("set"), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])),
    st.tuples(st.just("cut"), st.integers(1, 40)),
    st.tuples(st.just("insert"), st.binary(min_size=1, max_size=40)),
)


def mutate(data: bytearray, share: float, kind: str, how: int | bytes) -> None:
    """Change `data` at the place `share` (0 to 1) of the way through it."""
    position = int(share * max(0, len(data) - 1))
    match kind, how:
        case "flip", int(bit):
            data[position] ^= 1 << bit
        case "set", int(value):
            data[position] = value
        case "cut", int(count):
            del data[position : position + min(count, len(data) - 1)]
        case "insert", bytes(more):
            data[position:position] = more


@SHARED_FIXTURE
@given(
    # The header takes about the first fifth, and is what is parsed.
    st.lists(st.tuples(st.floats(0, 1) | st.floats(0, 0.2), MUTATION), min_size=1, max_size=4)
)
def test_mutated_bytes_yield_nothing_but_a_seal_error(trio, mutations) -> None:
    original = trio.sent("a", "b", "step", b"content")
    mutated = bytearray(original)
    for share, (kind, how) in mutations:
        mutate(mutated, share, kind, how)
    if mutated != original:
        trio.put("a", "b", "step", bytes(mutated))
        with pytest.raises(SealError):
            trio.sealed["b"].receive("a", "step")
    trio.put("a", "b", "step", original)
    assert trio.sealed["b"].receive("a", "step") == b"content"


@given(st.binary(max_size=400))
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    for candidate in (data, MAGIC + data):
        with pytest.raises(SealError):
            parse_frame(candidate)


@given(st.data())
def test_headers_go_round_and_every_other_byte_string_is_refused(data: st.DataObject) -> None:
    text = st.text(max_size=20)
    header = SealedHeader(
        session_id=data.draw(st.binary(min_size=32, max_size=32)),
        run_id=data.draw(text),
        protocol=data.draw(text),
        step=data.draw(text),
        sequence=data.draw(st.integers(0, 2**64 - 1)),
        sender=data.draw(text),
        receiver=data.draw(text),
        signer=data.draw(text),
        salt=data.draw(st.binary(min_size=SALT_BYTES, max_size=SALT_BYTES)),
        payload_bytes=data.draw(st.integers(0, 2**40)),
        chunk_bytes=data.draw(st.integers(1, 2**26)),
    )
    encoded = header.encode()
    assert decode_header(encoded) == header
    mutated = bytearray(encoded)
    mutated[data.draw(st.integers(0, len(mutated) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        other = decode_header(bytes(mutated))
    except SealError:
        return
    assert other != header
    assert other.encode() == bytes(mutated)


def test_a_false_chunk_count_is_refused_as_truncation(party_keys) -> None:
    header = header_of(party_keys, payload_bytes=128)
    encoded = header.encode()
    assert encoded.endswith((2).to_bytes(8, "big"))
    with pytest.raises(SealError, match=r"truncated.*expected 2 chunks.*got 1"):
        decode_header(encoded[:-8] + (1).to_bytes(8, "big"))


def test_a_salt_of_another_length_is_refused(party_keys) -> None:
    with pytest.raises(SealError, match=r"malformed sealed header.*a salt of 32 bytes.*got 31 bytes"):
        decode_header(header_of(party_keys, salt=bytes(SALT_BYTES - 1)).encode())


@pytest.mark.parametrize(("chunk_bytes", "payload_bytes"), [(0, 5), (2**26 + 1, 5), (64, 2**40 + 1)])
def test_sizes_out_of_range_are_refused(party_keys, chunk_bytes: int, payload_bytes: int) -> None:
    encoded = bytearray(header_of(party_keys).encode())
    encoded[-8 * 3 - 8 : -8 * 2 - 8] = payload_bytes.to_bytes(8, "big")
    encoded[-8 * 2 - 4 : -8 - 4] = chunk_bytes.to_bytes(8, "big")
    with pytest.raises(SealError, match="malformed sealed header"):
        decode_header(bytes(encoded))


# --- a salt for every message: a key that comes twice, as after a fork, seals no two payloads alike ------------------


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
