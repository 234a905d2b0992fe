"""Key pairs: a public key that blinds and verifies, a private key that alone signs, and how both are made."""

from __future__ import annotations

from typing import Final, NamedTuple

from hekat.engine.interface import Modulus
from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.errors import KeyRefusedError
from hekat.scheme import factored_key
from hekat.scheme.factored_key import (
    FactoredPrivateKey,
    FactoredPublicKey,
    LiveKeys,
    check_primes,
    fingerprint_of_content,
    unsigned_bytes,
)
from hekat.scheme.foreign_modulus import check_foreign_modulus
from hekat.scheme.key_size import DEFAULT_KEY_BITS
from hekat.scheme.rsa.parameters import (
    DEFAULT_EXPONENT,
    MAX_KEY_BITS,
    MIN_TEST_KEY_BITS,
    check_exponent,
    check_new_key_bits,
)
from hekat.scheme.rsa.prime_half import PrimeHalf
from hekat.scheme.rsa.primes import Progress, find_prime_pair, is_allowed_prime, is_close

FINGERPRINT_DOMAIN: Final = b"hekat/rsa/public-key/1:"


class PublicKey(FactoredPublicKey):
    """The modulus n and the exponent e: they blind and verify. Immutable; equal keys are one object in a process.

    These checks do not prove that n is the product of two large primes, nor that x -> x^e is a permutation mod n: for
    the latter there is `check_permutation`.

    Args:
        n: The modulus.
        e: The public exponent, a prime from 65537 to 2^32 - 1.

    Raises:
        InputError: n or e is no int.
        KeyRefusedError: n is even, prime, a perfect power, has a small factor or is of a size out of range, or e is no
            such prime.

    Examples:
        >>> import hekat
        >>> public = hekat.rsa.generate_keys().public
        >>> hekat.rsa.PublicKey(public.n, public.e) is public
        True
    """

    __slots__ = ("e",)

    scheme = "RSA"
    prefix = "rsa."
    use = "blinds and verifies"

    e: int

    def __new__(cls, n: int, e: int = DEFAULT_EXPONENT) -> PublicKey:
        check_exponent(e)
        known = _public_keys.find((n, e)) if isinstance(n, int) else None
        if known is not None:
            return known
        check_foreign_modulus(n, MIN_TEST_KEY_BITS, MAX_KEY_BITS)
        return cls._trusted(int(n), int(e))

    @classmethod
    def _trusted(cls, n: int, e: int) -> PublicKey:
        """The key of an n and e that were checked or made here."""
        return _public_keys.get((n, e), lambda: cls._made(n, e))

    @classmethod
    def _made(cls, n: int, e: int) -> PublicKey:
        key = object.__new__(cls)
        values = {"n": n, "e": e, "n_modulus": Modulus(n), "fingerprint": _fingerprint(n, e)}
        for name, value in values.items():
            object.__setattr__(key, name, value)
        return key

    @property
    def numbers(self) -> tuple[int, ...]:
        """n and e."""
        return self.n, self.e

    @property
    def exponent(self) -> LimbArray:
        """The exponent e as limbs, shape (1,)."""
        return limbs_from_ints([self.e], 1).reshape(1)

    def __reduce__(self) -> tuple[type[PublicKey], tuple[int, int]]:
        return PublicKey, (self.n, self.e)


