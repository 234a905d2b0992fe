"""Stored CKKS keys and ciphertexts of every version are read and open as they did; damaged ones are refused."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat import errors
from hekat.scheme.ckks import Ciphertexts, PrivateKey, PublicKey, decrypt, error_bound
from hekat.wire import from_bytes, to_bytes
from hekat.wire.frame import CHECKSUM_BYTES, checksum_of

HERE = Path(__file__).resolve().parent
READERS: dict[str, type[Any]] = {
    "public-key.v1": PublicKey,
    "private-key.v1": PrivateKey,
    "ciphertexts.v1": Ciphertexts,
    "sum.v1": Ciphertexts,
}


def load(path: Path) -> Any:
    specification = importlib.util.spec_from_file_location(f"hekat_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


history = load(HERE / "write_ckks_history.py")


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")


def read(name: str, data: bytes | None = None) -> Any:
    data = (HERE / f"{name}.hkat").read_bytes() if data is None else data
    key = from_bytes((HERE / "public-key.v1.hkat").read_bytes(), PublicKey)
    return from_bytes(data, READERS[name], public_key=key)


def test_every_file_has_a_reader() -> None:
    assert sorted(path.name for path in HERE.glob("*.hkat")) == sorted(f"{name}.hkat" for name in READERS)


@pytest.mark.parametrize("name", READERS)
def test_stored_objects_are_read_and_written_again(name: str) -> None:
    stored = read(name)
    again = read(name, to_bytes(stored))
    if isinstance(stored, Ciphertexts):
        # How the library packs a ciphertext is its own affair: what it holds is compared.
        private = read("private-key.v1")
        opened = [decrypt(private, one, "raw_reveals_key") for one in (stored, again)]
        assert np.array_equal(*opened)
    else:
        assert to_bytes(stored) == (HERE / f"{name}.hkat").read_bytes()
        assert again.stream == stored.stream


def test_ciphertexts_still_open() -> None:
    private = read("private-key.v1")
    assert private.public == read("public-key.v1")
    assert private.public.parameters == history.PARAMETERS
    for name, times in (("ciphertexts.v1", 1), ("sum.v1", 2)):
        stored = read(name)
        assert (stored.addend_count, stored.gain, stored.rounding_count) == (times, times, 0)
        error = np.abs(decrypt(private, stored, "raw_reveals_key") - times * history.VALUES).max()
        assert error <= error_bound(history.PARAMETERS, times, 0, times)
        # The bound is of the worst case: far smaller errors show that the right values came out.
        assert error < 0.05


def with_version(data: bytes, at: int) -> bytes:
    """The frame with version 999 at that place and a checksum that holds."""
    changed = data[:at] + (999).to_bytes(2, "little") + data[at + 2 : -CHECKSUM_BYTES]
    return changed + checksum_of(changed, b"")


def flipped(data: bytes) -> bytes:
    """The frame with one bit of its body changed."""
    return data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], type[errors.WireError], str]] = {
    "truncated": (lambda data: data[:-10], errors.WireTruncatedError, "bytes end inside the body or checksum"),
    "cut header": (lambda data: data[:9], errors.WireTruncatedError, "bytes end inside the header"),
    "flipped": (flipped, errors.WireCorruptError, "checksum does not hold"),
    "trailing": (lambda data: data + b"\n", errors.WireCorruptError, "bytes follow after the end"),
    "format 999": (lambda data: with_version(data, 4), errors.WireVersionError, "got format version 999"),
    "kind 999": (lambda data: with_version(data, 7 + data[6]), errors.WireVersionError, "got version 999"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", READERS)
def test_damaged_objects_are_refused(name: str, damage: str) -> None:
    change, error, says = DAMAGES[damage]
    with pytest.raises(error, match=says):
        read(name, change((HERE / f"{name}.hkat").read_bytes()))
