"""`hekat run`, `report` and `audit` of a set intersection, as a user calls them."""

from __future__ import annotations

import csv
import json
import re

import pytest

JOB = """format = 2
name = "clients"
protocol = "psi"
guest = "north"
hosts = ["east"]
data = "ids"

[intersection]
"""


@pytest.fixture
def clients(workplace):
    """The workplace with an intersection job: clients 0 to 19 of north, 10 to 39 of east."""
    for party, numbers in (("north", range(20)), ("east", range(10, 40))):
        text = "client,ill\n" + "".join(f"person-{number},no\n" for number in numbers)
        (workplace.folder / f"{party}.csv").write_text(text)
    (workplace.folder / "job.toml").write_text(JOB)
    source = '[party.{0}.data.ids]\nsource = "csv"\npath = "{0}.csv"\nid = "client"\n'
    (workplace.folder / "site.toml").write_text("format = 1\n" + source.format("north") + source.format("east"))
    return workplace


def test_a_run_says_what_came_out_and_where_it_lies(clients) -> None:
    answer = clients.run("--verbose")
    assert answer.code == 0, answer.err
    (folder,) = clients.folders()
    assert "north and east compared 20 and 30 ids" in " ".join(answer.out.split())
    assert re.search(r"masking own ids: 256  \d", answer.out)
    for name in ("run folder  ", "common ids  ", "report      ", "audit       hekat audit "):
        assert f"{name}{folder}" in answer.out
    assert (folder / "report.html").is_file()
    with (folder / "intersection" / "east.csv").open(newline="") as file:
        assert {row["client"] for row in csv.DictReader(file)} == {f"person-{number}" for number in range(10, 20)}


@pytest.mark.long
@pytest.mark.drawn
def test_the_report_is_drawn_anew(clients) -> None:
    assert clients.run("--json").code == 0
    (folder,) = clients.folders()
    (folder / "report.html").unlink()
    answer = clients.call("report", folder)
    assert answer.code == 0
    assert "Parties and their ids" in answer.out
    assert "<h1>Hekat run: clients</h1>" in (folder / "report.html").read_text()


def test_json_is_the_summary_and_nothing_else(clients) -> None:
    answer = clients.run("--json")
    assert answer.code == 0
    told = json.loads(answer.out)
    assert (told["protocol"], told["common"]) == ("psi", 10)


def test_an_audit_says_who_learned_what(clients) -> None:
    clients.edit("job.toml", r"\[intersection\]", '[intersection]\nlearns = ["north"]')
    assert clients.run("--json").code == 0
    (folder,) = clients.folders()
    answer = clients.call("audit", folder)
    assert answer.code == 0
    assert "north learn which of its rows are common to all parties" in answer.out
    assert "person-" not in answer.out
    east = clients.call("audit", folder, "--party", "east")
    assert "common-rows" not in east.out
    assert "rounded up to a rung of a public ladder" in east.out


def test_a_dry_run_compares_nothing(clients) -> None:
    answer = clients.run("--dry-run")
    assert answer.code == 0
    assert re.search(r"east +yes +30 +256", answer.out)
    assert "every check passed; nothing was written or sent" in answer.out
    assert clients.folders() == []
    told = json.loads(clients.run("--dry-run", "--json").out)
    assert told["ids"] == {"north": 20, "east": 30}


def test_only_how_many_keeps_no_ids(clients) -> None:
    clients.edit("job.toml", r"\[intersection\]", "[intersection]\ncardinality_only = true")
    answer = clients.run()
    assert answer.code == 0
    assert "common ids" not in answer.out
    assert "learned how many, not which" in " ".join(answer.out.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--resume", "runs/x"), "--resume has no use for a job of protocol 'psi'"),
        (("--start-from", "runs/x"), "--start-from has no use for a job of protocol 'psi'"),
        (("--lose", "north:1"), "--lose has no use"),
        (("--dry-run", "--bandwidth", "10", "--latency", "0"), "--bandwidth and --latency have no use"),
    ],
)
def test_options_without_use_are_refused(clients, options, told) -> None:
    answer = clients.run(*options)
    assert answer.code == 2
    assert told in answer.err
    assert clients.folders() == []


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "told"),
    [
        ("job.toml", "hosts = .*", 'hosts = ["north"]', "a different name for each"),
        ("job.toml", "hosts = .*", "", "hosts is missing"),
        ("job.toml", r"\[intersection\]", '[intersection]\nkind = "sha256"', "setting intersection.kind refused"),
        ("site.toml", "client", "age", "has no column 'age'"),
        ("north.csv", "person-3,", "person-2,", "ids that repeat"),
        ("north.csv", "person-3,", ",", "line 5"),
    ],
)
def test_bad_input_is_answered_with_code_2_and_no_run(clients, file, pattern, replacement, told) -> None:
    clients.edit(file, pattern, replacement)
    answer = clients.run()
    assert answer.code == 2
    assert told in answer.err
    assert "cure: " in answer.err
    assert "person-" not in answer.err
    assert clients.folders() == []


def test_one_id_is_refused_before_the_run(clients) -> None:
    (clients.folder / "north.csv").write_text("client\nperson-3\n")
    answer = clients.run()
    assert answer.code == 2
    assert "allow_single" in answer.err
    assert "the run lies in" not in answer.err
