"""Key pairs: a public key that encrypts and computes, a private key that opens everything under it."""

from __future__ import annotations

import hashlib
import threading
from typing import Any, Final, NamedTuple, NoReturn

from hekat.errors import BoundError, KeyRefusedError
from hekat.scheme.ckks.parameters import CkksParameters
from hekat.scheme.ckks.seal import Context, context_of, from_stream, load_library, to_stream
from hekat.scheme.immutable_key import ImmutableKey

FINGERPRINT_BYTES: Final = 16
FINGERPRINT_DOMAIN: Final = b"hekat/ckks/public-key/1:"
# Fresh noise in a slot stays below 2^12 N / scale (hekat.scheme.ckks.noise); a foreign key opens to anything.
_PROBE: Final = 0.5


class PublicKey(ImmutableKey):
    """Parameters and SEAL's public key: encrypts and computes, opens nothing; the server needs no more.

    `stream` is the key as SEAL writes it. Users trust the key's maker: a dishonest maker can make a key that looks like
    any other and lets only that maker read. Raises InputError without the library, WireCorruptError for other bytes.
    """

    __slots__ = ("_seal", "fingerprint", "parameters", "stream")

    parameters: CkksParameters
    stream: bytes
    fingerprint: str
    _seal: Any

    def __init__(self, parameters: CkksParameters, stream: bytes) -> None:
        seal = from_stream(load_library().PublicKey, context_of(parameters), stream, "a CKKS public key")
        digest = hashlib.sha256(FINGERPRINT_DOMAIN + parameters.identity + stream).hexdigest()
        values = {"parameters": parameters, "stream": stream, "_seal": seal}
        for name, value in (values | {"fingerprint": digest[: 2 * FINGERPRINT_BYTES]}).items():
            object.__setattr__(self, name, value)

    @property
    def context(self) -> Context:
        """SEAL's context of the key's parameters."""
        return context_of(self.parameters)

    def encryptor(self) -> Any:
        """SEAL's encryptor under this key."""
        return load_library().Encryptor(self.context.seal, self._seal)

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, PublicKey) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"PublicKey(CKKS {self.parameters.name}, fingerprint {self.fingerprint})"

    def __reduce__(self) -> tuple[type[PublicKey], tuple[CkksParameters, bytes]]:
        return PublicKey, (self.parameters, self.stream)


class PrivateKey(ImmutableKey):
    """SEAL's secret key with its public one: opens every ciphertext under it, single updates like sums.

    This object counts the ciphertexts that it opens for sharing with flooding: the promise of flooding holds for
    `shared_count` ciphertexts under one key, added up over all its holders. Shows, pickles and compares nothing secret.
    Raises WireCorruptError for other bytes, KeyRefusedError where it does not belong to `public`.
    """

    __slots__ = ("_lock", "_seal", "_shared", "_stream", "public")

    public: PublicKey
    _stream: bytes
    _seal: Any
    _shared: list[int]
    _lock: threading.Lock

    def __init__(self, public: PublicKey, stream: bytes) -> None:
        seal = from_stream(load_library().SecretKey, public.context, stream, "a CKKS private key")
        values = {"public": public, "_stream": stream, "_seal": seal, "_shared": [0], "_lock": threading.Lock()}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check_pair()

    @property
    def stream(self) -> bytes:
        """The key as SEAL writes it; secret."""
        return self._stream

    def decryptor(self) -> Any:
        """SEAL's decryptor under this key."""
        return load_library().Decryptor(self.public.context.seal, self._seal)

    def count_shared(self, ciphertext_count: int) -> None:
        """Note that so many ciphertexts are opened for sharing. Raises BoundError beyond the set's `shared_count`."""
        allowed = self.public.parameters.shared_count
        with self._lock:
            if self._shared[0] + ciphertext_count > allowed:
                raise BoundError(
                    "this key has opened as many ciphertexts for sharing as its parameters allow",
                    expected=f"at most {allowed}",
                    got=f"{self._shared[0]} before, {ciphertext_count} more",
                    cure="make a new key pair, or parameters with a larger shared_count",
                )
            self._shared[0] += ciphertext_count

    def _check_pair(self) -> None:
        library, context = load_library(), self.public.context
        plain, cipher = library.Plaintext(), library.Ciphertext()
        context.encoder.encode([_PROBE], self.public.parameters.scale, plain)
        self.public.encryptor().encrypt(plain, cipher)
        self.decryptor().decrypt(cipher, plain)
        opened = context.encoder.decode_double(plain)
        limit = _PROBE + 2.0**12 * self.public.parameters.degree / self.public.parameters.scale
        if not all(abs(value) <= limit for value in opened):
            raise KeyRefusedError(
                "a private key does not belong to its public key", expected="the two halves of one pair", got="others"
            )

    def __repr__(self) -> str:
        return f"PrivateKey(CKKS {self.public.parameters.name}, fingerprint {self.public.fingerprint})"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("private keys are not pickled", cure="seal hekat.wire.to_bytes(key) in a message")


class KeyPair(NamedTuple):
    """Both keys of one pair."""

    public: PublicKey
    private: PrivateKey


def generate_keys(parameters: CkksParameters) -> KeyPair:
    """A fresh key pair from the library's randomness, which it takes from the operating system.

    Raises InputError without the library.
    """
    library, context = load_library(), context_of(parameters)
    generator = library.KeyGenerator(context.seal)
    made = library.PublicKey()
    generator.create_public_key(made)
    public = PublicKey(parameters, to_stream(made))
    return KeyPair(public, PrivateKey(public, to_stream(generator.secret_key())))
