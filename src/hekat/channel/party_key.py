"""A party's long-term signing key (Ed25519): made once, kept in a private file, pinned by the other parties."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hekat.atomic_file import create_file
from hekat.channel.canonical import encode_fields
from hekat.channel.ed25519_point import check_ed25519_point
from hekat.errors import KeyRefusedError, StateError
from hekat.fact_table import fact_table

KEY_BYTES = 32
SIGNATURE_BYTES = 64
_PUBLIC_PREFIX = "hekat-party-ed25519:"
_PRIVATE_PREFIX = "hekat-party-private-ed25519:"
_PROOF_SEPARATOR = ":possession:"
_POSSESSION_PURPOSE = "hekat/party-key-possession/1"
_MAX_FILE_BYTES = 1024
_FINGERPRINT_BYTES = 16


@dataclass(frozen=True)
class PartyPublicKey:
    """The half of a party key that others pin, exchanged by hand and compared by fingerprint; 32 raw bytes.

    Raises KeyRefusedError for what is no point of the curve, or one of small order.
    """

    raw: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.raw, bytes) or len(self.raw) != KEY_BYTES:
            got = f"{len(self.raw)} bytes" if isinstance(self.raw, bytes) else type(self.raw).__name__
            raise KeyRefusedError("not a party's public key", expected=f"{KEY_BYTES} bytes", got=got)
        check_ed25519_point(self.raw)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the key, its first 16 bytes in hex: what two people read to each other."""
        return hashlib.sha256(encode_fields(b"hekat/party-key", self.raw)).hexdigest()[: 2 * _FINGERPRINT_BYTES]

    @property
    def text(self) -> str:
        """The key in one line, "hekat-party-ed25519:BASE64", for job and site files."""
        return _PUBLIC_PREFIX + base64.b64encode(self.raw).decode()

    @classmethod
    def from_text(cls, text: str) -> PartyPublicKey:
        """The key of one line as `text` gives it. Raises KeyRefusedError for anything else, a private key above all."""
        if text.strip().startswith(_PRIVATE_PREFIX):
            raise KeyRefusedError(
                "a private party key where a public one belongs",
                expected=f"{_PUBLIC_PREFIX}BASE64",
                got="a private key",
                cure="it may have been seen by others: make a new party key, and give out only its public line",
            )
        return cls(_decode_line(text, _PUBLIC_PREFIX, "public party key"))

    @classmethod
    def from_line(cls, text: str) -> PartyPublicKey:
        """The key of a pin, or of a public key alone, where its owner showed elsewhere that it is its own: in a job's
        `party_keys`, or by the ledgers it signed. Raises KeyRefusedError."""
        return cls.from_pin(text) if _PROOF_SEPARATOR in text else cls.from_text(text)

    @classmethod
    def from_pin(cls, text: str) -> PartyPublicKey:
        """The key of a line as `PartyKey.pin` gives it: a signature in it shows that its owner has the private half.

        Without that somebody could pass another's key off as its own. Raises KeyRefusedError.
        """
        line, _, proof = text.strip().rpartition(_PROOF_SEPARATOR)
        if not line.startswith(_PUBLIC_PREFIX):
            cls.from_text(text)  # says what else it may be
            raise KeyRefusedError(
                "a public party key without proof that its owner holds the private half",
                expected=f"{_PUBLIC_PREFIX}BASE64{_PROOF_SEPARATOR}BASE64",
                got="the key alone",
                cure="ask its owner for the whole line, which `hekat keys show FILE` prints of a key that is there",
            )
        key = cls.from_text(line)
        if not key.verify(_decode_base64(proof, SIGNATURE_BYTES), _POSSESSION_PURPOSE, key.raw):
            raise KeyRefusedError(
                "the proof of a public party key does not hold",
                expected="a signature of its private half",
                got="another",
                cure="copy the whole line that `hekat keys party` prints at its owner",
            )
        return key

    def verify(self, signature: bytes, purpose: str, *fields: bytes) -> bool:
        """Whether `signature` is this party's over exactly these fields for this purpose."""
        signed = encode_fields(purpose.encode(), *fields)
        # What somebody makes large is not kept.
        holds = _holds if len(signed) <= _MOST_KEPT_BYTES else _holds.__wrapped__
        return len(signature) == SIGNATURE_BYTES and holds(self.raw, signature, signed)

    def verify_once(self, signature: bytes, purpose: str, *fields: bytes) -> bool:
        """As `verify`, of what is shown to one role alone: the answer is not kept for others."""
        signed = encode_fields(purpose.encode(), *fields)
        return len(signature) == SIGNATURE_BYTES and _holds.__wrapped__(self.raw, signature, signed)

    def __repr__(self) -> str:
        return f"PartyPublicKey({self.fingerprint})"

    def _repr_html_(self) -> str:
        return fact_table(
            "PartyPublicKey", [("fingerprint", self.fingerprint), ("use", "verifies a party's signatures")]
        )


