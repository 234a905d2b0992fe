"""Made tables of a bank and an insurer: other columns of partly the same people, each in its own order.

The bank knows who paid back late. Columns have long tails, texts and gaps, as people have them.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEED = 20261127
BANK_HEADER = ["customer", "age", "income", "products", "branch", "late"]
INSURER_HEADER = ["customer", "claims", "premium", "vehicle", "years"]
BRANCHES = ("airport", "harbour", "market", "online")
VEHICLES = ("car", "lorry", "motorbike", "none")
BY_BRANCH = np.array([0.2, 0.0, -0.3, 0.7])
BY_VEHICLE = np.array([0.0, 0.4, 0.9, -0.5])


@dataclass(frozen=True)
class Customers:
    """All columns of `count` people, the truth of each, and the names in use."""

    bank: list[list[str]]
    insurer: list[list[str]]
    features: np.ndarray
    late: np.ndarray


def made_customers(count: int, seed: int = SEED) -> Customers:
    """People with a name each; `features`: their numbers, texts as columns of 0 and 1, gaps filled by medians."""
    rng = np.random.default_rng(seed)
    names = [f"C{number:07d}" for number in rng.permutation(10 * count)[:count]]
    age = np.clip(rng.normal(45, 12, count), 18, 90).round()
    income = rng.lognormal(10.2, 0.8, count).round()
    products = 1 + rng.poisson(1.2, count)
    branch = rng.integers(len(BRANCHES), size=count)
    claims = rng.negative_binomial(1, 0.5, count)
    premium = rng.lognormal(6.0, 0.7, count).round(2)
    vehicle = rng.integers(len(VEHICLES), size=count)
    years = rng.gamma(2.0, 4.0, count).round(1)
    odds = (
        -1.4
        - 0.02 * (age - 45)
        - 0.9 * np.log(income / 27000)
        + 0.25 * (products - 2)
        + 0.55 * claims
        + 0.5 * np.log(premium / 400)
        - 0.06 * years
        + BY_BRANCH[branch]
        + BY_VEHICLE[vehicle]
    )
    late = rng.random(count) < 1 / (1 + np.exp(-odds))
    unknown_income = rng.random(count) < 0.03
    bank = [
        [
            names[n],
            f"{age[n]:.0f}",
            "" if unknown_income[n] else f"{income[n]:.0f}",
            str(products[n]),
            BRANCHES[branch[n]],
            "yes" if late[n] else "no",
        ]
        for n in range(count)
    ]
    insurer = [
        [names[n], str(claims[n]), f"{premium[n]:.2f}", VEHICLES[vehicle[n]], f"{years[n]:.1f}"] for n in range(count)
    ]
    known = np.where(unknown_income, np.median(income[~unknown_income]), income)
    features = np.column_stack(
        [age, known, products, np.eye(len(BRANCHES))[branch], claims, premium, np.eye(len(VEHICLES))[vehicle], years]
    )
    return Customers(bank, insurer, features, late.astype(int))


def write_tables(folder: Path, people: Customers, *, only_bank: int, only_insurer: int) -> np.ndarray:
    """bank.csv without the last `only_insurer` people, insurer.csv without the first `only_bank`, each in an order of
    its own; returns the numbers of the common ones."""
    rng = np.random.default_rng(SEED + 1)
    count = len(people.bank)
    at_bank = rng.permutation(count - only_insurer)
    at_insurer = only_bank + rng.permutation(count - only_bank)
    _write(folder / "bank.csv", BANK_HEADER, [people.bank[n] for n in at_bank])
    _write(folder / "insurer.csv", INSURER_HEADER, [people.insurer[n] for n in at_insurer])
    return np.arange(only_bank, count - only_insurer)


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
