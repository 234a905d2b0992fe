"""What Hekat is measured beside computes the right thing, its inverses in one batch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import gmpy2
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("measuring.peers")


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_batch_inverses(peers: Any, count: int) -> None:
    modulus = gmpy2.mpz(2**127 - 1)
    values = [gmpy2.mpz(3) ** (20 * index + 5) % modulus for index in range(count)]
    assert peers.batch_inverses(values, modulus) == [gmpy2.invert(value, modulus) for value in values]


def test_the_matrix_product_inverts_each_ciphertext_once(
    peers: Any, paillier_keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = paillier_keys(512).private
    book = peers.Textbook(key.p, key.q)
    ciphertexts = [book.encrypt(m) for m in (5, 7, 11)]
    inversions: list[object] = []
    invert = gmpy2.invert
    monkeypatch.setattr(peers.gmpy2, "invert", lambda *arguments: inversions.append(1) or invert(*arguments))
    found = book.matmul([[1, -2, 3], [-1, 0, -4]], ciphertexts)
    assert [book.decrypt(c) for c in found] == [5 - 14 + 33, -5 - 44]
    assert len(inversions) == 1
