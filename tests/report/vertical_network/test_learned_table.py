"""The table of a report that says what each party learned has a line for everything that opens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hekat.report.vertical_network.tables import learned_table

SUMMARY = Path(__file__).parent / "sample_network_summary.json"
SLOPES = "something, by slopes, which nothing bounds: WAIVED by the job"


@pytest.mark.parametrize(
    ("hosts", "host_bottom", "of_columns"),
    [
        (["shop"], "frozen", []),
        (["shop"], "source", []),
        (["shop"], "trained", [("shop of the columns of bank", SLOPES)]),
        (
            ["shop", "lab"],
            "trained",
            [("shop of the columns of all others", SLOPES), ("lab of the columns of all others", SLOPES)],
        ),
    ],
)
def test_hosts_that_are_told_slopes_learn_of_columns(hosts: list[str], host_bottom: str, of_columns: list) -> None:
    summary = json.loads(SUMMARY.read_text())
    summary["settings"] |= {"guest": "bank", "hosts": hosts, "host_bottom": host_bottom}
    rows = learned_table(summary).rows
    assert [row for row in rows if " of the columns of " in row[0]] == of_columns
    assert {f"{host} of the labels of bank" for host in hosts} <= {row[0] for row in rows}
