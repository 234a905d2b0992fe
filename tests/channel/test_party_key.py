"""Party keys: signatures, the one-line text, and files that nobody else reads and nothing overwrites."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.channel import PartyKey, PartyPublicKey, party_key
from hekat.errors import KeyRefusedError, StateError


def test_a_signature_holds_for_its_fields_and_purpose_only() -> None:
    key = PartyKey.generate()
    signature = key.sign("purpose", b"ab", b"c")
    assert key.public.verify(signature, "purpose", b"ab", b"c")
    assert not key.public.verify(signature, "purpose", b"a", b"bc")
    assert not key.public.verify(signature, "purpose", b"abc")
    assert not key.public.verify(signature, "other", b"ab", b"c")
    assert not key.public.verify(signature[:-1], "purpose", b"ab", b"c")
    assert not key.public.verify(b"", "purpose", b"ab", b"c")
    assert not PartyKey.generate().public.verify(signature, "purpose", b"ab", b"c")


def test_the_public_text_goes_round_and_the_fingerprint_tells_keys_apart() -> None:
    first, second = PartyKey.generate().public, PartyKey.generate().public
    assert first.text.startswith("hekat-party-ed25519:")
    assert PartyPublicKey.from_text(first.text + "\n") == first
    assert first.fingerprint != second.fingerprint
    assert len(first.fingerprint) == 32


@given(st.text())
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(KeyRefusedError):
        PartyPublicKey.from_text(text)


def test_every_spelling_but_the_written_one_is_refused() -> None:
    text = PartyKey.generate().public.text
    last = text[-2]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = alphabet[alphabet.index(last) ^ 1]  # changes only bits that base64 does not use
    for changed in (text[:-2] + other + "=", text[:-1], text + "=", text.replace(":", ": "), text.upper()):
        with pytest.raises(KeyRefusedError):
            PartyPublicKey.from_text(changed)


@pytest.mark.parametrize("raw", [b"", bytes(31), bytes(33), "x" * 32])
def test_a_public_key_is_32_bytes(raw: bytes) -> None:
    with pytest.raises(KeyRefusedError, match="32 bytes"):
        PartyPublicKey(raw)


def test_a_saved_key_is_loaded_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    key, path = PartyKey.generate(), tmp_path / "party.key"
    key.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert PartyKey.load(path).public == key.public
    assert [file.name for file in tmp_path.iterdir()] == ["party.key"]


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "party.key"
    path.write_text("something else")
    with pytest.raises(StateError, match=r"party\.key"):
        PartyKey.generate().save(path)
    assert path.read_text() == "something else"


def test_a_folder_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StateError):
        PartyKey.generate().save(tmp_path / "missing" / "party.key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_file_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "party.key"
    PartyKey.generate().save(path)
    path.chmod(mode)
    with pytest.raises(KeyRefusedError, match="chmod 600"):
        PartyKey.load(path)


def test_a_missing_file_and_a_folder_say_so(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(StateError, match="cannot be read"):
            PartyKey.load(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"hekat-party-private-ed25519:AAAA", bytes(5000)])
def test_a_file_that_holds_no_key_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "party.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyRefusedError) as caught:
        PartyKey.load(path)
    assert "AAAA" not in str(caught.value)


def test_a_private_key_where_a_public_one_belongs_is_refused_without_showing_it(tmp_path: Path) -> None:
    path = tmp_path / "party.key"
    PartyKey.generate().save(path)
    line = path.read_text()
    with pytest.raises(KeyRefusedError, match="private") as caught:
        PartyPublicKey.from_text(line)
    assert line.split(":")[1].strip() not in str(caught.value)


def test_a_key_neither_prints_nor_pickles_nor_copies(tmp_path: Path) -> None:
    key = PartyKey.generate()
    key.save(tmp_path / "k")
    secret = (tmp_path / "k").read_text().split(":")[1].strip()
    assert secret not in repr(key)
    assert key.fingerprint in repr(key)
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not copied or pickled"):
            act(key)


def test_a_signature_that_many_roles_are_shown_is_checked_once() -> None:
    key, other = PartyKey.generate(), PartyKey.generate()
    signature = key.sign("test", b"shown to all")
    before = party_key._holds.cache_info()
    assert all(PartyPublicKey(key.public.raw).verify(signature, "test", b"shown to all") for _ in range(200))
    after = party_key._holds.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 199)
    assert not key.public.verify(signature, "test", b"shown to none")
    assert not other.public.verify(signature, "test", b"shown to all")


def test_what_somebody_makes_large_is_checked_and_not_kept() -> None:
    key, large = PartyKey.generate(), bytes(1 << 20)
    signature, before = key.sign("test", large), party_key._holds.cache_info()
    assert key.public.verify(signature, "test", large)
    assert not key.public.verify(signature, "test", large + b"1")
    assert not key.public.verify(large, "test", b"shown to all")
    assert party_key._holds.cache_info() == before
