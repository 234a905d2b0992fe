"""The key of releases: what it opens and what not, that it moves on, and that nobody passes it about."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from hekat.errors import KeyRefusedError, SealError
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, IncludedUpload
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.masked.release_key import SEAL_BYTES, ReleaseKey, release_fields, release_statements

RAW = bytes(range(32))
CONTENT = bytes(range(200))
STATED = IncludedSet(
    UploadContext(bytes(32), 3, "round-1", "A16-16"),
    tuple(IncludedUpload(name, name.encode() * 32, (bytes(32),), bytes(64)) for name in "abc"),
)


def begun(raw: bytes = RAW, *sets: IncludedSet) -> ReleaseKey:
    key = ReleaseKey(raw)
    for stated in sets or (STATED,):
        key.begin(stated)
    return key


def other_context(**changes) -> IncludedSet:
    return replace(STATED, context=replace(STATED.context, **changes))


def test_every_holder_opens_what_a_member_sealed() -> None:
    sealed = begun().seal("a", CONTENT)
    assert len(sealed) == len(CONTENT) + SEAL_BYTES
    assert CONTENT[:16] not in sealed
    assert begun().open("a", sealed) == CONTENT


OTHERS = {
    "another key": lambda: begun(bytes(32)),
    "another session": lambda: begun(RAW, other_context(session_id=b"\1" * 32)),
    "another number": lambda: begun(RAW, other_context(number=4)),
    "another step": lambda: begun(RAW, other_context(step="round-2")),
    "another model": lambda: begun(RAW, other_context(agreement=b"\1" * 32)),
    "another set": lambda: begun(RAW, replace(STATED, uploads=STATED.uploads[:2])),
    "the same set once more": lambda: begun(RAW, STATED, STATED),
    "the set after it": lambda: begun(RAW, STATED, other_context(number=4)),
}


@pytest.mark.parametrize("other", OTHERS)
def test_nothing_else_opens_it(other) -> None:
    key, sealed = OTHERS[other](), begun().seal("a", CONTENT)
    with pytest.raises(SealError, match="a release does not open"):
        key.open("a", sealed)
    assert key.seal("a", CONTENT) != sealed


def test_nor_is_it_another_members_nor_altered_anywhere() -> None:
    key = begun()
    sealed = key.seal("a", CONTENT)
    assert key.seal("b", CONTENT) != sealed
    for name, data in [
        ("b", sealed),
        ("a", sealed[:-1]),
        ("a", b""),
        ("a", sealed + b"\0"),
        *(("a", sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]) for at in range(0, len(sealed), 23)),
    ]:
        with pytest.raises(SealError, match="a release does not open"):
            key.open(name, data)


def test_one_key_seals_one_content_alone() -> None:
    """A machine that is run twice from a snapshot releases for one set the same bytes, for two sets under two keys."""
    assert begun().seal("a", CONTENT) == begun().seal("a", CONTENT)


def test_who_reads_it_later_opens_nothing_of_before() -> None:
    first, second = other_context(number=8), other_context(number=9)
    key = begun(RAW, first)
    sealed = key.seal("a", CONTENT)
    key.forget()
    with pytest.raises(SealError, match="no key of this upload"):
        key.open("a", sealed)
    held = bytes(key._next)
    assert held != RAW
    for stated in (first, second):
        with pytest.raises(SealError, match="does not open"):
            begun(held, stated).open("a", sealed)
    key.begin(second)
    with pytest.raises(SealError, match="does not open"):
        key.open("a", sealed)


def test_wiped_it_holds_nothing() -> None:
    key = begun()
    upload = key._upload
    key.wipe()
    assert not any(upload)
    assert not any(key._next)
    with pytest.raises(SealError, match="no key of this upload"):
        key.seal("a", CONTENT)


def test_its_fingerprint_is_of_the_key_as_it_was_drawn() -> None:
    key = ReleaseKey(RAW)
    assert key.fingerprint == begun().fingerprint != ReleaseKey(bytes(32)).fingerprint
    assert RAW not in key.fingerprint


def test_it_is_not_shown_nor_passed_on() -> None:
    assert repr(begun()) == "ReleaseKey(secret)"
    with pytest.raises(TypeError, match="not copied or pickled"):
        pickle.dumps(begun())
    with pytest.raises(KeyRefusedError, match="expected 32 bytes; got 31"):
        ReleaseKey(bytes(31))


def test_a_member_signs_one_release_of_one_set_of_one_upload() -> None:
    fields = [
        release_fields(STATED, CONTENT),
        release_fields(STATED, CONTENT[:-1]),
        release_fields(other_context(number=4), CONTENT),
        release_fields(other_context(session_id=b"\1" * 32), CONTENT),
        release_fields(replace(STATED, uploads=STATED.uploads[:2]), CONTENT),
    ]
    assert len(set(fields)) == len(fields)
    assert release_statements(STATED, {"a": CONTENT, "b": b""}, {"a": b"s"}) == (
        ("a", b"s", fields[0]),
        ("b", b"", release_fields(STATED, b"")),
    )
