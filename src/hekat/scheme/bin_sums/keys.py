"""Key pairs: a secret for each component, and the public pair that hosts re-randomise sums with."""

from __future__ import annotations

import hashlib
import os
from typing import Final, NamedTuple, NoReturn

import numpy as np

from hekat.engine.ring.checks import check_elements
from hekat.engine.ring.interface import CHACHA20_KEY_BYTES, RingArray, RingEngine
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bin_sums.noise import max_squared_norm
from hekat.scheme.bin_sums.parameters import BINS, BinSumParameters
from hekat.scheme.immutable_key import ImmutableKey
from hekat.scheme.ring_elements import residues_of_small

SEED_BYTES: Final = CHACHA20_KEY_BYTES
FINGERPRINT_BYTES: Final = 16
FINGERPRINT_DOMAIN: Final = b"hekat/bin-sums/public-key/1:"
PAIR_DOMAIN: Final = b"hekat/bin-sums/a-of-key/1:"
MAX_COMPONENTS: Final = 512


class PublicKey(ImmutableKey):
    """a, and b_c = e_c - a s_c for every component c, all transformed; a is expanded from 32 public bytes. Immutable.

    Encrypts nothing: it makes encryptions of zero, which hosts add to sums. Raises InputError for a malformed seed or
    elements.
    """

    __slots__ = ("a", "b", "fingerprint", "parameters", "seed")

    parameters: BinSumParameters
    seed: bytes
    a: RingArray
    b: RingArray
    fingerprint: str

    def __init__(self, parameters: BinSumParameters, seed: bytes, b: RingArray) -> None:
        if not isinstance(seed, bytes) or len(seed) != SEED_BYTES:
            raise InputError("seed of a public key refused", expected=f"{SEED_BYTES} bytes", got="others")
        shape = check_elements(parameters.ring, b, "a public key")
        if len(shape) != 1 or not 1 <= shape[0] <= MAX_COMPONENTS:
            raise InputError("a public key has the wrong layout", expected="one element a component", got="others")
        kept, a = np.array(b), expand(parameters, PAIR_DOMAIN, seed, 1)[0]
        for x in (kept, a):
            x.flags.writeable = False
        digest = hashlib.sha256(FINGERPRINT_DOMAIN + parameters.identity + seed + kept.astype("<u8").tobytes())
        values = {
            "parameters": parameters,
            "seed": seed,
            "a": a,
            "b": kept,
            "fingerprint": digest.hexdigest()[: 2 * FINGERPRINT_BYTES],
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def components(self) -> int:
        """C."""
        return len(self.b)

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, PublicKey) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"PublicKey(bin sums {self.parameters.name}, {self.components}, fingerprint {self.fingerprint})"

    def __reduce__(self) -> tuple[type[PublicKey], tuple[BinSumParameters, bytes, RingArray]]:
        return PublicKey, (self.parameters, self.seed, self.b)


class PrivateKey(ImmutableKey):
    """s_c of every component, transformed: encrypts rows and opens sums. Made by `generate_keys`, never written."""

    __slots__ = ("_secrets", "public")

    public: PublicKey
    _secrets: RingArray

    def __init__(self, public: PublicKey, secrets: RingArray) -> None:
        object.__setattr__(self, "public", public)
        object.__setattr__(self, "_secrets", secrets)

    @property
    def secrets(self) -> RingArray:
        """s_c, transformed, (C, primes, N); secret."""
        return self._secrets

    def __repr__(self) -> str:
        return f"PrivateKey(bin sums {self.public.parameters.name}, fingerprint {self.public.fingerprint})"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("private keys are not pickled", cure="make a key pair where it is used")


class KeyPair(NamedTuple):
    """Both keys of one pair."""

    public: PublicKey
    private: PrivateKey


def generate_keys(components: int, parameters: BinSumParameters = BINS, engine: RingEngine | None = None) -> KeyPair:
    """A fresh key pair from the operating system's randomness; take one for each tree.

    Raises InputError for fewer than 1 or more than 512 components.
    """
    if not 1 <= components <= MAX_COMPONENTS:
        raise InputError("components refused", expected=f"1 to {MAX_COMPONENTS}", got=str(components))
    engine, ring = engine or get_engine(), parameters.ring
    seed = os.urandom(SEED_BYTES)
    small = _draw_short(2 * components, parameters.degree, engine)
    transformed = engine.ring_ntt(ring, residues_of_small(ring, small))
    secrets, errors = transformed[:components], transformed[components:]
    a = expand(parameters, PAIR_DOMAIN, seed, 1, engine)
    public = PublicKey(parameters, seed, engine.ring_sub(ring, errors, engine.ring_mul(ring, a, secrets)))
    return KeyPair(public, PrivateKey(public, secrets))


def expand(
    parameters: BinSumParameters, domain: bytes, seed: bytes, count: int, engine: RingEngine | None = None
) -> RingArray:
    """`count` uniform elements, transformed, of a public seed: its maker picks among hashes, not among elements."""
    key = hashlib.sha256(domain + parameters.identity + seed).digest()
    return (engine or get_engine()).expand_uniform(parameters.ring, key, 0, count)


def _draw_short(count: int, degree: int, engine: RingEngine) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    """Polynomials (count, N) of CBD(21), all drawn again unless each keeps the norm that bounds of noise count on."""
    while True:
        small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, count, degree)
        if int(np.square(small, dtype=np.int64).sum(axis=1).max()) <= max_squared_norm(degree):
            return small
