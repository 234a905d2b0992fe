"""What a contribution is masked with is written over with its last block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.engine.select import get_engine
from hekat.scheme.lattice import SETS, Encryptor, block_values, generate_secret, public_key


def test_the_transformed_secret_is_zeros_once_the_contribution_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the memory afterwards could take the mask off what was sent."""
    engine, parameters = get_engine(), SETS["A16-16"]
    used: list[Any] = []
    mask_values = type(engine).mask_values

    def watched(self, form, key, secret_ntt, *others):
        assert np.asarray(secret_ntt).any()
        used.append(secret_ntt)
        return mask_values(self, form, key, secret_ntt, *others)

    monkeypatch.setattr(type(engine), "mask_values", watched)
    key = public_key(b"tests of the lattice scheme", 1, parameters)
    encryptor = Encryptor(parameters, generate_secret(parameters, engine), key, engine)
    block = np.ones(block_values(parameters, 1), np.int32)
    encryptor.encrypt(block)
    assert np.asarray(used[0]).any(), "the next block needs it"
    encryptor.encrypt(block, last=True)
    assert len(used) == 2
    assert not any(np.asarray(secret_ntt).any() for secret_ntt in used)
