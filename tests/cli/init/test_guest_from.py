"""`hekat init --from` with a guest and hosts: label, ids and columns of each table are found, and the job runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.job.psi.job_file import load_intersection_job
from hekat.job.site_file import load_site
from hekat.job.vertical_linear.job_file import load_vertical_job

VERTICAL = ("--protocol", "vertical_linear")


def init(folder: Path, *options: str) -> int:
    try:
        return main(["init", str(folder), *options])
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


def write(path: Path, separator: str, lines: list[list[str]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(lines)
    return str(path)


@pytest.fixture
def tables(tmp_path) -> list[str]:
    """The insurer's table and the bank's, which has the label; most rows are common."""
    rng = np.random.default_rng(5)
    count = 700
    income, claims = rng.normal(3000, 900, count), rng.poisson(2, count)
    town, car = rng.choice(["Ulm", "Bonn", "Trier"], count), rng.choice(["vw", "fiat"], count)
    score = (income - 3000) / 900 + (town == "Ulm") - 0.6 * claims + 1.1 * (car == "vw") + rng.normal(0, 0.5, count)
    bank = [["client_id", "income", "town", "since", "defaulted"]]
    for row in rng.permutation(count)[:650]:
        cell = "" if row % 20 == 0 else f"{income[row]:.2f}".replace(".", ",")
        place = "NA" if row % 30 == 0 else town[row]
        bank.append([f"C{row:04d}", cell, place, f"2020-01-{1 + row % 28:02d}", str(int(score[row] > -0.6))])
    insurer = [["client_id", "claims", "car", "policy_no"]]
    insurer += [[f"C{row:04d}", str(claims[row]), car[row], str(90000 + row)] for row in rng.permutation(count)[:640]]
    return [write(tmp_path / "insurer.csv", ",", insurer), write(tmp_path / "bank.csv", ";", bank)]


@pytest.mark.long
def test_the_holder_of_the_label_is_the_guest_and_the_job_can_run(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", *VERTICAL, "--from", *tables, "--label", "defaulted") == 0
    told = capsys.readouterr().out
    for line in (
        "guest       bank: its table has the label",
        "label       defaulted: 0, 1\n",
        "ids         client_id",
        "texts       town (3)",
        "dates       since: as days since 1970-01-01",
        "left out    policy_no: names or numbers of records",
        "next        hekat run",
    ):
        assert line in told
    common = len(
        {line.split(",")[0] for line in Path(tables[0]).read_text().splitlines()[1:]}.intersection(
            line.split(";")[0] for line in Path(tables[1]).read_text().splitlines()[1:]
        )
    )
    assert f"common      {common} rows" in told
    job, site = load_vertical_job(tmp_path / "trial" / "job.toml"), load_site(tmp_path / "trial" / "site.toml")
    assert (job.settings.guest, job.settings.hosts, job.settings.classes) == ("bank", ("insurer",), ("0", "1"))
    assert site.parties["bank"].data["rows"].options["decimal"] == ","
    assert "label" not in site.parties["insurer"].data["rows"].options
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


@pytest.mark.long
def test_the_job_trains_without_an_edit(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", *VERTICAL, "--from", *tables, "--label", "defaulted") == 0
    capsys.readouterr()
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["intersection"]["common"] > 500


def test_names_on_the_command_line_go_with_the_tables_in_order(tables, tmp_path, capsys) -> None:
    named = ("--guest", "lender", "--hosts", "cover", "--label", "defaulted")
    assert init(tmp_path / "one", *VERTICAL, *named, "--from", *tables) == 2
    assert "change the order of the tables" in capsys.readouterr().err
    assert init(tmp_path / "two", *VERTICAL, *named, "--from", *tables[::-1]) == 0
    assert load_vertical_job(tmp_path / "two" / "job.toml").settings.everyone[:2] == ("lender", "cover")


def test_one_table_alone_is_the_guests(tables, tmp_path, capsys) -> None:
    options = ("--guest", "bank", "--hosts", "insurer", "--label", "defaulted")
    assert init(tmp_path / "trial", *VERTICAL, *options, "--from", tables[1]) == 0
    told = capsys.readouterr().out
    assert "common" not in told
    assert "say in site.toml where rows lie" in told
    sources = {
        name: party.data["rows"].options for name, party in load_site(tmp_path / "trial" / "site.toml").parties.items()
    }
    assert sources["bank"]["path"] == "../bank.csv"
    assert sources["insurer"] == {"path": "data/insurer.csv", "id": "client_id"}


def test_an_intersection_takes_ids_alone(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", "--protocol", "psi", "--from", *tables) == 0
    assert load_intersection_job(tmp_path / "trial" / "job.toml").name == "trial"
    options = load_site(tmp_path / "trial" / "site.toml").parties["bank"].data["rows"].options
    assert dict(options) == {"path": "../bank.csv", "id": "client_id", "separator": ";", "decimal": ","}


def test_a_category_that_few_common_rows_can_hold_is_counted_as_other(tmp_path) -> None:
    """A column of one value on the common rows ends a run: a category needs rows enough to have some of them there."""
    guest = [["id", "town", "y"], *([f"a{n}", "Ulm" if n < 12 else f"town {n % 3}", str(n % 2)] for n in range(400))]
    host = [["id", "x"], *([f"a{n}", str(n % 7)] for n in range(300, 700))]
    tables = [write(tmp_path / "g.csv", ",", guest), write(tmp_path / "h.csv", ",", host)]
    assert init(tmp_path / "trial", *VERTICAL, "--from", *tables) == 0
    spec = load_vertical_job(tmp_path / "trial" / "job.toml").columns.find("town")
    # 12 rows of "Ulm" are too few where one row in four is common, also for a bucket: a frequent text goes with them.
    assert spec.other
    assert len(spec.categories) == 2
    assert "Ulm" not in spec.categories


@pytest.mark.parametrize(
    ("guest", "host", "options", "words"),
    [
        ("id,x,y\n1,2,0\n2,3,1\n", "id,z\n8,1\n9,2\n", (), "no row in common"),
        ("id,x,y\n1,2,0\n2,3,1\n", "id,z\n1,1\n1,2\n", ("--id", "id"), "does not name every row"),
        ("a,x,y\n1,2,0\n1,3,1\n", "id,z\n1,1\n2,2\n", (), "which column of g.csv names a person"),
        ("id,x,y\n1,2,0\n2,3,1\n", "id,z\n1,1\n2,2\n", ("--id", "who"), "no column 'who'"),
        ("id,x,v\n1,2,0\n2,3,1\n", "id,z\n1,1\n2,2\n", (), "name the label's column with --label"),
        ("id,x,y\n1,2,0\n2,3,1\n", "id,y\n1,1\n2,2\n", (), "2 of the tables have the label"),
        ("id,x,y\n1,2,0\n2,3,1\n", "id,z\n1,1\n2,1\n", (), "h.csv: no column is left to learn from"),
    ],
)
def test_what_is_not_clear_is_asked_and_nothing_written(guest, host, options, words, tmp_path, capsys) -> None:
    (tmp_path / "g.csv").write_text(guest)
    (tmp_path / "h.csv").write_text(host)
    tables = [str(tmp_path / "g.csv"), str(tmp_path / "h.csv")]
    assert init(tmp_path / "new", *VERTICAL, *options, "--from", *tables) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.long
def test_a_guest_may_have_labels_alone(tables, tmp_path, capsys) -> None:
    lines = [line.split(";") for line in Path(tables[1]).read_text().splitlines()]
    write(tmp_path / "court.csv", ",", [[cells[0], cells[-1]] for cells in lines])
    given = [str(tmp_path / "court.csv"), tables[0]]
    assert init(tmp_path / "trial", *VERTICAL, "--from", *given, "--label", "defaulted") == 0
    assert "guest       court: its table has the label" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0