class PartyKey:
    """A party's signing key. Nothing of it prints, pickles or copies; it leaves only through `save`."""

    __slots__ = ("_private", "public")

    _private: Ed25519PrivateKey
    public: PartyPublicKey

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = PartyPublicKey(private.public_key().public_bytes_raw())

    @classmethod
    def generate(cls) -> PartyKey:
        """A new key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def fingerprint(self) -> str:
        """The public key's fingerprint."""
        return self.public.fingerprint

    @property
    def pin(self) -> str:
        """What others pin, in one line: the public key, and a signature that shows that its owner made it."""
        proof = self.sign(_POSSESSION_PURPOSE, self.public.raw)
        return f"{self.public.text}{_PROOF_SEPARATOR}{base64.b64encode(proof).decode()}"

    def sign(self, purpose: str, *fields: bytes) -> bytes:
        """64 bytes of signature over the fields, for this purpose only; long data is given by its digest."""
        return self._private.sign(encode_fields(purpose.encode(), *fields))

    def save(self, path: Path) -> None:
        """Write the key to a new file that only its owner may read (0600), whole or not at all.

        Raises:
            StateError: something is at `path` already, or the file cannot be written.
        """
        line = _PRIVATE_PREFIX + base64.b64encode(self._private.private_bytes_raw()).decode() + "\n"
        create_file(Path(path), line.encode(), mode=0o600)

    @classmethod
    def load(cls, path: Path) -> PartyKey:
        """The key that `save` wrote.

        Raises:
            StateError: there is no such file, or it cannot be read.
            KeyRefusedError: others than its owner may read it, or it holds no party key.
        """
        data = _read_private_file(Path(path))
        try:
            line = data.decode("ascii")
        except UnicodeDecodeError:
            line = ""
        return cls(Ed25519PrivateKey.from_private_bytes(_decode_line(line, _PRIVATE_PREFIX, "party key file")))

    def __repr__(self) -> str:
        return f"PartyKey({self.fingerprint}, private)"

    def _repr_html_(self) -> str:
        return fact_table(
            "PartyKey", [("fingerprint", self.fingerprint), ("use", "signs; the private half is not shown")]
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PartyKey is not copied or pickled: save it to a file of its own")


_MOST_KEPT_BYTES = 4096


# Whether a signature holds depends on these bytes alone. Where one process plays many roles, each of them is shown the
# same hellos, words and statements: of 200 parties, all but one in 200 of these answers are here already.
@lru_cache(maxsize=4096)
def _holds(raw: bytes, signature: bytes, signed: bytes) -> bool:
    try:
        _verifying_key(raw).verify(signature, signed)
    except (InvalidSignature, ValueError):
        return False
    return True


@lru_cache(maxsize=1024)
def _verifying_key(raw: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(raw)


def is_party_key_file(path: Path) -> bool:
    """Whether the file begins as `PartyKey.save` writes it; False where there is none to read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_PRIVATE_PREFIX)) == _PRIVATE_PREFIX.encode()
    except OSError:
        return False


def _decode_line(text: str, prefix: str, what: str) -> bytes:
    line = text.strip()
    raw = _decode_base64(line.removeprefix(prefix), KEY_BYTES)
    if not line.startswith(prefix) or not raw:
        raise KeyRefusedError(
            f"not a {what}",
            expected=f"one line {prefix}BASE64 of {KEY_BYTES} bytes",
            got=f"{len(text)} other characters",
            cure="copy the whole line that `hekat keys` prints",
        )
    return raw


def _decode_base64(body: str, byte_count: int) -> bytes:
    """Exactly so many bytes, or None; accepts only the canonical one of base64's several spellings."""
    try:
        raw = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return raw if len(raw) == byte_count and base64.b64encode(raw).decode() == body else b""


def _read_private_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            readable_by_others = os.name == "posix" and bool(stat.S_IMODE(mode) & 0o077)
            data = b"" if readable_by_others else file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise StateError(
            f"the party key file {path} cannot be read",
            got=error.strerror or type(error).__name__,
            cure="check the path, or make a key with `hekat keys`",
        ) from error
    if readable_by_others:
        raise KeyRefusedError(
            f"the party key file {path} may be read by others than its owner",
            expected="mode 0600",
            got=f"mode {stat.S_IMODE(mode):04o}",
            cure=f"chmod 600 {path}; if others may have read it, make a new key",
        )
    return data
