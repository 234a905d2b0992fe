"""Key pairs: a public key anyone may compute with, a private key that alone decrypts, and how both are made."""

from __future__ import annotations

import hashlib
import threading
import weakref
from typing import Any, Final, NamedTuple, NoReturn

from hekat.engine.interface import Modulus
from hekat.errors import InputError, KeyRefusedError
from hekat.plaintext_space import PlaintextSpace
from hekat.scheme.foreign_modulus import check_foreign_modulus
from hekat.scheme.immutable_key import ImmutableKey
from hekat.scheme.key_size import DEFAULT_KEY_BITS, check_key_strength, is_unsafe, unsafe_mark
from hekat.scheme.paillier.keys.parameters import MAX_KEY_BITS, MIN_TEST_KEY_BITS, check_new_key_bits
from hekat.scheme.paillier.keys.permutation_proof import Roots, check_roots, find_roots
from hekat.scheme.paillier.keys.prime_half import PrimeHalf
from hekat.scheme.paillier.keys.primes import Progress, find_safe_prime_pair, is_safe_prime
from hekat.scheme.paillier.keys.randomiser_stock import RandomiserStock
from hekat.scheme.paillier.keys.table_cache import TableCache

FINGERPRINT_BYTES: Final = 16
FINGERPRINT_DOMAIN: Final = b"hekat/paillier/public-key/1:"


class PublicKey(ImmutableKey):
    """The modulus n: encrypts, and computes on ciphertexts. Immutable; equal keys are one object in a process.

    `roots`: the proof of the key's maker that x -> x^n permutes the units mod n; the public half of a private key has
    them. There is no key without them, so that nothing is encrypted or re-randomised under an unproven one.
    Raises KeyRefusedError for an n that is even, too small or large, prime, a perfect power, or has a small factor, and
    for roots that do not hold. That does not prove that n is the product of two safe primes: only its maker knows.
    """

    __slots__ = (
        "__weakref__",
        "djn_tables",
        "fingerprint",
        "n",
        "n_modulus",
        "n_squared",
        "plaintext_space",
        "roots",
        "uniform_stock",
    )

    n: int
    n_modulus: Modulus
    n_squared: Modulus
    plaintext_space: PlaintextSpace
    fingerprint: str
    djn_tables: TableCache
    roots: Roots
    uniform_stock: RandomiserStock

    def __new__(cls, n: int, roots: Roots) -> PublicKey:
        check_foreign_modulus(n, MIN_TEST_KEY_BITS, MAX_KEY_BITS)
        check_roots(int(n), roots, fingerprint_of(int(n)))
        return cls._trusted(int(n), roots)

    @classmethod
    def _trusted(cls, n: int, roots: Roots) -> PublicKey:
        """The key of an n that was checked or made here."""
        with _live_keys_lock:
            known = _live_keys.get(n)
            if known is not None:
                return known
            key = object.__new__(cls)
            values: dict[str, Any] = {
                "n": n,
                "n_modulus": Modulus(n),
                "n_squared": Modulus(n * n, root=n),
                "plaintext_space": PlaintextSpace((n - 1) // 2),
                "fingerprint": fingerprint_of(n),
                "djn_tables": TableCache(),
                "roots": roots,
                "uniform_stock": RandomiserStock(),
            }
            for name, value in values.items():
                object.__setattr__(key, name, value)
            _live_keys[n] = key
            return key

    @property
    def bits(self) -> int:
        """Size of n in bits."""
        return self.n.bit_length()

    @property
    def unsafe(self) -> bool:
        """True for a key below the allowed size, made for benchmarks and tests only."""
        return is_unsafe(self.bits)

    def __eq__(self, other: object) -> bool:
        return self.n == other.n if isinstance(other, PublicKey) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.n)

    def __repr__(self) -> str:
        return f"PublicKey({self.bits} bits, fingerprint {self.fingerprint}{unsafe_mark(self.bits)})"

    def _facts(self) -> list[tuple[str, str]]:
        key = self
        return [
            ("scheme", "Paillier"),
            ("size", f"{key.bits} bits{unsafe_mark(key.bits)}"),
            ("fingerprint", key.fingerprint),
            ("use", "encrypts and computes, opens nothing"),
        ]

    def __reduce__(self) -> tuple[type[PublicKey], tuple[int, Roots]]:
        return PublicKey, (self.n, self.roots)


