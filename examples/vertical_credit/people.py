"""Made people whose columns lie at three firms: a bank that knows who did not repay, an insurer, a telephone company.

Each firm has most of the people, in an order of its own; whom it lacks is its own matter, so that only some are known
to all. The columns and the outcome are drawn by rule from one seed: every load gives the same rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.str_] | None, tuple[str, ...], list[str]]

PEOPLE = {"train": 3000, "test": 800}
KNOWN_SHARE = 0.9
COLUMNS = {
    "bank": ("income", "debt", "years_at_bank", "late_payments", "savings"),
    "insurer": ("age", "claims", "premium", "car_value"),
    "telephone": ("calls_abroad", "late_bills", "years_of_contract"),
}
# What each column weighs, in the order of COLUMNS, and how large its values are.
WEIGHTS = (-0.9, 1.1, -0.4, 1.0, -0.6, -0.5, 1.2, 0.3, -0.4, 0.2, 0.9, -0.3)
SCALES = (3000, 9000, 4, 1, 7000, 20, 0.7, 400, 8000, 12, 0.8, 3)
SEED = 7


def load(firm: str, part: str = "train") -> Rows:
    """Features, outcomes (the bank's alone: "repaid" or "defaulted"), column names and ids that `firm` has."""
    if firm not in COLUMNS or part not in PEOPLE:
        raise ValueError(f"firm is one of {', '.join(COLUMNS)}, part one of {', '.join(PEOPLE)}")
    columns, outcome, ids = _make_people(part)
    firms = list(COLUMNS)
    rng = np.random.default_rng([SEED, list(PEOPLE).index(part), 1 + firms.index(firm)])
    rows = rng.permutation(len(ids))[: int(KNOWN_SHARE * len(ids))]
    start = sum(len(COLUMNS[one]) for one in firms[: firms.index(firm)])
    own = columns[rows, start : start + len(COLUMNS[firm])]
    return own, outcome[rows] if firm == "bank" else None, COLUMNS[firm], [ids[row] for row in rows]


def _make_people(part: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_], list[str]]:
    number = list(PEOPLE).index(part)
    rng = np.random.default_rng([SEED, number])
    count = PEOPLE[part]
    columns = np.hstack([rng.lognormal(sigma=0.7, size=(count, 5)), rng.gamma(2.0, size=(count, 7))])
    score = (columns - columns.mean(axis=0)) / columns.std(axis=0) @ np.array(WEIGHTS) - 0.8
    outcome = np.where(rng.random(count) < 1 / (1 + np.exp(-score)), "defaulted", "repaid")
    # Numbers of the two parts do not meet: nobody of the test was trained with.
    drawn = rng.choice(100_000, size=count, replace=False) + 100_000 * number
    return columns * np.array(SCALES), outcome, [f"P{one:07d}" for one in drawn]
