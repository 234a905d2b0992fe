"""Runs of trees across rows, small and seeded."""

from __future__ import annotations

import pytest

from hekat.scheme.paillier import KeyPair


@pytest.fixture(scope="session")
def key_pair(paillier_keys) -> KeyPair:
    return paillier_keys[2048][0]
