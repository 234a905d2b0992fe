"""Small seeded tables for tests of training in either form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hekat.data import Table

PARTIES = ("bank", "shop", "telco", "lab")


def make_tables(
    seed: int, *, rows: int = 60, columns: tuple[int, ...] = (3, 2), task: str = "two classes", sparse: bool = False
) -> dict[str, Table]:
    """Tables of the guest and of one host for each further column count, of very different scales."""
    rng = np.random.default_rng(seed)
    joined = rng.normal(size=(rows, sum(columns)))
    if sparse:
        joined *= rng.random(joined.shape) < 0.4
    score = joined @ rng.normal(size=sum(columns)) + 0.3 * rng.normal(size=rows)
    if task == "number":
        labels: Any = 3.0 * score + 1.0
    elif task == "three classes":
        labels = np.digitize(score, [-0.7, 0.7]).astype(np.int64)
    else:
        labels = (score > 0).astype(np.int64)
    shifted = joined * np.resize([1.0, 200.0, 1e-3, 7.0], sum(columns))
    if not sparse:
        shifted += np.resize([0.0, 1000.0, 0.0, -3.0], sum(columns))
    tables = {}
    parts = np.split(shifted, np.cumsum(columns)[:-1], axis=1)
    for index, (name, part) in enumerate(zip(PARTIES, parts, strict=False)):
        if sparse:
            from scipy.sparse import csr_array

            part = csr_array(part)
        names = tuple(f"{name}-{column}" for column in range(part.shape[1]))
        tables[name] = Table(part, labels if index == 0 else None, names, name)
    return tables


@pytest.fixture(scope="session")
def tables_of() -> Callable[..., dict[str, Table]]:
    return make_tables
