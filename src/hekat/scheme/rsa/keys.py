"""Key pairs: a public key that blinds and verifies, a private key that alone signs, and how both are made."""

from __future__ import annotations

import hashlib
import threading
import weakref
from typing import Final, NamedTuple, NoReturn

from hekat.engine.interface import Modulus
from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.foreign_modulus import check_foreign_modulus
from hekat.scheme.immutable_key import ImmutableKey
from hekat.scheme.key_size import DEFAULT_KEY_BITS, check_key_strength, is_unsafe, unsafe_mark
from hekat.scheme.rsa.parameters import (
    DEFAULT_EXPONENT,
    MAX_KEY_BITS,
    MIN_TEST_KEY_BITS,
    check_exponent,
    check_new_key_bits,
)
from hekat.scheme.rsa.prime_half import PrimeHalf
from hekat.scheme.rsa.primes import Progress, find_prime_pair, is_allowed_prime, is_close

FINGERPRINT_BYTES: Final = 16
FINGERPRINT_DOMAIN: Final = b"hekat/rsa/public-key/1:"


class PublicKey(ImmutableKey):
    """The modulus n and the exponent e: blinds, verifies. Immutable; equal keys are one object in a process.

    Raises KeyRefusedError for an n that is even, too small or large, prime, a perfect power, or has a small factor,
    and for an e that is no prime from 65537 to 2^32 - 1. These checks do not prove that n is the product of two
    large primes, nor that x -> x^e is a permutation mod n: for the latter there is `check_permutation`.
    """

    __slots__ = ("__weakref__", "e", "fingerprint", "n", "n_modulus")

    n: int
    e: int
    n_modulus: Modulus
    fingerprint: str

    def __new__(cls, n: int, e: int = DEFAULT_EXPONENT) -> PublicKey:
        check_exponent(e)
        known = _live_keys.get((n, e)) if isinstance(n, int) else None
        if known is not None:
            return known
        check_foreign_modulus(n, MIN_TEST_KEY_BITS, MAX_KEY_BITS)
        return cls._trusted(int(n), int(e))

    @classmethod
    def _trusted(cls, n: int, e: int) -> PublicKey:
        """The key of an n and e that were checked or made here."""
        with _live_keys_lock:
            known = _live_keys.get((n, e))
            if known is not None:
                return known
            key = object.__new__(cls)
            values = {"n": n, "e": e, "n_modulus": Modulus(n), "fingerprint": _fingerprint(n, e)}
            for name, value in values.items():
                object.__setattr__(key, name, value)
            _live_keys[n, e] = key
            return key

    @property
    def bits(self) -> int:
        """Size of n in bits."""
        return self.n.bit_length()

    @property
    def exponent(self) -> LimbArray:
        """The exponent e as limbs, shape (1,)."""
        return limbs_from_ints([self.e], 1).reshape(1)

    @property
    def unsafe(self) -> bool:
        """True for a key below the allowed size, made for benchmarks and tests only."""
        return is_unsafe(self.bits)

    def __eq__(self, other: object) -> bool:
        return (self.n, self.e) == (other.n, other.e) if isinstance(other, PublicKey) else NotImplemented

    def __hash__(self) -> int:
        return hash((PublicKey, self.n, self.e))

    def __repr__(self) -> str:
        return f"rsa.PublicKey({self.bits} bits, fingerprint {self.fingerprint}{unsafe_mark(self.bits)})"

    def _facts(self) -> list[tuple[str, str]]:
        key = self
        return [
            ("scheme", "RSA"),
            ("size", f"{key.bits} bits{unsafe_mark(key.bits)}"),
            ("fingerprint", key.fingerprint),
            ("use", "blinds and verifies"),
        ]

    def __reduce__(self) -> tuple[type[PublicKey], tuple[int, int]]:
        return PublicKey, (self.n, self.e)


class PrivateKey(ImmutableKey):
    """The primes p and q: signs. Immutable; shows, pickles and compares no secrets.

    Raises KeyRefusedError unless p and q are primes of equal size whose product has twice their bits, far from each
    other, and e, as `PublicKey` takes it, divides neither p-1 nor q-1.
    """

    __slots__ = ("_halves", "_p", "_q", "public")

    public: PublicKey
    _p: int
    _q: int
    _halves: tuple[PrimeHalf, PrimeHalf]

    def __init__(self, p: int, q: int, e: int = DEFAULT_EXPONENT) -> None:
        check_exponent(e)
        _check_primes(p, q, e)
        self._fill(int(p), int(q), int(e))

    @classmethod
    def _trusted(cls, p: int, q: int, e: int) -> PrivateKey:
        """The key of primes that were checked or made here; tests make tiny keys through it."""
        key = object.__new__(cls)
        key._fill(p, q, e)
        return key

    def _fill(self, p: int, q: int, e: int) -> None:
        object.__setattr__(self, "_p", p)
        object.__setattr__(self, "_q", q)
        object.__setattr__(self, "_halves", (PrimeHalf(p, q, e), PrimeHalf(q, p, e)))
        object.__setattr__(self, "public", PublicKey._trusted(p * q, e))

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
        return hash((PrivateKey, self.public))

    def __repr__(self) -> str:
        bits, fingerprint = self.public.bits, self.public.fingerprint
        return f"rsa.PrivateKey({bits} bits, fingerprint {fingerprint}{unsafe_mark(bits)})"

    def _facts(self) -> list[tuple[str, str]]:
        key = self.public
        return [
            ("scheme", "RSA"),
            ("size", f"{key.bits} bits{unsafe_mark(key.bits)}"),
            ("fingerprint", key.fingerprint),
            ("use", "signs; its primes are not shown"),
        ]

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError(
            "private keys are not pickled",
            expected="a key that stays where it was made",
            cure="make a fresh key where it is used: hekat.rsa.generate_keys()",
        )


