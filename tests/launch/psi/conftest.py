"""A bank, an insurer and a phone company that ask which customers they share, as job and site files on one machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hekat.run.psi.load_inputs import IntersectionInputs, load_intersection_inputs

JOB = """format = 2
name = "customers in common"
protocol = "psi"
guest = "bank"
hosts = ["insurer", "telco"]
data = "customers"

[intersection]
"""
CUSTOMERS = {"bank": range(40), "insurer": range(10, 60), "telco": range(55, 4, -2)}


def write_customers(path: Path, numbers: list[int]) -> None:
    path.write_text("customer,age\n" + "".join(f"client{number},{number % 7}\n" for number in numbers))


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """job.toml, site.toml and a CSV file for each party, in an order of its own."""
    for party, numbers in CUSTOMERS.items():
        write_customers(tmp_path / f"{party}.csv", list(numbers))
    (tmp_path / "job.toml").write_text(JOB)
    sources = (
        f'[party.{party}.data.customers]\nsource = "csv"\npath = "{party}.csv"\nid = "customer"\n'
        for party in CUSTOMERS
    )
    (tmp_path / "site.toml").write_text("format = 1\n" + "\n".join(sources))
    return tmp_path


@pytest.fixture
def inputs(workplace: Path) -> Callable[..., IntersectionInputs]:
    """prepared(line, ..., hosts=...): the checked job with these lines under [intersection]."""

    def make(*lines: str, hosts: str = '"insurer", "telco"') -> IntersectionInputs:
        text = JOB.replace('"insurer", "telco"', hosts)
        (workplace / "job.toml").write_text(text + "\n".join(lines) + "\n")
        return load_intersection_inputs(workplace / "job.toml")

    return make