class PrivateKey(FactoredPrivateKey[PublicKey, PrimeHalf]):
    """The primes p and q: they sign. Immutable; no secret is shown, pickled or compared.

    Args:
        p: The first prime.
        q: The second prime, of the same size and far from p.
        e: The public exponent, as `PublicKey` takes it; it divides neither p-1 nor q-1.

    Raises:
        InputError: p, q or e is no int.
        KeyRefusedError: p and q are not two such primes, or their product has one bit less than the sum of their sizes.

    Examples:
        >>> import hekat
        >>> private = hekat.rsa.generate_keys().private
        >>> hekat.rsa.PrivateKey(private.p, private.q) == private
        True
    """

    __slots__ = ()

    use = "signs; its primes are not shown"
    instead_of_pickling = (
        "a key that stays where it was made",
        "make a fresh key where it is used: hekat.rsa.generate_keys()",
    )

    def __new__(cls, p: int, q: int, e: int = DEFAULT_EXPONENT) -> PrivateKey:
        check_exponent(e)
        _check_primes(p, q, e)
        return cls._trusted(int(p), int(q), int(e))

    @classmethod
    def _trusted(cls, p: int, q: int, e: int) -> PrivateKey:
        """The key of primes that were checked or made here; tests make tiny keys through it."""
        key = object.__new__(cls)
        key._fill(p, q, (PrimeHalf(p, q, e), PrimeHalf(q, p, e)), PublicKey._trusted(p * q, e))
        return key


class KeyPair(NamedTuple):
    """A public key and the private key that belongs to it.

    Attributes:
        public: The key that blinds and verifies; give it to everybody.
        private: The key that signs; it stays with its owner.

    Examples:
        >>> import hekat
        >>> public, private = hekat.rsa.generate_keys()
        >>> private.public is public
        True
    """

    public: PublicKey
    private: PrivateKey


def generate_keys(
    bits: int = DEFAULT_KEY_BITS, *, progress: Progress | None = None, unsafe_for_benchmark: bool = False
) -> KeyPair:
    """A new key pair with e = 65537 whose n is the product of two primes and has exactly `bits` bits.

    Args:
        bits: Size of n in bits, even. 3072 bits give 128-bit security.
        progress: Called as `progress(candidates_tried, primes_found)` some times a second.
        unsafe_for_benchmark: Allow sizes below 2048 bits, which protect nothing; such keys carry `.unsafe`.

    Returns:
        The public key and the private key.

    Raises:
        InputError: `bits` is no int.
        KeyRefusedError: The size is not allowed.

    Warns:
        KeySizeWarning: The key has fewer than 3072 bits.

    Source: RFC 8017, section 3; FIPS 186-5, appendix A.1.3.

    Examples:
        >>> import hekat
        >>> keys = hekat.rsa.generate_keys()
        >>> keys.public.bits, keys.public.e
        (3072, 65537)
    """
    check_new_key_bits(bits, unsafe_for_benchmark)
    p, q = find_prime_pair(bits, DEFAULT_EXPONENT, progress)
    private = PrivateKey._trusted(p, q, DEFAULT_EXPONENT)
    return KeyPair(private.public, private)


def check_same_key(expected: PublicKey, got: PublicKey) -> None:
    """Raise KeyRefusedError naming both fingerprints unless the keys are one."""
    factored_key.check_same_key(
        expected,
        got,
        what="values belong to another RSA key",
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


def encode_public_key(n: int, e: int) -> bytes:
    """n and e as bytes, different for every pair: 8 bytes of e, then n in its own length, both big-endian."""
    return e.to_bytes(8, "big") + unsigned_bytes(n)


_public_keys: LiveKeys[tuple[int, int], PublicKey] = LiveKeys()


def _fingerprint(n: int, e: int) -> str:
    return fingerprint_of_content(FINGERPRINT_DOMAIN, encode_public_key(n, e))


def _check_primes(p: int, q: int, e: int) -> None:
    def find_flaw() -> str:
        bits = p.bit_length()
        if q.bit_length() != bits or (p * q).bit_length() != 2 * bits:
            return "the primes differ in size, or n has a bit less than both"
        if is_close(p, q):
            return "the primes are equal or too close"
        is_allowed = is_allowed_prime(p, e) and is_allowed_prime(q, e)
        return "" if is_allowed else "a factor is not prime, or e divides it less one"

    check_primes(
        p,
        q,
        smallest_bits=MIN_TEST_KEY_BITS,
        largest_bits=MAX_KEY_BITS,
        find_flaw=find_flaw,
        expected="two different primes of equal size, far apart",
        cure="make keys with hekat.rsa.generate_keys()",
    )
