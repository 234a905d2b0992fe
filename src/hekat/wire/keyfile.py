"""Key files: private keys, under a passphrase or in a file that only its owner may read, and public keys.

A private key's file states bits and fingerprint in the clear, so that people can tell files apart without opening them;
under a passphrase the seal covers both. Hekat writes a file whole or not at all, and never over another file. Python
cannot wipe a key or a passphrase from memory once it has been there.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from hekat.atomic_file import already_there, create_file
from hekat.errors import KeyRefusedError, StateError, WireCorruptError, WireKindError, WireOversizeError
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey, fingerprint_of
from hekat.wire.body import pack_body
from hekat.wire.disclosure import public, sealed
from hekat.wire.frame import read_frame
from hekat.wire.kinds import from_bytes, kind_of, to_bytes
from hekat.wire.message import message
from hekat.wire.paillier import modulus_without_proof
from hekat.wire.passphrase import ScryptCost, SealedBytes, check_passphrase, seal, unseal
from hekat.wire.residues import FINGERPRINT

MAX_KEY_FILE_BYTES = 1 << 16
MAX_CLAIMED_BITS = 1 << 14
OWNER_ONLY = 0o600
EVERYBODY_READS = 0o644


@message("paillier/protected-key-file", version=1)
@dataclass(frozen=True)
class ProtectedKeyFile:
    """A private key under a passphrase."""

    bits: int = public()
    fingerprint: str = public()
    scrypt_log2_cost: int = public()
    scrypt_block_size: int = public()
    scrypt_parallelism: int = public()
    salt: bytes = public()
    nonce: bytes = public()
    content: bytes = sealed("a Paillier private key under scrypt and AES-256-GCM")

    def __post_init__(self) -> None:
        _check_claims(self.bits, self.fingerprint)
        self.cost.check()

    @property
    def cost(self) -> ScryptCost:
        return ScryptCost(self.scrypt_log2_cost, self.scrypt_block_size, self.scrypt_parallelism)


@message("paillier/owner-key-file", version=1)
@dataclass(frozen=True)
class OwnerKeyFile:
    """A private key in the clear, for a file with mode 0600."""

    bits: int = public()
    fingerprint: str = public()
    private_key: bytes = sealed("a Paillier private key")

    def __post_init__(self) -> None:
        _check_claims(self.bits, self.fingerprint)


class KeyFileDescription(TypedDict):
    """What a key file says about itself without being opened; a public key needs no protection: "none"."""

    kind: Literal["public key", "private key"]
    bits: int
    fingerprint: str
    protection: Literal["passphrase", "file mode", "none"]
    readable_by_others: bool


def save_private_key(
    path: Path | str, key: PrivateKey, passphrase: bytes | None, *, cost: ScryptCost | None = None
) -> None:
    """Write `key` to a new file of mode 0600, under `passphrase` or, with None, in the clear.

    `cost` is the price of one try at the passphrase (by default 128 MiB of memory); the file states it.
    Raises StateError where the file exists or cannot be written, InputError for an empty passphrase.
    """
    path = Path(path)
    if passphrase is not None:
        check_passphrase(passphrase)
    if os.path.lexists(path):
        raise already_there(path)
    content = to_bytes(key)
    bits, fingerprint = key.public.bits, key.public.fingerprint
    if passphrase is None:
        data = to_bytes(OwnerKeyFile(bits=bits, fingerprint=fingerprint, private_key=content))
    else:
        data = to_bytes(_protect(content, passphrase, bits, fingerprint, cost or ScryptCost()))
    create_file(path, data, mode=OWNER_ONLY)


def load_private_key(
    path: Path | str, passphrase: bytes | None = None, *, unsafe_for_benchmark: bool = False
) -> PrivateKey:
    """The private key in `path`; one below the size floor only with `unsafe_for_benchmark`.

    Raises KeyRefusedError where others may read an unprotected key, where the passphrase is missing, needless or wrong,
    or where the file names another key than it holds; StateError where the file cannot be read; WireError where it is
    damaged.
    """
    path = Path(path)
    data, mode = _read(path)
    kind = _kind_among(data, path, "private key", (ProtectedKeyFile, OwnerKeyFile))
    if kind == kind_of(ProtectedKeyFile).name:
        protected = from_bytes(data, ProtectedKeyFile)
        content = _open(protected, passphrase, path)
        claim = protected.bits, protected.fingerprint
    else:
        plain = from_bytes(data, OwnerKeyFile)
        _check_mode(path, mode)
        if passphrase is not None:
            raise KeyRefusedError(
                f"{path} is not protected by a passphrase",
                expected="no passphrase",
                got="one",
                cure="leave the passphrase out, or save the key anew under it",
            )
        content = plain.private_key
        claim = plain.bits, plain.fingerprint
    key = from_bytes(content, PrivateKey, unsafe_for_benchmark=unsafe_for_benchmark)
    if (key.public.bits, key.public.fingerprint) != claim:
        raise KeyRefusedError(
            f"{path} holds another key than it names",
            expected=f"key {claim[1]} of {claim[0]} bits",
            got=f"key {key.public.fingerprint} of {key.public.bits} bits",
            cure="use a file that nobody edited",
        )
    return key


def save_public_key(path: Path | str, key: PublicKey) -> None:
    """Write `key` to a new file that everybody may read. Raises StateError as `save_private_key` does."""
    create_file(Path(path), to_bytes(key), mode=EVERYBODY_READS)


def load_public_key(
    path: Path | str, *, private_key: PrivateKey | None = None, unsafe_for_benchmark: bool = False
) -> PublicKey:
    """The public key in `path`, proven; one below the size floor only with `unsafe_for_benchmark`.

    Files of releases before 0.2 have no proof: their owner alone can use them, with its `private_key`.
    Raises StateError, WireError or KeyRefusedError.
    """
    path = Path(path)
    data, _ = _read(path)
    _kind_among(data, path, "public key", (PublicKey,))
    n = modulus_without_proof(data)
    if n is not None:
        return _own_public_key(n, private_key, path)
    return from_bytes(data, PublicKey, unsafe_for_benchmark=unsafe_for_benchmark)


def describe_key_file(path: Path | str) -> KeyFileDescription:
    """What `path` holds: kind, bits, fingerprint, protection; needs no passphrase and opens nothing.

    For a private key, bits and fingerprint are what the file claims; `load_private_key` checks them.
    """
    path = Path(path)
    data, mode = _read(path)
    others = bool(mode & 0o077)
    kind = _kind_among(data, path, "key", (ProtectedKeyFile, OwnerKeyFile, PublicKey))
    if kind == kind_of(ProtectedKeyFile).name:
        protected = from_bytes(data, ProtectedKeyFile)
        return _describe("private key", protected.bits, protected.fingerprint, "passphrase", others)
    if kind == kind_of(OwnerKeyFile).name:
        plain = from_bytes(data, OwnerKeyFile)
        return _describe("private key", plain.bits, plain.fingerprint, "file mode", others)
    # Describing a key uses it for nothing, so neither its size nor a missing proof matters here.
    n = modulus_without_proof(data)
    if n is not None:
        return _describe("public key", n.bit_length(), fingerprint_of(n), "none", others)
    key = from_bytes(data, PublicKey, unsafe_for_benchmark=True)
    return _describe("public key", key.bits, key.fingerprint, "none", others)


def _own_public_key(n: int, private_key: PrivateKey | None, path: Path) -> PublicKey:
    if private_key is None or private_key.public.n != n:
        raise KeyRefusedError(
            f"{path} holds a public key without a proof that it is sound",
            expected="a file of this release, or the private key that belongs to it",
            got="a file of an earlier release",
            cure="ask its owner to write it anew: save_public_key(path, load_private_key(FILE).public)",
        )
    return private_key.public


def _kind_among(data: bytes, path: Path, what: str, allowed: tuple[type[Any], ...]) -> str:
    """The kind that `data` holds. Raises WireKindError unless it is one of `allowed`."""
    kind = read_frame(data).kind
    if kind not in [kind_of(cls).name for cls in allowed]:
        raise WireKindError(
            f"{path} holds no {what}",
            expected=f"a {what} file",
            got=kind,
            cure="give the other file; a private key belongs only to parties that may decrypt",
        )
    return kind


def _describe(
    kind: Literal["public key", "private key"],
    bits: int,
    fingerprint: str,
    protection: Literal["passphrase", "file mode", "none"],
    others: bool,
) -> KeyFileDescription:
    return {
        "kind": kind,
        "bits": bits,
        "fingerprint": fingerprint,
        "protection": protection,
        "readable_by_others": others,
    }


def _protect(content: bytes, passphrase: bytes, bits: int, fingerprint: str, cost: ScryptCost) -> ProtectedKeyFile:
    made = seal(content, passphrase, context=_context(bits, fingerprint, cost), cost=cost)
    return ProtectedKeyFile(
        bits=bits,
        fingerprint=fingerprint,
        scrypt_log2_cost=cost.log2_cost,
        scrypt_block_size=cost.block_size,
        scrypt_parallelism=cost.parallelism,
        salt=made.salt,
        nonce=made.nonce,
        content=made.content,
    )


def _open(file: ProtectedKeyFile, passphrase: bytes | None, path: Path) -> bytes:
    if passphrase is None:
        raise KeyRefusedError(
            f"{path} is protected by a passphrase", expected="the passphrase", got="none", cure="give the passphrase"
        )
    made = SealedBytes(file.cost, file.salt, file.nonce, file.content)
    return unseal(made, passphrase, context=_context(file.bits, file.fingerprint, file.cost))


def _context(bits: int, fingerprint: str, cost: ScryptCost) -> bytes:
    """The bytes that the seal covers besides the key: every field that is readable without the passphrase."""
    kind = kind_of(ProtectedKeyFile)
    fields = [kind.name, kind.version, bits, fingerprint, cost.log2_cost, cost.block_size, cost.parallelism]
    return bytes(pack_body(fields))


def _check_claims(bits: int, fingerprint: str) -> None:
    if not 1 <= bits <= MAX_CLAIMED_BITS or not FINGERPRINT.fullmatch(fingerprint):
        raise WireCorruptError(
            "a key file that names no key", expected=f"1 to {MAX_CLAIMED_BITS} bits and a fingerprint of 32 hex digits"
        )


def _check_mode(path: Path, mode: int) -> None:
    if mode & 0o077:
        raise KeyRefusedError(
            f"{path} holds a private key that others may read or change",
            expected="file mode 600",
            got=f"file mode {mode:o}",
            cure=f"chmod 600 {path}; if others had access, make a new key",
        )


def _read(path: Path) -> tuple[bytes, int]:
    """The bytes and permission bits of a key file, both of the same opened file."""
    try:
        # Not blocking: opening a pipe must not hang.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise StateError(f"{path} is no file", expected="a key file", cure="give the path of a key file")
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(MAX_KEY_FILE_BYTES + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise StateError(
            f"{path} could not be read",
            expected="a key file",
            got=error.strerror or type(error).__name__,
            cure="check the path and its permissions",
        ) from error
    if len(data) > MAX_KEY_FILE_BYTES:
        raise WireOversizeError(f"{path} is too large for a key file", expected=f"at most {MAX_KEY_FILE_BYTES} bytes")
    if not data:
        raise WireCorruptError(f"{path} is empty", expected="a key file")
    return data, stat.S_IMODE(status.st_mode)
