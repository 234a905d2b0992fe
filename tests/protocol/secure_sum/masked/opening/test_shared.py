"""With one key for all, secrets follow from key, upload and a fresh salt; another of these gives another secret."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import InputError, KeyRefusedError
from hekat.protocol.secure_sum.masked.opening.shared import (
    derive_seed,
    draw_salt,
    open_shared,
    salt_digest,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.run_keys import draw_run_key
from hekat.scheme.lattice import SETS, secret_from_seed

PARAMETERS = SETS["A16-16"]
CONTEXT = UploadContext(b"s" * 32, 7, "round-1", PARAMETERS.name)
KEY, SALT = b"k" * 32, b"z" * 32


def test_every_input_gives_another_seed() -> None:
    seeds = {
        derive_seed(KEY, CONTEXT, "a", SALT),
        derive_seed(b"l" * 32, CONTEXT, "a", SALT),
        derive_seed(KEY, CONTEXT, "b", SALT),
        derive_seed(KEY, CONTEXT, "a", b"y" * 32),
        derive_seed(KEY, replace(CONTEXT, number=8), "a", SALT),
        derive_seed(KEY, replace(CONTEXT, session_id=b"t" * 32), "a", SALT),
    }
    assert len(seeds) == 6
    assert derive_seed(KEY, CONTEXT, "a", SALT) in seeds


def test_the_seed_is_what_the_specification_says() -> None:
    fields = (b"hekat/lattice/shared-seed/1", b"s" * 32, (7).to_bytes(8, "big"), b"party", SALT)
    encoded = (5).to_bytes(2, "big") + b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    assert derive_seed(KEY, CONTEXT, "party", SALT) == hmac.digest(KEY, encoded, hashlib.sha256)


def test_salts_and_keys_are_fresh() -> None:
    assert len({draw_salt() for _ in range(16)} | {draw_run_key() for _ in range(16)}) == 32
    assert len(draw_salt()) == len(draw_run_key()) == 32


def test_the_sum_opens_from_the_salts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEKAT_ENGINE", "reference")
    salts = {f"party-{index}": draw_salt() for index in range(3)}
    secrets = [
        secret_from_seed(PARAMETERS, derive_seed(KEY, CONTEXT, party, salt)).coefficients
        for party, salt in salts.items()
    ]
    opened = open_shared(PARAMETERS, KEY, CONTEXT, salts)
    assert np.array_equal(opened.coefficients, np.sum(secrets, axis=0, dtype=np.int32))
    assert opened.addend_count == 3
    other = open_shared(PARAMETERS, KEY, CONTEXT, salts | {"party-0": draw_salt()})
    assert not np.array_equal(other.coefficients, opened.coefficients)


def test_the_digest_of_a_salt_binds_upload_and_party() -> None:
    digests = {
        salt_digest(CONTEXT, "a", SALT),
        salt_digest(CONTEXT, "b", SALT),
        salt_digest(CONTEXT, "a", b"y" * 32),
        salt_digest(replace(CONTEXT, number=8), "a", SALT),
    }
    assert len(digests) == 4


def test_keys_and_salts_of_another_length_are_refused() -> None:
    with pytest.raises(KeyRefusedError):
        derive_seed(b"k" * 16, CONTEXT, "a", SALT)
    with pytest.raises(InputError):
        derive_seed(KEY, CONTEXT, "a", b"")