class PrivateKey(ImmutableKey):
    """The safe primes p and q: decrypts, and encrypts fastest. Immutable; shows, pickles and compares no secrets.

    Keys of the same p and q are one object in a process, and so share their tables.
    Raises KeyRefusedError unless p and q are different safe primes of equal size with their top two bits set.
    """

    __slots__ = ("__weakref__", "_halves", "_p", "_q", "public")

    public: PublicKey
    _p: int
    _q: int
    _halves: tuple[PrimeHalf, PrimeHalf]

    def __new__(cls, p: int, q: int) -> PrivateKey:
        known = _live_private_keys.get((p, q)) if isinstance(p, int) and isinstance(q, int) else None
        if known is not None:
            return known
        _check_primes(p, q)
        return cls._trusted(int(p), int(q))

    @classmethod
    def _trusted(cls, p: int, q: int) -> PrivateKey:
        """The key of primes that were checked or made here; tests make tiny keys through it."""
        with _live_private_keys_lock:
            known = _live_private_keys.get((p, q))
            if known is not None:
                return known
            key = object.__new__(cls)
            halves = PrimeHalf(p, q), PrimeHalf(q, p)
            object.__setattr__(key, "_p", p)
            object.__setattr__(key, "_q", q)
            object.__setattr__(key, "_halves", halves)
            object.__setattr__(key, "public", PublicKey._trusted(p * q, find_roots(halves)))
            _live_private_keys[p, q] = key
            return key

    @property
    def p(self) -> int:
        """The first prime; secret."""
        return self._p

    @property
    def q(self) -> int:
        """The second prime; secret."""
        return self._q

    @property
    def halves(self) -> tuple[PrimeHalf, PrimeHalf]:
        """The constants of p and of q; secret."""
        return self._halves

    @property
    def unsafe(self) -> bool:
        """True for a key below the allowed size, made for benchmarks and tests only."""
        return self.public.unsafe

    def __eq__(self, other: object) -> bool:
        # n determines p and q.
        return self.public == other.public if isinstance(other, PrivateKey) else NotImplemented

    def __hash__(self) -> int:
        return hash((PrivateKey, self.public.n))

    def __repr__(self) -> str:
        bits, fingerprint = self.public.bits, self.public.fingerprint
        return f"PrivateKey({bits} bits, fingerprint {fingerprint}{unsafe_mark(bits)})"

    def _facts(self) -> list[tuple[str, str]]:
        key = self.public
        return [
            ("scheme", "Paillier"),
            ("size", f"{key.bits} bits{unsafe_mark(key.bits)}"),
            ("fingerprint", key.fingerprint),
            ("use", "opens every ciphertext under its public key; its primes are not shown"),
        ]

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError(
            "private keys are not pickled",
            expected="a passphrase, a 0600 file or a sealed message",
            cure="use hekat.wire.keyfile.save_private_key, or hekat.wire.to_bytes inside a sealed message",
        )


class KeyPair(NamedTuple):
    """A public key and the private key that belongs to it."""

    public: PublicKey
    private: PrivateKey


def generate_keys(
    bits: int = DEFAULT_KEY_BITS, *, progress: Progress | None = None, unsafe_for_benchmark: bool = False
) -> KeyPair:
    """A new key pair whose n is the product of two safe primes and has exactly `bits` bits.

    3072 bits take a few seconds. Below 3072 bits one KeySizeWarning. Source: Paillier 1999; safe primes meet the
    conditions of Damgard-Jurik-Nielsen 2010, section 4.

    Args:
        bits: size of n, even.
        progress: called as `progress(candidates_tried, primes_found)` some times a second.
        unsafe_for_benchmark: allows fewer than 2048 bits; the keys then carry `.unsafe`.

    Returns:
        The pair; only `private` decrypts.

    Raises:
        KeyRefusedError: a size that is not allowed.

    Examples:
        >>> keys = hekat.paillier.generate_keys(2048)
        >>> keys.public.bits
        2048
    """
    check_new_key_bits(bits, unsafe_for_benchmark)
    p, q = find_safe_prime_pair(bits, progress)
    private = PrivateKey._trusted(p, q)
    return KeyPair(private.public, private)


def check_same_key(expected: PublicKey, got: PublicKey) -> None:
    """Raise KeyRefusedError naming both fingerprints unless the keys are one."""
    if expected is not got:
        raise KeyRefusedError(
            "ciphertexts are under another key",
            expected=f"key {expected.fingerprint}",
            got=f"key {got.fingerprint}",
            cure="use the key they were encrypted under, or encrypt anew under this one",
        )


def check_strength(key: PublicKey | PrivateKey, unsafe_for_benchmark: bool = False) -> None:
    """Raise KeyRefusedError for a key below the allowed size, for whoever takes a key from elsewhere."""
    public = key.public if isinstance(key, PrivateKey) else key
    check_key_strength(public.bits, public.fingerprint, unsafe_for_benchmark)


def fingerprint_of(n: int) -> str:
    """What names the key of n in ledgers and files: 32 hex digits."""
    content = FINGERPRINT_DOMAIN + n.to_bytes(-(-n.bit_length() // 8), "big")
    return hashlib.sha256(content).digest()[:FINGERPRINT_BYTES].hex()


_live_keys: weakref.WeakValueDictionary[int, PublicKey] = weakref.WeakValueDictionary()
_live_keys_lock = threading.Lock()
_live_private_keys: weakref.WeakValueDictionary[tuple[int, int], PrivateKey] = weakref.WeakValueDictionary()
_live_private_keys_lock = threading.Lock()


def _check_primes(p: int, q: int) -> None:
    if not all(isinstance(prime, int) and not isinstance(prime, bool) for prime in (p, q)):
        raise InputError(
            "private key refused", expected="p and q as int", got=f"{type(p).__name__} and {type(q).__name__}"
        )
    bits = p.bit_length()
    flaw = ""
    if not MIN_TEST_KEY_BITS <= 2 * bits <= MAX_KEY_BITS or min(p, q) < 0:
        flaw = "the primes' size is out of range"
    elif q.bit_length() != bits or p >> (bits - 2) != 3 or q >> (bits - 2) != 3:
        flaw = "the primes differ in size, or their top two bits are not set"
    elif p == q:
        flaw = "the primes are equal"
    elif not is_safe_prime(p) or not is_safe_prime(q):
        flaw = "a factor is not a safe prime"
    if flaw:
        raise KeyRefusedError(
            f"private key refused: {flaw}",
            expected="two different safe primes of equal size",
            got="others",
            cure="make keys with hekat.paillier.generate_keys()",
        )
