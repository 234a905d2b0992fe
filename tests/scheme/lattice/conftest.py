"""Engines and the few steps that tests of the lattice scheme take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from hekat.engine.interface import Engine
from hekat.engine.select import READY, available_engines, get_engine
from hekat.scheme.lattice import (
    SETS,
    LatticeParameters,
    SecretKey,
    SecretSum,
    decrypt,
    encrypt,
    generate_secret,
    public_key,
    sum_secrets,
)


@dataclass(frozen=True)
class Upload:
    """One upload of a set in an engine: its public key, and secrets and levels of its parties."""

    engine: Engine
    parameters: LatticeParameters
    public_key: bytes
    secrets: list[SecretKey]
    levels: list[np.ndarray]
    contributions: list[bytes]

    @classmethod
    def of(cls, engine: Engine, name: str, levels: Sequence[np.ndarray], number: int = 1) -> Upload:
        """Each of `levels` from a party of its own."""
        parameters = SETS[name]
        key = public_key(b"tests of the lattice scheme", number, parameters)
        secrets = [generate_secret(parameters, engine) for _ in levels]
        contributions = [encrypt(parameters, s, key, x, engine) for s, x in zip(secrets, levels, strict=True)]
        return cls(engine, parameters, key, secrets, list(levels), contributions)

    @property
    def value_count(self) -> int:
        return len(self.levels[0])

    @property
    def total(self) -> np.ndarray:
        return np.sum([x.astype(np.int64) for x in self.levels], axis=0)

    def open(self, written: bytes, secret_sum: SecretSum | None = None) -> np.ndarray:
        secret_sum = secret_sum or sum_secrets(self.secrets)
        return decrypt(self.parameters, secret_sum, self.public_key, written, self.value_count, self.engine)


@pytest.fixture(scope="session", params=["reference", "cpu"])
def engine(request) -> Engine:
    """Every engine in turn."""
    if available_engines()[request.param] != READY:
        pytest.skip(f"engine {request.param}: {available_engines()[request.param]}")
    return get_engine(request.param)


@pytest.fixture(scope="session")
def default_engine() -> Engine:
    """The engine that users get."""
    return get_engine()


@pytest.fixture(scope="session")
def reference() -> Engine:
    return get_engine("reference")


# The reference is slow: one set of each kind there, by primes and slots, and in the quick run one of each number of
# primes; all of them in the native engine.
ENGINES_AND_SETS = [("reference", name) for name in ("A8-32", "C8-256")]
LONG_IN_REFERENCE = ("A16-128", "A16-16", "C32-128")
ENGINES_AND_SETS += [pytest.param("reference", name, marks=pytest.mark.long) for name in LONG_IN_REFERENCE]
ENGINES_AND_SETS += [("cpu", name) for name in SETS]


def random_levels(parameters: LatticeParameters, count: int, seed: int) -> np.ndarray:
    """Uniform levels, both extremes among them where there is room."""
    level = parameters.level
    levels = np.random.default_rng(seed).integers(-level, level + 1, count).astype(np.int32)
    levels[:2] = (level, -level)[: min(count, 2)]
    return levels
