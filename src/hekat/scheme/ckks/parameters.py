"""What sets of CKKS parameters are allowed, checked once when they are made.

Symbols in this folder: N degree of the ring; q product of the primes in a ciphertext; p the prime that a product with
a weight drops; P the last prime, in keys alone; a value x is encoded as a polynomial with coefficients near x * scale;
T ciphertexts that may be opened for sharing under one key; s bits of statistical security.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from hekat.errors import InputError, KeyRefusedError, WireCorruptError

# The largest bit length of q P by degree that keeps 128 bits with ternary secrets, classical attacks.
# Source: Homomorphic Encryption Standard (HomomorphicEncryption.org, 2018), Table 1.
MAX_MODULUS_BITS: Final = {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438, 32768: 881}
MIN_PRIME_BITS: Final = 20
MAX_PRIME_BITS: Final = 60
# A weight times p has to be exact in a float64.
MAX_WEIGHT_PRIME_BITS: Final = 53
MAX_SCALE_BITS: Final = 400
MAX_STATISTICAL_BITS: Final = 256
MAX_SHARED_COUNT: Final = 1 << 40


@dataclass(frozen=True)
class CkksParameters:
    """One set: values within `value_bound`, `batch` of them to a ciphertext, encoded at 2^scale_bits.

    `prime_bits`: bits of the primes that stay, then of the prime that a product with weights drops, then of the prime
    that only keys have; a set of two primes has none to drop, and refuses products. Flooding has to reach
    `statistical_bits` for `shared_count` opened ciphertexts. Raises InputError for values out of range, KeyRefusedError
    for a modulus beyond 128 bits of security.
    """

    name: str
    degree: int
    prime_bits: tuple[int, ...]
    scale_bits: int
    batch: int
    value_bound: float
    statistical_bits: int = 128
    shared_count: int = 1 << 20

    def __post_init__(self) -> None:
        _check_int("length of a set's name", len(self.name), 1, 64)
        if self.degree not in MAX_MODULUS_BITS:
            raise InputError(
                "ring degree refused",
                expected=f"one of {', '.join(map(str, MAX_MODULUS_BITS))}",
                got=str(self.degree),
            )
        _check_int("number of primes", len(self.prime_bits), 2, 20)
        for bits in self.prime_bits:
            _check_int("bits of a prime", bits, MIN_PRIME_BITS, MAX_PRIME_BITS)
        if self.depth:
            _check_int(
                "bits of the prime that weights drop", self.prime_bits[-2], MIN_PRIME_BITS, MAX_WEIGHT_PRIME_BITS
            )
        _check_int("bits of the scale", self.scale_bits, 1, MAX_SCALE_BITS)
        _check_int("values in a ciphertext", self.batch, 1, self.degree // 2)
        check_statistical_bits(self.statistical_bits)
        _check_int("ciphertexts opened for sharing", self.shared_count, 1, MAX_SHARED_COUNT)
        if not isinstance(self.value_bound, float) or not 2.0**-30 <= self.value_bound <= 2.0**30:
            raise InputError(
                "bound on values refused", expected="a float from 2^-30 to 2^30", got=repr(self.value_bound)[:40]
            )
        self._check_room()
        self._check_security()

    def _check_room(self) -> None:
        kept_bits = sum(self.prime_bits[:-2]) if self.depth else self.prime_bits[0]
        # Primes lie just below their power of two; half of q on each side of zero.
        if self.value_bound * 2.0**self.scale_bits >= 2.0 ** (kept_bits - 1.01):
            raise InputError(
                f"parameter set {self.name} refused: its modulus does not hold its values",
                expected=f"value_bound * 2^scale_bits below half of a modulus of {kept_bits} bits",
                got=f"a bound of {self.value_bound:g} at {self.scale_bits} bits",
                cure="a smaller scale or bound, or larger primes before the last two",
            )

    def _check_security(self) -> None:
        allowed = MAX_MODULUS_BITS[self.degree]
        if self.modulus_bits > allowed:
            raise KeyRefusedError(
                f"parameter set {self.name} protects too little: less than 128 bits of security",
                expected=f"primes of at most {allowed} bits together at degree {self.degree}",
                got=f"{self.modulus_bits} bits",
                cure="use hekat.scheme.ckks.FLOODED or FEDML_HE, smaller primes, or a larger degree",
            )

    @property
    def depth(self) -> int:
        """How many products with weights a ciphertext allows: 1, or 0 where there is no prime to drop."""
        return 1 if len(self.prime_bits) > 2 else 0

    @property
    def modulus_bits(self) -> int:
        """Most bits of q P: the size that decides security."""
        return sum(self.prime_bits)

    @property
    def scale(self) -> float:
        return 2.0**self.scale_bits

    @property
    def fresh_primes(self) -> int:
        """Primes in a fresh ciphertext."""
        return len(self.prime_bits) - 1

    def chunk_count(self, value_count: int) -> int:
        """Ciphertexts that so many values take."""
        return -(-value_count // self.batch)

    def chunk_bytes(self, prime_count: int) -> int:
        """Bytes of one ciphertext's numbers, eight a number, before the library packs them."""
        return 2 * prime_count * self.degree * 8

    def to_items(self) -> dict[str, Any]:
        """The set as plain items, for wire bytes."""
        return asdict(self) | {"prime_bits": list(self.prime_bits)}

    @classmethod
    def from_items(cls, items: Any) -> CkksParameters:
        """The set in items of `to_items`. Raises WireCorruptError for other items, KeyRefusedError below 128 bits."""
        try:
            parameters = cls(**items | {"prime_bits": tuple(items["prime_bits"])})
        except (TypeError, KeyError, InputError):
            raise WireCorruptError("these are no CKKS parameters", expected="a set as Hekat writes it") from None
        if parameters.to_items() != items or [type(x) for x in items.values()] != list(_ITEM_TYPES):
            raise WireCorruptError("these are no CKKS parameters", expected="a set as Hekat writes it")
        return parameters

    @property
    def identity(self) -> bytes:
        """32 bytes that stand for every value of the set."""
        return hashlib.sha256(json.dumps(self.to_items(), sort_keys=True).encode()).digest()


_ITEM_TYPES: Final = (str, int, list, int, int, float, int, int)


def check_statistical_bits(bits: int) -> None:
    """Raise InputError unless the value is a whole number of bits that flooding can reach."""
    _check_int("bits of statistical security", bits, 1, MAX_STATISTICAL_BITS)


def _check_int(what: str, value: int, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{what} refused", expected=f"{least} to {most}", got=repr(value)[:40])
