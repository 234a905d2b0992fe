"""Key pairs and vectors for tests of CKKS, made once."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.scheme.ckks import FEDML_HE, FLOODED, CkksParameters, KeyPair, generate_keys


@pytest.fixture(scope="session")
def keys() -> KeyPair:
    """Keys of FedML-HE's own parameters."""
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    return generate_keys(FEDML_HE)


@pytest.fixture(scope="session")
def flooded_keys() -> KeyPair:
    """Keys of parameters with room for flooding."""
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    return generate_keys(FLOODED)


@pytest.fixture(scope="session")
def small_keys() -> KeyPair:
    """Keys of a small set that takes no weights."""
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    return generate_keys(CkksParameters("small", 2048, (27, 27), 18, 1024, 8.0))


def draw(count: int, seed: int, bound: float = 4.0) -> np.ndarray:
    """Values within `bound`, both extremes among them."""
    values = np.random.default_rng(seed).uniform(-bound, bound, count)
    values[:2] = (bound, -bound)[: min(count, 2)]
    return values
