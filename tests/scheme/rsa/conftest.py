"""One RSA key and one engine with the few steps every test takes; small keys where arithmetic is slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gmpy2
import pytest

from hekat.engine.interface import Engine
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_from_ints
from hekat.engine.select import READY, available_engines, get_engine
from hekat.scheme.rsa import HashedItems, KeyPair, PublicKey, hash_to_group
from hekat.scheme.rsa.group_elements import GroupElements


@dataclass(frozen=True)
class Setting:
    """A key pair in an engine."""

    engine: Engine
    keys: KeyPair

    @property
    def public(self) -> PublicKey:
        return self.keys.public

    def power_d(self, value: int) -> int:
        """value^d mod n by GMP, with d of the textbook."""
        p, q = self.keys.private.p, self.keys.private.q
        return int(gmpy2.powmod(value, gmpy2.invert(self.public.e, (p - 1) * (q - 1)), self.public.n))

    def limbs(self, values: Sequence[int]) -> LimbArray:
        return limbs_from_ints(values, self.public.n_modulus.limb_count)

    def hashed(self, values: Sequence[int]) -> HashedItems:
        """Chosen values where hashes would be."""
        return HashedItems.from_limbs(self.public, self.limbs(values), self.engine)

    def hash_count(self, count: int, context: bytes = b"") -> HashedItems:
        items = [f"item {index}".encode() for index in range(count)]
        return hash_to_group(self.public, items, context=context, engine=self.engine)

    @staticmethod
    def integers(elements: GroupElements) -> list[int]:
        return ints_from_limbs(elements.to_limbs())


def make_setting(name: str, keys: KeyPair) -> Setting:
    if available_engines()[name] != READY:
        pytest.skip(f"engine {name}: {available_engines()[name]}")
    return Setting(get_engine(name), keys)


@pytest.fixture(scope="session", params=["reference-512", "cpu-512", "cpu-2048", "cpu-3072"])
def setting(request, rsa_keys) -> Setting:
    name, bits = request.param.split("-")
    return make_setting(name, rsa_keys(int(bits)))


@pytest.fixture(scope="session")
def make_rsa_setting() -> Callable[[str, KeyPair], Setting]:
    """A setting of an engine's name and keys; skips where there is no such engine."""
    return make_setting


@pytest.fixture(scope="session")
def small(rsa_keys) -> Setting:
    """512 bits in the reference engine."""
    return make_setting("reference", rsa_keys(512))
