"""What all tests share: stored Paillier keys, made into key pairs when a test asks for their size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hekat.scheme.paillier import KeyPair, PrivateKey

KEY_FILE = Path(__file__).parent / "vectors" / "paillier_keys.json"


class StoredKeys:
    """Published test key pairs of 512, 1024 (both unsafe), 2048 and 3072 bits: `keys[2048][0]`, or `keys(2048)`."""

    def __init__(self) -> None:
        self._primes = json.loads(KEY_FILE.read_text())["keys"]
        self._pairs: dict[int, list[KeyPair]] = {}

    def __getitem__(self, bits: int) -> list[KeyPair]:
        if bits not in self._pairs:
            private = [PrivateKey(int(k["p"], 16), int(k["q"], 16)) for k in self._primes[str(bits)]]
            self._pairs[bits] = [KeyPair(key.public, key) for key in private]
        return self._pairs[bits]

    def __call__(self, bits: int, index: int = 0) -> KeyPair:
        return self[bits][index]


@pytest.fixture(scope="session")
def paillier_keys() -> StoredKeys:
    """Stored key pairs by size in bits; keeps them, and so their tables, for the whole run."""
    return StoredKeys()
