"""Key pairs: a public key that encrypts, a private key that opens."""

from __future__ import annotations

import hashlib
import os
from typing import Final, NamedTuple, NoReturn

import numpy as np

from hekat.engine.ring.checks import check_elements
from hekat.engine.ring.interface import CHACHA20_KEY_BYTES, RingEngine
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv.elements import (
    Elements,
    add_elements,
    multiply_slots,
    residues_of_small,
    scale_elements,
    transform,
)
from hekat.scheme.bfv.parameters import PRODUCTS, BfvParameters
from hekat.scheme.immutable_key import ImmutableKey

SEED_BYTES: Final = CHACHA20_KEY_BYTES
FINGERPRINT_BYTES: Final = 16
FINGERPRINT_DOMAIN: Final = b"hekat/bfv/public-key/1:"


class PublicKey(ImmutableKey):
    """(b, a) with b = e - a s, both transformed; a is expanded from 32 public bytes. Immutable.

    Users trust the key's maker: a dishonest maker can make a key that looks like any other and hides nothing from it.
    Raises InputError for a malformed seed or element.
    """

    __slots__ = ("a", "b", "fingerprint", "parameters", "seed")

    parameters: BfvParameters
    seed: bytes
    a: Elements
    b: Elements
    fingerprint: str

    def __init__(self, parameters: BfvParameters, seed: bytes, b: Elements) -> None:
        if not isinstance(seed, bytes) or len(seed) != SEED_BYTES:
            raise InputError("seed of a public key refused", expected=f"{SEED_BYTES} bytes", got="others")
        kept = tuple(np.array(x) for x in b)
        for part, x in zip(parameters.parts, kept, strict=True):
            if check_elements(part, x, "a public key") != ():
                raise InputError("a public key has the wrong layout", expected="one element", got="several")
        a = expand(parameters, seed)
        for x in (*kept, *a):
            x.flags.writeable = False
        digest = hashlib.sha256(FINGERPRINT_DOMAIN + parameters.identity + seed)
        for x in kept:
            digest.update(x.astype("<u8").tobytes())
        values = {
            "parameters": parameters,
            "seed": seed,
            "a": a,
            "b": kept,
            "fingerprint": digest.hexdigest()[: 2 * FINGERPRINT_BYTES],
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, PublicKey) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"PublicKey(BFV {self.parameters.name}, fingerprint {self.fingerprint})"

    def __reduce__(self) -> tuple[type[PublicKey], tuple[BfvParameters, bytes, Elements]]:
        return PublicKey, (self.parameters, self.seed, self.b)


class PrivateKey(ImmutableKey):
    """s, transformed: opens everything under its public key. Made by `generate_keys`, never written anywhere."""

    __slots__ = ("_secret", "public")

    public: PublicKey
    _secret: Elements

    def __init__(self, public: PublicKey, secret: Elements) -> None:
        object.__setattr__(self, "public", public)
        object.__setattr__(self, "_secret", secret)

    @property
    def secret(self) -> Elements:
        """s, transformed; secret."""
        return self._secret

    def __repr__(self) -> str:
        return f"PrivateKey(BFV {self.public.parameters.name}, fingerprint {self.public.fingerprint})"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("private keys are not pickled", cure="make a key pair where it is used")


class KeyPair(NamedTuple):
    """Both keys of one pair."""

    public: PublicKey
    private: PrivateKey


def generate_keys(parameters: BfvParameters = PRODUCTS, engine: RingEngine | None = None) -> KeyPair:
    """A fresh key pair from the operating system's randomness."""
    engine = engine or get_engine()
    seed = os.urandom(SEED_BYTES)
    small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, 2, parameters.degree)
    secret, error = (transform(parameters, residues_of_small(parameters, polynomial), engine) for polynomial in small)
    product = multiply_slots(parameters, expand(parameters, seed, engine), secret, engine)
    b = add_elements(parameters, scale_elements(parameters, product, -1, engine), error, engine)
    public = PublicKey(parameters, seed, b)
    return KeyPair(public, PrivateKey(public, secret))


def expand(parameters: BfvParameters, seed: bytes, engine: RingEngine | None = None) -> Elements:
    """a, transformed: chunk i of `expand_uniform` for the i-th part, so that no two parts share a stream."""
    engine = engine or get_engine()
    return tuple(engine.expand_uniform(part, seed, i, 1)[0] for i, part in enumerate(parameters.parts))
