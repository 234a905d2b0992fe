"""Keys whose modulus n = p q hides its factors, whatever the scheme: a public half, a private half, their checks."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Final, Generic, NoReturn, TypeVar

from hekat.engine.interface import Modulus
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.immutable_key import ImmutableKey
from hekat.scheme.key_size import check_key_strength, is_unsafe, unsafe_mark

FINGERPRINT_BYTES: Final = 16

Name = TypeVar("Name", bound=Hashable)
Key = TypeVar("Key")
Public = TypeVar("Public", bound="FactoredPublicKey")
Half = TypeVar("Half")


class LiveKeys(Generic[Name, Key]):
    """The keys of one class that are in use: equal keys are one object in a process."""

    def __init__(self) -> None:
        self._keys: weakref.WeakValueDictionary[Name, Key] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def find(self, name: Name) -> Key | None:
        """The key with these numbers, or None where none is in use."""
        return self._keys.get(name)

    def get(self, name: Name, make: Callable[[], Key]) -> Key:
        """The key with these numbers; `make` makes it where none is in use."""
        with self._lock:
            key = self._keys.get(name)
            if key is None:
                key = self._keys[name] = make()
            return key


class FactoredPublicKey(ImmutableKey):
    """The modulus n, and what names the key. A subclass sets `scheme`, `prefix`, `use` and how a key is pickled."""

    __slots__ = ("__weakref__", "fingerprint", "n", "n_modulus")

    scheme: ClassVar[str]
    prefix: ClassVar[str] = ""
    """What stands before the class's name in a `repr`."""
    use: ClassVar[str]

    n: int
    n_modulus: Modulus
    fingerprint: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers that make two keys equal."""
        return (self.n,)

    @property
    def bits(self) -> int:
        """Size of n in bits."""
        return self.n.bit_length()

    @property
    def unsafe(self) -> bool:
        """True for a key below the allowed size, made for benchmarks and tests only."""
        return is_unsafe(self.bits)

    def __eq__(self, other: object) -> bool:
        return self.numbers == other.numbers if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self.numbers))

    def __repr__(self) -> str:
        return f"{self.prefix}{type(self).__name__}({described_size(self)})"

    def _facts(self) -> list[tuple[str, str]]:
        return key_facts(self, self.use)


class FactoredPrivateKey(ImmutableKey, Generic[Public, Half]):
    """The primes p and q with what is precomputed for each; shows, pickles and compares no secrets.

    A subclass sets `use` and `cure`: what the key does, and what to do instead of pickling it.
    """

    __slots__ = ("__weakref__", "_halves", "_p", "_q", "public")

    use: ClassVar[str]
    instead_of_pickling: ClassVar[tuple[str, str]]
    """What is expected, and the cure."""

    public: Public
    _p: int
    _q: int
    _halves: tuple[Half, Half]

    def _fill(self, p: int, q: int, halves: tuple[Half, Half], public: Public) -> None:
        for name, value in {"_p": p, "_q": q, "_halves": halves, "public": public}.items():
            object.__setattr__(self, name, value)

    @property
    def p(self) -> int:
        """The first prime; secret."""
        return self._p

    @property
    def q(self) -> int:
        """The second prime; secret."""
        return self._q

    @property
    def halves(self) -> tuple[Half, Half]:
        """The constants of p and of q; secret."""
        return self._halves

    @property
    def unsafe(self) -> bool:
        """True for a key below the allowed size, made for benchmarks and tests only."""
        return self.public.unsafe

    def __eq__(self, other: object) -> bool:
        # n determines p and q.
        return self.public == other.public if isinstance(other, FactoredPrivateKey) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self.public))

    def __repr__(self) -> str:
        return f"{self.public.prefix}{type(self).__name__}({described_size(self.public)})"

    def _facts(self) -> list[tuple[str, str]]:
        return key_facts(self.public, self.use)

    def __reduce__(self) -> NoReturn:
        expected, cure = self.instead_of_pickling
        raise KeyRefusedError("private keys are not pickled", expected=expected, cure=cure)


def described_size(key: FactoredPublicKey) -> str:
    """Size, fingerprint, and whether the key is too small to protect anything."""
    return f"{key.bits} bits, fingerprint {key.fingerprint}{unsafe_mark(key.bits)}"


def key_facts(key: FactoredPublicKey, use: str) -> list[tuple[str, str]]:
    """What anybody may see of either half of a key pair."""
    return [
        ("scheme", key.scheme),
        ("size", f"{key.bits} bits{unsafe_mark(key.bits)}"),
        ("fingerprint", key.fingerprint),
        ("use", use),
    ]


def fingerprint_of_content(domain: bytes, content: bytes) -> str:
    """The fingerprint that names a key in ledgers and files: 32 hex digits of SHA-256 over its domain and content."""
    return hashlib.sha256(domain + content).digest()[:FINGERPRINT_BYTES].hex()


def unsigned_bytes(n: int) -> bytes:
    """n in its own length, big-endian."""
    return n.to_bytes(-(-n.bit_length() // 8), "big")


def check_same_key(expected: FactoredPublicKey, got: FactoredPublicKey, *, what: str, cure: str) -> None:
    """Raise KeyRefusedError, naming both fingerprints, unless both keys are one; `what` belongs to another key."""
    if expected is not got:
        raise KeyRefusedError(what, expected=f"key {expected.fingerprint}", got=f"key {got.fingerprint}", cure=cure)


def check_strength(key: FactoredPublicKey | FactoredPrivateKey[Any, Any], unsafe_for_benchmark: bool = False) -> None:
    """Raise KeyRefusedError where a key that comes from elsewhere is below the allowed size."""
    public = key.public if isinstance(key, FactoredPrivateKey) else key
    check_key_strength(public.bits, public.fingerprint, unsafe_for_benchmark)


def check_primes(
    p: int,
    q: int,
    *,
    smallest_bits: int,
    largest_bits: int,
    find_flaw: Callable[[], str],
    expected: str,
    cure: str,
) -> None:
    """Raise unless p and q can be the factors of a key of `smallest_bits` to `largest_bits` bits.

    `find_flaw` says what else is wrong with primes of an allowed size, or "". Raises InputError for no integers,
    KeyRefusedError for any flaw; neither names a prime.
    """
    if not all(isinstance(prime, int) and not isinstance(prime, bool) for prime in (p, q)):
        raise InputError(
            "private key refused", expected="p and q as int", got=f"{type(p).__name__} and {type(q).__name__}"
        )
    is_of_size = smallest_bits <= 2 * p.bit_length() <= largest_bits and min(p, q) >= 0
    flaw = find_flaw() if is_of_size else "the primes' size is out of range"
    if flaw:
        raise KeyRefusedError(f"private key refused: {flaw}", expected=expected, got="others", cure=cure)
