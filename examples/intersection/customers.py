"""The customers of two made firms, each by an id and a birth year; some are customers of both."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Rows = tuple[npt.NDArray[np.float64], None, tuple[str, ...], list[str]]

PEOPLE = 8_000
CUSTOMERS = {"baker": 2500, "florist": 1200}
SEED = 3


def load(firm: str) -> Rows:
    """Birth years of the firm's customers, no labels, the name of that column, and the customers' ids."""
    if firm not in CUSTOMERS:
        raise ValueError(f"firm is one of {', '.join(CUSTOMERS)}")
    rng = np.random.default_rng([SEED, list(CUSTOMERS).index(firm)])
    chosen = rng.choice(PEOPLE, size=CUSTOMERS[firm], replace=False)
    years = 1940 + chosen % 60
    return years[:, np.newaxis].astype(np.float64), None, ("born",), [f"member-{one:05d}" for one in chosen]
