"""Key files: protected or for the owner alone, whole or not there, with a clear answer to every misuse."""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hekat.errors import (
    InputError,
    KeyRefusedError,
    StateError,
    WireCorruptError,
    WireError,
    WireKindError,
    WireOversizeError,
    WireTruncatedError,
)
from hekat.scheme.paillier.keys.key_pair import PrivateKey
from hekat.wire import from_bytes, to_bytes
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import read_frame, write_frame
from hekat.wire.keyfile import (
    OwnerKeyFile,
    ProtectedKeyFile,
    describe_key_file,
    load_private_key,
    load_public_key,
    save_private_key,
    save_public_key,
)
from hekat.wire.passphrase import ScryptCost

PASSPHRASE = b"correct horse battery staple"


@pytest.fixture(scope="module")
def protected_bytes(private_key: PrivateKey, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("keys") / "key"
    save_private_key(path, private_key, PASSPHRASE, cost=ScryptCost(log2_cost=14))
    return path.read_bytes()


@pytest.fixture
def protected(protected_bytes: bytes, tmp_path: Path) -> Path:
    return place(tmp_path / "protected", protected_bytes)


@pytest.fixture
def owner_only(private_key: PrivateKey, tmp_path: Path) -> Path:
    save_private_key(tmp_path / "owner", private_key, None)
    return tmp_path / "owner"


def place(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


def change(data: bytes, cls: type[Any], **changes: Any) -> bytes:
    return to_bytes(dataclasses.replace(from_bytes(data, cls), **changes))


def secret_bytes(key: PrivateKey) -> list[bytes]:
    return [
        factor.to_bytes(-(-factor.bit_length() // 8), order) for factor in (key.p, key.q) for order in ("little", "big")
    ]


def test_protected_round_trip(private_key: PrivateKey, protected: Path, protected_bytes: bytes) -> None:
    loaded = load_private_key(protected, PASSPHRASE)
    assert {loaded.p, loaded.q} == {private_key.p, private_key.q}
    assert not any(secret in protected_bytes for secret in secret_bytes(private_key))


def test_the_default_cost_is_the_stated_one(private_key: PrivateKey, tmp_path: Path) -> None:
    save_private_key(tmp_path / "key", private_key, PASSPHRASE)
    file = from_bytes((tmp_path / "key").read_bytes(), ProtectedKeyFile)
    assert file.cost == ScryptCost(log2_cost=17, block_size=8, parallelism=1)
    assert load_private_key(tmp_path / "key", PASSPHRASE).public.n == private_key.public.n


def test_owner_only_round_trip(private_key: PrivateKey, owner_only: Path) -> None:
    loaded = load_private_key(owner_only)
    assert {loaded.p, loaded.q} == {private_key.p, private_key.q}
    assert stat.S_IMODE(owner_only.stat().st_mode) == 0o600


def test_public_round_trip(private_key: PrivateKey, tmp_path: Path) -> None:
    save_public_key(tmp_path / "public", private_key.public)
    assert load_public_key(tmp_path / "public").n == private_key.public.n
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o644


def test_a_public_key_of_an_earlier_release_needs_its_own_private_key(
    private_key: PrivateKey, other_private_key: PrivateKey, tmp_path: Path
) -> None:
    frame = read_frame(to_bytes(private_key.public))
    body = pack_body({"n": unpack_body(frame.body)["n"]})
    path = place(tmp_path / "public", write_frame(frame.kind, 1, body), 0o644)
    assert load_public_key(path, private_key=private_key) is private_key.public
    assert describe_key_file(path)["bits"] == 2048
    for key in (None, other_private_key):
        with pytest.raises(KeyRefusedError, match="holds a public key without a proof"):
            load_public_key(path, private_key=key)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o666])
def test_unprotected_keys_that_others_may_touch(owner_only: Path, mode: int) -> None:
    owner_only.chmod(mode)
    with pytest.raises(KeyRefusedError, match=f"got file mode {mode:o}; cure: chmod 600"):
        load_private_key(owner_only)


def test_a_protected_key_may_be_readable(protected: Path) -> None:
    protected.chmod(0o644)
    assert load_private_key(protected, PASSPHRASE).public.bits > 0
    assert describe_key_file(protected)["readable_by_others"]


@pytest.mark.parametrize("passphrase", [b"wrong", PASSPHRASE + b" "])
def test_wrong_passphrase(protected: Path, passphrase: bytes) -> None:
    with pytest.raises(KeyRefusedError, match="passphrase does not open the key file") as caught:
        load_private_key(protected, passphrase)
    assert "horse" not in str(caught.value)
    assert "wrong" not in str(caught.value)


def test_missing_empty_and_needless_passphrases(
    private_key: PrivateKey, protected: Path, owner_only: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyRefusedError, match=r"protected by a passphrase.*cure: give the passphrase"):
        load_private_key(protected)
    with pytest.raises(KeyRefusedError, match="not protected by a passphrase"):
        load_private_key(owner_only, PASSPHRASE)
    with pytest.raises(InputError, match="passphrase refused"):
        save_private_key(tmp_path / "new", private_key, b"")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_never_over_another_file(private_key: PrivateKey, owner_only: Path, passphrase: bytes | None) -> None:
    before = owner_only.read_bytes()
    with pytest.raises(StateError, match="already there"):
        save_private_key(owner_only, private_key, passphrase)
    with pytest.raises(StateError, match="already there"):
        save_public_key(owner_only, private_key.public)
    assert owner_only.read_bytes() == before


def test_a_full_disk_leaves_nothing(private_key: PrivateKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError, match="No space left"):
        save_private_key(tmp_path / "key", private_key, None)
    assert list(tmp_path.iterdir()) == []


def test_descriptions(private_key: PrivateKey, protected: Path, owner_only: Path, tmp_path: Path) -> None:
    save_public_key(tmp_path / "public", private_key.public)
    same = {"bits": private_key.public.bits, "fingerprint": private_key.public.fingerprint}
    expected = {
        protected: {"kind": "private key", "protection": "passphrase", "readable_by_others": False},
        owner_only: {"kind": "private key", "protection": "file mode", "readable_by_others": False},
        tmp_path / "public": {"kind": "public key", "protection": "none", "readable_by_others": True},
    }
    for path, parts in expected.items():
        assert describe_key_file(path) == same | parts


@pytest.mark.parametrize(
    "changes",
    [
        {"bits": 99},
        {"fingerprint": "0" * 32},
        {"scrypt_log2_cost": 15},
        {"scrypt_parallelism": 2},
        {"salt": bytes(16)},
        {"nonce": bytes(12)},
        {"content": bytes(40)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_every_altered_part_of_a_protected_file(
    protected_bytes: bytes, tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = place(tmp_path / "altered", change(protected_bytes, ProtectedKeyFile, **changes))
    with pytest.raises(KeyRefusedError, match="somebody altered"):
        load_private_key(path, PASSPHRASE)


def test_a_file_that_claims_to_hold_another_key(owner_only: Path, tmp_path: Path) -> None:
    path = place(tmp_path / "altered", change(owner_only.read_bytes(), OwnerKeyFile, fingerprint="0" * 32))
    with pytest.raises(KeyRefusedError, match="holds another key than it names"):
        load_private_key(path)


@pytest.mark.parametrize(
    ("part", "value"), [("bits", 0), ("bits", 2**70), ("fingerprint", "x"), ("fingerprint", "F" * 32)]
)
def test_claims_that_name_no_key(owner_only: Path, part: str, value: Any) -> None:
    with pytest.raises(WireCorruptError, match="names no key"):
        change(owner_only.read_bytes(), OwnerKeyFile, **{part: value})


def test_the_reader_does_not_spend_what_a_file_asks_for(protected_bytes: bytes) -> None:
    with pytest.raises(WireOversizeError, match="too much memory"):
        change(protected_bytes, ProtectedKeyFile, scrypt_log2_cost=30)


def test_damage(protected_bytes: bytes, tmp_path: Path) -> None:
    damage: list[tuple[bytes, type[WireError]]] = [
        (b"", WireCorruptError),
        (protected_bytes[:-1], WireTruncatedError),
        (protected_bytes[:50] + b"\xff" + protected_bytes[51:], WireCorruptError),
        (protected_bytes + b"\n", WireCorruptError),
        (b"-----BEGIN PRIVATE KEY-----\n", WireCorruptError),
        (bytes(1 << 17), WireOversizeError),
    ]
    for index, (data, error) in enumerate(damage):
        path = place(tmp_path / str(index), data)
        for read in (load_private_key, load_public_key, describe_key_file):
            with pytest.raises(error):
                read(path)


def test_files_of_another_kind(private_key: PrivateKey, owner_only: Path, tmp_path: Path) -> None:
    save_public_key(tmp_path / "public", private_key.public)
    with pytest.raises(
        WireKindError, match="public holds no private key; expected a private key file; got paillier/public-key"
    ):
        load_private_key(tmp_path / "public")
    with pytest.raises(
        WireKindError, match="owner holds no public key; expected a public key file; got paillier/owner-key-file"
    ):
        load_public_key(owner_only)
    with pytest.raises(WireKindError, match="sealed holds no key;"):
        describe_key_file(place(tmp_path / "sealed", to_bytes(private_key)))


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"No such file.*cure: check the path"):
        load_private_key(tmp_path / "missing")
    with pytest.raises(StateError, match="is no file"):
        load_private_key(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StateError, match="is no file"):
        load_private_key(tmp_path / "pipe")


def test_secrets_do_not_show(protected_bytes: bytes, owner_only: Path) -> None:
    shown = repr(from_bytes(owner_only.read_bytes(), OwnerKeyFile)) + repr(
        from_bytes(protected_bytes, ProtectedKeyFile)
    )
    assert "private_key" not in shown
    assert "content" not in shown
