"""One key and one engine with the few steps every Paillier test takes; small keys where arithmetic is slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from hekat.engine.interface import Engine
from hekat.engine.limbs import LIMB_BITS, limbs_for_bits, limbs_from_ints
from hekat.engine.select import READY, available_engines, get_engine
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import Ciphertexts, KeyPair, PrivateKey, decrypt, encrypt


@dataclass(frozen=True)
class Setting:
    """A key pair in an engine."""

    engine: Engine
    keys: KeyPair

    @property
    def bound(self) -> int:
        return self.keys.public.plaintext_space.bound

    def plain(self, values: Sequence[int], bound: int | None = None) -> PackedPlaintext:
        bound = self.bound if bound is None else bound
        limb_count = limbs_for_bits(bound.bit_length() + 1)
        wrapped = [value % (1 << (LIMB_BITS * limb_count)) for value in values]
        return PackedPlaintext(limbs_from_ints(wrapped, limb_count), bound)

    def encrypt(self, values: Sequence[int], variant: str = "crt") -> Ciphertexts:
        key = self.keys.private if variant == "crt" else self.keys.public
        return encrypt(key, self.plain(values), variant=variant, engine=self.engine)

    def decrypt(self, ciphertexts: Ciphertexts) -> list[int]:
        return self.integers(decrypt(self.keys.private, ciphertexts))

    @staticmethod
    def integers(plain: PackedPlaintext) -> list[int]:
        """Read bit by bit through bytes, apart from the code under test."""
        data = plain.limbs.astype("<u8")
        return [int.from_bytes(row.tobytes(), "little", signed=True) for row in data]

    def centred(self, value: int) -> int:
        """The representative of value mod n in (-n/2, n/2]."""
        n = self.keys.public.n
        value %= n
        return value - n if value > n // 2 else value


@pytest.fixture(scope="session", params=["reference-512", "cpu-512", "cpu-2048"])
def setting(request, paillier_keys) -> Setting:
    name, bits = request.param.split("-")
    if available_engines()[name] != READY:
        pytest.skip(f"engine {name}: {available_engines()[name]}")
    return Setting(get_engine(name), paillier_keys(int(bits)))


@pytest.fixture(scope="session")
def small(paillier_keys) -> Setting:
    """512 bits in the reference engine."""
    return Setting(get_engine("reference"), paillier_keys(512))


@pytest.fixture(scope="session")
def tiny() -> Setting:
    """n = 47 * 59: small enough to count every randomiser."""
    private = PrivateKey._trusted(47, 59)
    return Setting(get_engine("reference"), KeyPair(private.public, private))
