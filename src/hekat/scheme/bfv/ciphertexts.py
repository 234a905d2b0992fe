"""Ciphertexts of BFV, and what the public key alone lets anybody compute with them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial, reduce

from hekat.engine.interface import IndexArray
from hekat.engine.ring.checks import check_elements
from hekat.engine.ring.interface import RingEngine
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv.elements import (
    Elements,
    add_elements,
    join_elements,
    multiply_slots,
    residues_of_small,
    transform,
)
from hekat.scheme.bfv.keys import SEED_BYTES, PublicKey
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.immutable_key import ImmutableKey


class Ciphertexts(ImmutableKey):
    """`count` ciphertexts with c0 + c1 s = Delta m + noise: c0 and c1 elements (count, primes, N), transformed.

    Raises InputError for another layout and for values that are no residues.
    """

    __slots__ = ("c0", "c1", "key")

    key: PublicKey
    c0: Elements
    c1: Elements

    def __init__(self, key: PublicKey, c0: Elements, c1: Elements) -> None:
        shapes = {check_elements(part, x) for c in (c0, c1) for part, x in zip(key.parameters.parts, c, strict=True)}
        if len(shapes) != 1 or any(len(shape) != 1 for shape in shapes):
            raise InputError("ciphertexts have the wrong layout", expected="as many c0 as c1", got="others")
        for name, value in (("key", key), ("c0", c0), ("c1", c1)):
            object.__setattr__(self, name, value)

    @classmethod
    def _computed(cls, key: PublicKey, c0: Elements, c1: Elements) -> Ciphertexts:
        """Ciphertexts that this module computed; their residues are valid by construction and not checked again."""
        made = object.__new__(cls)
        for name, value in (("key", key), ("c0", c0), ("c1", c1)):
            object.__setattr__(made, name, value)
        return made

    @property
    def count(self) -> int:
        return len(self.c0[0])

    def __getitem__(self, index: slice | IndexArray) -> Ciphertexts:
        return self._computed(self.key, tuple(x[index] for x in self.c0), tuple(x[index] for x in self.c1))

    def __reduce__(self) -> tuple[type[Ciphertexts], tuple[PublicKey, Elements, Elements]]:
        return Ciphertexts, (self.key, self.c0, self.c1)

    def __repr__(self) -> str:
        return f"Ciphertexts(BFV {self.key.parameters.name}, {self.count})"


def encrypt(key: PublicKey, scaled: Elements, engine: RingEngine | None = None) -> Ciphertexts:
    """(b v + e1 + Delta m, a v + e2) for every Delta m in `scaled`, elements (count, primes, N), not transformed.

    32 fresh bytes from the operating system seed the whole batch; each ciphertext gets its own v, e1 and e2.
    """
    engine, parameters = engine or get_engine(), key.parameters
    v, e1, e2 = draw_small(parameters, 3, scaled[0].shape[0], engine)
    v, first, e2 = (transform(parameters, x, engine) for x in (v, add_elements(parameters, e1, scaled, engine), e2))
    c0 = add_elements(parameters, multiply_slots(parameters, key.b, v, engine), first, engine)
    c1 = add_elements(parameters, multiply_slots(parameters, key.a, v, engine), e2, engine)
    return Ciphertexts._computed(key, c0, c1)


def draw_small(parameters: BfvParameters, kinds: int, count: int, engine: RingEngine) -> list[Elements]:
    """`kinds` * `count` fresh polynomials with coefficients CBD(21), not transformed."""
    small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, kinds * count, parameters.degree)
    return [residues_of_small(parameters, part) for part in small.reshape(kinds, count, parameters.degree)]


def add(ciphertexts: Sequence[Ciphertexts], engine: RingEngine | None = None) -> Ciphertexts:
    """Sums, ciphertext by ciphertext. Raises InputError where counts differ, KeyRefusedError where keys differ."""
    first = ciphertexts[0]
    for other in ciphertexts[1:]:
        if other.key != first.key:
            raise KeyRefusedError(
                "ciphertexts are under different keys",
                expected=f"key {first.key.fingerprint}",
                got=f"key {other.key.fingerprint}",
                cure="encrypt under one key",
            )
        if other.count != first.count:
            raise InputError("ciphertexts do not fit", expected=f"{first.count}", got=f"{other.count}")
    engine = engine or get_engine()
    add_two = partial(add_elements, first.key.parameters, engine=engine)
    c0, c1 = reduce(add_two, (one.c0 for one in ciphertexts)), reduce(add_two, (one.c1 for one in ciphertexts))
    return Ciphertexts._computed(first.key, c0, c1)


def multiply_plain(ciphertexts: Ciphertexts, factors: Elements, engine: RingEngine | None = None) -> Ciphertexts:
    """Products with plain polynomials, elements (count, primes, N), transformed; a count of 1 broadcasts."""
    engine, parameters = engine or get_engine(), ciphertexts.key.parameters
    c0, c1 = (multiply_slots(parameters, c, factors, engine) for c in (ciphertexts.c0, ciphertexts.c1))
    return Ciphertexts._computed(ciphertexts.key, c0, c1)


def join(parts: Sequence[Ciphertexts]) -> Ciphertexts:
    """The ciphertexts of all parts, in the parts' order; one key for all of them."""
    c0, c1 = join_elements([part.c0 for part in parts]), join_elements([part.c1 for part in parts])
    return Ciphertexts._computed(parts[0].key, c0, c1)