class KeyPair(NamedTuple):
    """A public key and the private key that belongs to it."""

    public: PublicKey
    private: PrivateKey


def generate_keys(
    bits: int = DEFAULT_KEY_BITS, *, progress: Progress | None = None, unsafe_for_benchmark: bool = False
) -> KeyPair:
    """A new key pair with e = 65537 whose n is the product of two primes and has exactly `bits` bits.

    Below 3072 bits one KeySizeWarning. Source: RFC 8017, section 3; FIPS 186-5, appendix A.1.3.

    Args:
        bits: size of n, even.
        progress: called as `progress(candidates_tried, primes_found)` some times a second.
        unsafe_for_benchmark: allows fewer than 2048 bits; the keys then carry `.unsafe`.

    Returns:
        The pair; only `private` signs and decrypts.

    Raises:
        KeyRefusedError: a size that is not allowed.

    Examples:
        >>> keys = rsa.generate_keys(2048)
        >>> keys.public.bits
        2048
    """
    check_new_key_bits(bits, unsafe_for_benchmark)
    p, q = find_prime_pair(bits, DEFAULT_EXPONENT, progress)
    private = PrivateKey._trusted(p, q, DEFAULT_EXPONENT)
    return KeyPair(private.public, private)


def check_same_key(expected: PublicKey, got: PublicKey) -> None:
    """Raise KeyRefusedError naming both fingerprints unless the keys are one."""
    if expected is not got:
        raise KeyRefusedError(
            "values belong to another RSA key",
            expected=f"key {expected.fingerprint}",
            got=f"key {got.fingerprint}",
            cure="use the key they were made with, or make them anew with this one",
        )


def check_public_key(key: object) -> PublicKey:
    """`key` itself. Raises KeyRefusedError for what is no RSA public key."""
    if not isinstance(key, PublicKey):
        raise KeyRefusedError(
            "this is no RSA public key",
            expected="an rsa.PublicKey",
            got=f"a {type(key).__module__}.{type(key).__name__}",
            cure="pass keys.public of hekat.rsa.generate_keys()",
        )
    return key


def check_private_key(key: object) -> PrivateKey:
    """`key` itself. Raises KeyRefusedError for what is no RSA private key."""
    if not isinstance(key, PrivateKey):
        raise KeyRefusedError(
            "this is no RSA private key",
            expected="an rsa.PrivateKey",
            got=f"a {type(key).__module__}.{type(key).__name__}",
            cure="pass keys.private of hekat.rsa.generate_keys()",
        )
    return key


def check_strength(key: PublicKey | PrivateKey, unsafe_for_benchmark: bool = False) -> None:
    """Raise KeyRefusedError for a key below the allowed size, for whoever takes a key from elsewhere."""
    public = key.public if isinstance(key, PrivateKey) else key
    check_key_strength(public.bits, public.fingerprint, unsafe_for_benchmark)


_live_keys: weakref.WeakValueDictionary[tuple[int, int], PublicKey] = weakref.WeakValueDictionary()
_live_keys_lock = threading.Lock()


def encode_public_key(n: int, e: int) -> bytes:
    """n and e as bytes that no other pair has: 8 bytes of e, then n in its own length, both big-endian."""
    return e.to_bytes(8, "big") + n.to_bytes(-(-n.bit_length() // 8), "big")


def _fingerprint(n: int, e: int) -> str:
    return hashlib.sha256(FINGERPRINT_DOMAIN + encode_public_key(n, e)).digest()[:FINGERPRINT_BYTES].hex()


def _check_primes(p: int, q: int, e: int) -> None:
    if not all(isinstance(prime, int) and not isinstance(prime, bool) for prime in (p, q)):
        raise InputError(
            "private key refused", expected="p and q as int", got=f"{type(p).__name__} and {type(q).__name__}"
        )
    bits = p.bit_length()
    flaw = ""
    if not MIN_TEST_KEY_BITS <= 2 * bits <= MAX_KEY_BITS or min(p, q) < 0:
        flaw = "the primes' size is out of range"
    elif q.bit_length() != bits or (p * q).bit_length() != 2 * bits:
        flaw = "the primes differ in size, or n has a bit less than both"
    elif is_close(p, q):
        flaw = "the primes are equal or too close"
    elif not is_allowed_prime(p, e) or not is_allowed_prime(q, e):
        flaw = "a factor is not prime, or e divides it less one"
    if flaw:
        raise KeyRefusedError(
            f"private key refused: {flaw}",
            expected="two different primes of equal size, far apart",
            got="others",
            cure="make keys with hekat.rsa.generate_keys()",
        )
