"""Key pairs: a public key anyone may compute with, a private key that alone decrypts, and how both are made."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from hekat.engine.interface import Modulus
from hekat.plaintext_space import PlaintextSpace
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
from hekat.scheme.paillier.keys.parameters import MAX_KEY_BITS, MIN_TEST_KEY_BITS, check_new_key_bits
from hekat.scheme.paillier.keys.permutation_proof import Roots, check_roots, find_roots
from hekat.scheme.paillier.keys.prime_half import PrimeHalf
from hekat.scheme.paillier.keys.primes import Progress, find_prime_pair, is_key_prime
from hekat.scheme.paillier.keys.randomiser_stock import RandomiserStock
from hekat.scheme.paillier.keys.table_cache import TableCache

FINGERPRINT_DOMAIN: Final = b"hekat/paillier/public-key/1:"


class PublicKey(FactoredPublicKey):
    """The modulus n: it encrypts, and computes on ciphertexts. Immutable; equal keys are one object in a process.

    These checks do not prove that n is the product of two primes as `generate_keys` finds them: only the maker of the
    key knows that.

    Args:
        n: The modulus.
        roots: The maker's proof that x -> x^n permutes the units mod n, from the public half of the private key. There
            is no key without it, so that nobody encrypts or re-randomises under an unproven key.

    Raises:
        KeyRefusedError: n is even, prime, a perfect power, has a small factor or is of a size out of range, or the
            roots do not hold.

    Examples:
        >>> import hekat
        >>> public = hekat.paillier.generate_keys().public
        >>> hekat.paillier.PublicKey(public.n, public.roots) is public
        True
    """

    __slots__ = ("djn_tables", "n_squared", "plaintext_space", "roots", "uniform_stock")

    scheme = "Paillier"
    use = "encrypts and computes, opens nothing"

    n_squared: Modulus
    plaintext_space: PlaintextSpace
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
        return _public_keys.get(n, lambda: cls._made(n, roots))

    @classmethod
    def _made(cls, n: int, roots: Roots) -> PublicKey:
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
        return key

    def __reduce__(self) -> tuple[type[PublicKey], tuple[int, Roots]]:
        return PublicKey, (self.n, self.roots)


class PrivateKey(FactoredPrivateKey[PublicKey, PrimeHalf]):
    """The primes p and q: they decrypt, and encrypt fastest. Immutable; no secret is shown, pickled or compared.

    Keys of the same p and q are one object in a process, and so share their tables.

    Args:
        p: The first prime.
        q: The second prime.

    Raises:
        InputError: p or q is no int.
        KeyRefusedError: p and q are not different primes of equal size with their top two bits set, or a small number
            other than 2 divides p - 1 or q - 1, or any other than 2 both.

    Examples:
        >>> import hekat
        >>> private = hekat.paillier.generate_keys().private
        >>> hekat.paillier.PrivateKey(private.p, private.q) == private
        True
    """

    __slots__ = ()

    use = "opens every ciphertext under its public key; its primes are not shown"
    instead_of_pickling = (
        "a passphrase, a 0600 file or a sealed message",
        "use hekat.wire.keyfile.save_private_key, or hekat.wire.to_bytes inside a sealed message",
    )

    def __new__(cls, p: int, q: int) -> PrivateKey:
        known = _private_keys.find((p, q)) if isinstance(p, int) and isinstance(q, int) else None
        if known is not None:
            return known
        _check_primes(p, q)
        return cls._trusted(int(p), int(q))

    @classmethod
    def _trusted(cls, p: int, q: int) -> PrivateKey:
        """The key of primes that were checked or made here; tests make tiny keys through it."""
        return _private_keys.get((p, q), lambda: cls._made(p, q))

    @classmethod
    def _made(cls, p: int, q: int) -> PrivateKey:
        key = object.__new__(cls)
        halves = PrimeHalf(p, q), PrimeHalf(q, p)
        key._fill(p, q, halves, PublicKey._trusted(p * q, find_roots(halves)))
        return key


class KeyPair(NamedTuple):
    """A public key and the private key that belongs to it.

    Attributes:
        public: The key that encrypts; give it to everybody.
        private: The key that decrypts; it stays with its owner.

    Examples:
        >>> import hekat
        >>> public, private = hekat.paillier.generate_keys()
        >>> private.public is public
        True
    """

    public: PublicKey
    private: PrivateKey


def generate_keys(
    bits: int = DEFAULT_KEY_BITS, *, progress: Progress | None = None, unsafe_for_benchmark: bool = False
) -> KeyPair:
    """A new key pair whose n is the product of two primes and has exactly `bits` bits.

    Args:
        bits: Size of n in bits, even. 3072 bits give 128-bit security and take about a second to make.
        progress: Called as `progress(candidates_tried, primes_found)` some times a second.
        unsafe_for_benchmark: Allow sizes below 2048 bits, which protect nothing; such keys carry `.unsafe`.

    Returns:
        The public key and the private key.

    Raises:
        InputError: `bits` is no int.
        KeyRefusedError: The size is not allowed.

    Warns:
        KeySizeWarning: The key has fewer than 3072 bits.

    Source: Paillier 1999. The primes meet the conditions of Damgard-Jurik-Nielsen 2010, section 4: both are 3 mod 4 and
    gcd(p - 1, q - 1) = 2. Besides, (p - 1) / 2 and (q - 1) / 2 are products of large primes.

    Examples:
        >>> import hekat
        >>> keys = hekat.paillier.generate_keys()
        >>> keys.public.bits
        3072
        >>> hekat.array([1, 2], key=keys.public).decrypt(keys.private).tolist()
        [1, 2]
    """
    check_new_key_bits(bits, unsafe_for_benchmark)
    p, q = find_prime_pair(bits, progress)
    private = PrivateKey._trusted(p, q)
    return KeyPair(private.public, private)


def check_same_key(expected: PublicKey, got: PublicKey) -> None:
    """Raise KeyRefusedError naming both fingerprints unless the keys are one."""
    factored_key.check_same_key(
        expected,
        got,
        what="ciphertexts are under another key",
        cure="use the key they were encrypted under, or encrypt anew under this one",
    )


def fingerprint_of(n: int) -> str:
    """The name of n's key in ledgers and files: 32 hex digits."""
    return fingerprint_of_content(FINGERPRINT_DOMAIN, unsigned_bytes(n))


_public_keys: LiveKeys[int, PublicKey] = LiveKeys()
_private_keys: LiveKeys[tuple[int, int], PrivateKey] = LiveKeys()


def _check_primes(p: int, q: int) -> None:
    def find_flaw() -> str:
        bits = p.bit_length()
        if q.bit_length() != bits or p >> (bits - 2) != 3 or q >> (bits - 2) != 3:
            return "the primes differ in size, or their top two bits are not set"
        if p == q:
            return "the primes are equal"
        if not (is_key_prime(p) and is_key_prime(q)):
            return "a factor is no prime, or a small number other than 2 divides it less 1"
        return "" if math.gcd(p - 1, q - 1) == 2 else "p - 1 and q - 1 share a factor other than 2"

    check_primes(
        p,
        q,
        smallest_bits=MIN_TEST_KEY_BITS,
        largest_bits=MAX_KEY_BITS,
        find_flaw=find_flaw,
        expected="two different primes of equal size, each of them twice large primes plus 1",
        cure="make keys with hekat.paillier.generate_keys()",
    )
