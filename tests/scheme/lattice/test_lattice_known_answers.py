"""Whole contributions, their sum and its opening, against answers computed without Hekat."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from hekat.scheme.lattice import SETS, add, decrypt, encrypt, public_key, secret_from_seed, sum_secrets

CASES = json.loads((Path(__file__).parents[2] / "vectors" / "lattice.json").read_text())


def stored_levels(name: str, count: int, level: int) -> np.ndarray:
    words = np.frombuffer(hashlib.shake_256(name.encode()).digest(4 * count), "<u4")
    return (words.astype(np.int64) % (2 * level + 1) - level).astype(np.int32)


# Two primes take the reference seconds.
ENGINES_AND_CASES = [
    pytest.param(
        engine,
        case,
        id=f"{engine}-{case['set']}",
        marks=[pytest.mark.long] if (engine, case["set"][0]) == ("reference", "C") else [],
    )
    for engine in ("reference", "cpu")
    for case in CASES
]


@pytest.mark.parametrize(("engine", "case"), ENGINES_AND_CASES, indirect=["engine"])
def test_known_answers(engine, case, monkeypatch):
    name, value_count = case["set"], case["value_count"]
    parameters = SETS[name]
    key = public_key(bytes.fromhex(case["session"]), case["number"], parameters)
    assert key.hex() == case["public_key"]
    secrets, levels, contributions = [], [], []
    error_keys = iter(map(bytes.fromhex, case["error_keys"]))
    monkeypatch.setattr("os.urandom", lambda count: next(error_keys))
    for party, seed in enumerate(case["secret_seeds"]):
        secrets.append(secret_from_seed(parameters, bytes.fromhex(seed), engine))
        levels.append(stored_levels(f"values {name} {party}", value_count, parameters.level))
        contributions.append(encrypt(parameters, secrets[-1], key, levels[-1], engine))
    assert {len(written) for written in contributions} == {case["contribution_bytes"]}
    assert [written[:32].hex() for written in contributions] == case["contribution_starts"]
    assert [hashlib.sha256(written).hexdigest() for written in contributions] == case["contribution_sha256"]
    written_sum = add(parameters, value_count, contributions, engine)
    assert len(written_sum) == case["sum_bytes"]
    assert written_sum[:32].hex() == case["sum_start"]
    assert hashlib.sha256(written_sum).hexdigest() == case["sum_sha256"]
    sums = decrypt(parameters, sum_secrets(secrets), key, written_sum, value_count, engine)
    assert hashlib.sha256(sums.astype("<i8").tobytes()).hexdigest() == case["sums_sha256"]
    np.testing.assert_array_equal(sums, np.sum(levels, axis=0, dtype=np.int64))
