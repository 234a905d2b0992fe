"""The Paillier operations that are measured, in one engine, each as a call without arguments on data made before."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import IndexArray
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_from_ints
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import (
    Ciphertexts,
    PrivateKey,
    add,
    add_plain,
    decrypt,
    encrypt,
    matmul_plain,
    multiply_plain,
    rerandomise,
    segment_sum,
    sum_along,
)

WEIGHT_BITS = 23
BINS = 32
SEED = 20261121


@dataclass(frozen=True)
class Sizes:
    """Items of each call."""

    encrypt: int = 4096
    standard: int = 64
    decrypt: int = 256
    add: int = 16384
    scalar: int = 512
    terms: int = 1000
    results: int = 50
    segment: int = 1_000_000
    features: int = 20


QUICK = Sizes(
    encrypt=64, standard=16, decrypt=32, add=1024, scalar=64, terms=200, results=10, segment=100_000, features=3
)


def random_plain(key: PrivateKey, count: int) -> tuple[PackedPlaintext, list[int]]:
    """Uniform plaintexts of the whole space, packed and as integers."""
    bound = key.public.plaintext_space.bound
    values = [secrets.randbelow(2 * bound + 1) - bound for _ in range(count)]
    limb_count = key.public.n_modulus.limb_count
    wrapped = [value % (1 << LIMB_BITS * limb_count) for value in values]
    return PackedPlaintext(limbs_from_ints(wrapped, limb_count), bound), values


def random_weights(count: int, sign: int) -> list[int]:
    """Numbers of exactly 64 bits for sign 1, negative ones of exactly 63 bits for -1: both fit 64-bit integers."""
    top = 63 if sign > 0 else 62
    return [sign * (secrets.randbits(top) | 1 << top) for _ in range(count)]


class Operations:
    """`ciphertexts`: canonical limbs (at least sizes.add, limbs of n^2) to compute on."""

    def __init__(self, key: PrivateKey, engine: CpuEngine, sizes: Sizes, ciphertexts: LimbArray) -> None:
        self.key, self.engine, self.sizes = key, engine, sizes
        self.x = Ciphertexts.from_limbs(key.public, ciphertexts, engine)
        self.y = self.x[::-1]
        self.plain, self.values = random_plain(key, sizes.encrypt)
        self.few = PackedPlaintext(self.plain.limbs[: sizes.standard], self.plain.bound)
        self.weights = {sign: random_weights(sizes.scalar, sign) for sign in (1, -1)}
        rng = np.random.default_rng(SEED)
        limit = 1 << WEIGHT_BITS
        self.matrix = rng.integers(1 - limit, limit, (sizes.results, sizes.terms))
        self._rng = rng

    def encrypt(self, variant: str) -> Ciphertexts:
        key = self.key if variant == "crt" else self.key.public
        plain = self.few if variant == "standard" else self.plain
        return encrypt(key, plain, variant=variant, engine=self.engine)

    def decrypt(self) -> PackedPlaintext:
        return decrypt(self.key, self.x_to_open)

    def add(self) -> Ciphertexts:
        return add(self.x, self.y)

    def add_plain(self) -> Ciphertexts:
        return add_plain(self.as_many_as_plain, self.plain)

    def multiply(self, sign: int) -> Ciphertexts:
        scalars = np.array(self.weights[sign], np.uint64 if sign > 0 else np.int64)
        return multiply_plain(self.some, scalars)

    def sum(self) -> Ciphertexts:
        return sum_along(self.x, 0)

    def rerandomise(self) -> Ciphertexts:
        return rerandomise(self.some)

    def matmul(self) -> Ciphertexts:
        return matmul_plain(self.matrix, self.matmul_terms)

    def segment_sum(self, count: int | None = None) -> Ciphertexts:
        """The next feature's histogram of the first `count` of the many ciphertexts, of all if None."""
        bins = next(self.features)
        if count is None:
            return segment_sum(self.many, bins, BINS)
        return segment_sum(self.many[:count], bins[:count], BINS)

    @cached_property
    def x_to_open(self) -> Ciphertexts:
        return self.x[: self.sizes.decrypt]

    @cached_property
    def as_many_as_plain(self) -> Ciphertexts:
        return self.x[: self.sizes.encrypt]

    @cached_property
    def some(self) -> Ciphertexts:
        return self.x[: self.sizes.scalar]

    @cached_property
    def matmul_terms(self) -> Ciphertexts:
        return self.x[: self.sizes.terms]

    @cached_property
    def places(self) -> IndexArray:
        """Which ciphertext of x each of the many is: true encryptions, used again and again."""
        return self._rng.integers(0, self.x.size, self.sizes.segment)

    @cached_property
    def many(self) -> Ciphertexts:
        return self.x.take(self.places)

    @cached_property
    def bins(self) -> list[IndexArray]:
        """The bin of every one of the many, for each feature."""
        return [self._rng.integers(0, BINS, self.sizes.segment) for _ in range(self.sizes.features)]

    @cached_property
    def features(self) -> itertools.cycle[IndexArray]:
        return itertools.cycle(self.bins)

    def shared(self) -> dict[str, Callable[[], object]]:
        """What a second thread should help with."""
        return {
            "encrypt djn": lambda: self.encrypt("djn"),
            "encrypt crt": lambda: self.encrypt("crt"),
            "decrypt": self.decrypt,
            "add": self.add,
            "sum": self.sum,
            "plain @ cipher": self.matmul,
            "segment product": self.segment_sum,
        }
