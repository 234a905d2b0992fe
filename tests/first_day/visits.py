"""Made tables of a bank's calls, as people have them: texts, gaps, a record number, semicolons.

Each party calls people of another age and another mix of occupations, and has a mark of its own for what it does not
know: nothing, "NA", "?".
The truth is logistic in the columns, with long tails in two of them, so that a good model needs the texts: without them
its AUC falls by about a tenth. `python -m tests.first_day.visits FOLDER` writes them.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20261126
PARTIES = ("north", "east", "south")
OCCUPATIONS = ("admin.", "blue-collar", "management", "retired", "services", "student", "technician")
SCHOOLS = ("primary", "secondary", "tertiary")
MONTHS = ("jan", "mar", "may", "jul", "sep", "oct", "nov")
OUTCOMES = ("failure", "none", "other", "success")
HEADER = ["call_id", "age", "occupation", "school", "balance", "month", "duration", "campaign", "outcome", "subscribed"]
# What each adds to the log-odds of a yes.
BY_OCCUPATION = np.array([0.1, -0.6, 0.2, 0.9, -0.4, 1.1, 0.0])
BY_SCHOOL = np.array([-0.4, 0.0, 0.4])
BY_MONTH = np.array([-0.3, 1.2, -0.9, -0.5, 1.0, 1.1, -0.2])
BY_OUTCOME = np.array([-0.2, -0.1, 0.3, 2.2])


def made_rows(count: int, *, seed: int, younger_by: float = 0.0, unknown: str = "") -> list[list[str]]:
    """`count` rows under HEADER, every cell a text; `unknown` stands where a cell is not known."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(42 - younger_by, 11, count), 18, 90).round()
    occupation = rng.choice(len(OCCUPATIONS), count, p=rng.dirichlet(np.full(len(OCCUPATIONS), 8.0)))
    school = rng.integers(len(SCHOOLS), size=count)
    month = rng.integers(len(MONTHS), size=count)
    outcome = rng.choice(len(OUTCOMES), count, p=[0.15, 0.7, 0.08, 0.07])
    balance = rng.lognormal(7.0, 1.1, count).round(2)
    duration = rng.gamma(1.3, 200.0, count).round()
    campaign = 1 + rng.poisson(1.6, count)
    odds = (
        -1.9
        + 0.012 * (age - 40)
        + 0.35 * (np.minimum(balance, 8000) - 1800) / 1800
        + 1.1 * (np.minimum(duration, 1200) - 260) / 240
        - 0.12 * campaign
        + BY_OCCUPATION[occupation]
        + BY_SCHOOL[school]
        + BY_MONTH[month]
        + BY_OUTCOME[outcome]
    )
    yes = rng.random(count) < 1 / (1 + np.exp(-odds))
    rows = [
        [
            f"{seed}{n:06d}",
            f"{age[n]:.0f}",
            OCCUPATIONS[occupation[n]],
            SCHOOLS[school[n]],
            f"{balance[n]:.2f}",
            MONTHS[month[n]],
            f"{duration[n]:.0f}",
            str(campaign[n]),
            OUTCOMES[outcome[n]],
            "yes" if yes[n] else "no",
        ]
        for n in range(count)
    ]
    for column, part in (("age", 0.03), ("school", 0.05), ("balance", 0.04), ("occupation", 0.02)):
        place = HEADER.index(column)
        for n in np.flatnonzero(rng.random(count) < part):
            rows[n][place] = unknown
    return rows


def write_table(path: Path, rows: list[list[str]]) -> Path:
    """The rows under HEADER, separated by semicolons."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(HEADER)
        writer.writerows(rows)
    return path


def write_day(folder: Path, rows_per_party: int = 3000, new_rows: int = 4000) -> dict[str, Any]:
    """One table for each party, and `new.csv` that nobody trains on; each table's rows by name."""
    marks = {"north": "", "east": "NA", "south": "?"}
    tables = {
        party: made_rows(rows_per_party, seed=SEED + n, younger_by=4.0 * n, unknown=marks[party])
        for n, party in enumerate(PARTIES)
    }
    tables["new"] = made_rows(new_rows, seed=SEED + 9, younger_by=4.0)
    for name, rows in tables.items():
        write_table(folder / f"{name}.csv", rows)
    return tables


if __name__ == "__main__":
    (place,) = map(Path, sys.argv[1:])
    place.mkdir(parents=True)
    write_day(place)
