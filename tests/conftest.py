"""What all tests share: stored keys, made into key pairs when a test asks for their size."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hekat.scheme import paillier, rsa

VECTORS = Path(__file__).parent / "vectors"

# A time limit for each example would be an assertion on time: on a busy machine any test misses it now and then.
settings.register_profile("hekat", deadline=None)
settings.load_profile("hekat")


class StoredKeys:
    """Published test key pairs of 512, 1024 (both unsafe), 2048 and 3072 bits: `keys[2048][0]`, or `keys(2048)`."""

    def __init__(self, file_name: str, make: Callable[[int, int], Any], pair: Callable[[Any, Any], Any]) -> None:
        self._primes = json.loads((VECTORS / file_name).read_text())["keys"]
        self._make, self._pair = make, pair
        self._pairs: dict[int, list[Any]] = {}

    def __getitem__(self, bits: int) -> list[Any]:
        if bits not in self._pairs:
            private = [self._make(int(k["p"], 16), int(k["q"], 16)) for k in self._primes[str(bits)]]
            self._pairs[bits] = [self._pair(key.public, key) for key in private]
        return self._pairs[bits]

    def __call__(self, bits: int, index: int = 0) -> Any:
        return self[bits][index]


@pytest.fixture(scope="session")
def paillier_keys() -> StoredKeys:
    """Stored Paillier key pairs by size in bits; keeps them, and so their tables, for the whole run."""
    return StoredKeys("paillier_keys.json", paillier.PrivateKey, paillier.KeyPair)


@pytest.fixture(scope="session")
def rsa_keys() -> StoredKeys:
    """Stored RSA key pairs by size in bits."""
    return StoredKeys("rsa_keys.json", rsa.PrivateKey, rsa.KeyPair)
