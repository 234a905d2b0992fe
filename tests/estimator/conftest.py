"""What tests of the estimators share: stored keys, small real rows, and their columns at two and three parties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from tests.protocol.unsealed import unseal

from hekat.scheme.paillier import KeyPair

TWO = {"bank": slice(0, 3), "insurer": slice(3, 6)}
THREE = {"bank": slice(0, 2), "insurer": slice(2, 4), "grocer": slice(4, 6)}
LEAK = {
    "label_leak_accepted": "hosts may learn labels",
    "column_leak_accepted": "the guest may learn columns of hosts",
}


@pytest.fixture(scope="session")
def keys(paillier_keys) -> dict[str, KeyPair]:
    """Stored 2048-bit key pairs for every role that makes one."""
    pairs = paillier_keys[2048]
    return {"bank": pairs[0], "insurer": pairs[-1], "arbiter": pairs[0]}


@pytest.fixture(scope="session")
def small(keys) -> dict[str, Any]:
    """Parameters of a quick encrypted training of two parties; scores are told finely, so that answers compare."""
    return {
        "columns": TWO,
        "key_bits": 2048,
        "keys": keys,
        "epochs": 3,
        "batch_rows": 0,
        "learning_rate": 0.5,
        "score_bits": 32,
    }


@pytest.fixture(scope="session")
def small_arbiter(small) -> dict[str, Any]:
    """The same with an arbiter and two hosts."""
    return {**small, "columns": THREE, "arbiter": "arbiter", **LEAK}


@pytest.fixture(scope="session")
def tumours() -> tuple[np.ndarray, np.ndarray]:
    """120 rows of 6 columns, and whether the tumour is benign."""
    X, y = load_breast_cancer(return_X_y=True)
    return X[:120, [0, 1, 6, 20, 21, 27]], y[:120]


@pytest.fixture(autouse=True)
def unsealed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sealed but in tests marked `sealed`, as in tests of protocols."""
    if request.node.get_closest_marker("sealed") is None:
        unseal(monkeypatch)
