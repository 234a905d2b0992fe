"""`hekat init --protocol horizontal_trees`: files that parse, say true defaults, and run on tables of one's own."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from tests.cli.init.test_init import _DEFAULT, _SETTING, read_and_note, settings_in, uncomment

from hekat.cli.main import main
from hekat.job.horizontal_trees.job_file import load_row_trees_job
from hekat.job.site_file import load_site
from hekat.model.trees import TreeTraining

TREES = ("--protocol", "horizontal_trees")
SEED = 19


def init(folder: Path, *options: str) -> int:
    try:
        return main(["init", str(folder), *TREES, *options])
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_defaults_that_are_uncommented_change_nothing(tmp_path, protection: str) -> None:
    assert init(tmp_path, "--protection", protection, "--parties", "a,b,c", "--aggregator", "sum") == 0
    job, site = load_row_trees_job(tmp_path / "job.toml"), load_site(tmp_path / "site.toml")
    assert (job.settings.parties, job.settings.aggregator) == (("a", "b", "c"), "sum")
    assert job.settings.protection == protection
    assert job.settings.training == TreeTraining(early_stopping=True)
    for name in ("job.toml", "site.toml"):
        text = uncomment(tmp_path / name, _DEFAULT)
        assert text != (tmp_path / name).read_text()
        (tmp_path / name).write_text(text)
    again = load_row_trees_job(tmp_path / "job.toml")
    assert (again.settings, again.timeout_s, again.test_data) == (job.settings, job.timeout_s, job.test_data)
    assert load_site(tmp_path / "site.toml").policy == site.policy


def test_every_setting_that_is_read_is_written_with_its_default(tmp_path, monkeypatch) -> None:
    asked: dict[tuple[str, str], object] = {}
    written: dict[tuple[str, str], object] = {}
    defaults: dict[tuple[str, str], object] = {}
    for protection in ("lattice", "paillier"):
        folder = tmp_path / protection
        assert init(folder, "--protection", protection) == 0
        asked |= read_and_note(folder, monkeypatch, load_row_trees_job)
        for name in ("job.toml", "site.toml"):
            commented = settings_in((folder / name).read_text())
            written |= settings_in(uncomment(folder / name, _SETTING))
            plain = settings_in(uncomment(folder / name, _DEFAULT))
            defaults |= {key: value for key, value in plain.items() if key not in commented}
    # Trees look at every cell, so that the one value that `sparse` can have is not worth a line.
    first = {key for key in asked if not key[0].startswith(("party.beta", "party.gamma"))} - {("", "sparse")}
    assert len(first) > 40
    assert sorted(first - written.keys()) == []
    known = {key: value for key, value in asked.items() if value is not None and key in defaults}
    assert len(known) > 20
    assert {key: defaults[key] for key in known} == known


@pytest.mark.long
def test_an_example_runs_at_once(tmp_path, capsys) -> None:
    assert init(tmp_path / "first", "--example") == 0
    assert f"hekat run {tmp_path / 'first' / 'job.toml'}" in capsys.readouterr().out
    job = tmp_path / "first" / "job.toml"
    assert "max_iter = 20 " in job.read_text()
    job.write_text(job.read_text().replace("max_iter = 20 ", "max_iter = 3 "))
    assert main(["run", str(job), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["metrics"]["auc"] > 0.8


def write(path: Path, seed: int, towns: list[str], rows: int = 90) -> None:
    rng = np.random.default_rng([SEED, seed])
    age, town = rng.integers(20, 90, rows), rng.choice(towns, rows)
    sick = np.where((age > 50) ^ (town == "Ulm"), "yes", "no")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["record", "age", "town", "sick"])
        for n in range(rows):
            writer.writerow([f"{seed}-{n}", "" if n % 9 == 0 else age[n], "" if n % 10 == 0 else town[n], sick[n]])


@pytest.fixture
def tables(tmp_path) -> list[str]:
    """Three tables with gaps, texts and names of records."""
    for seed, name in enumerate(("north", "lake", "county")):
        write(tmp_path / f"{name}.csv", seed, ["Bonn", "Ulm", "Jena"])
    return [str(tmp_path / f"{name}.csv") for name in ("north", "lake", "county")]


@pytest.mark.long
def test_tables_with_gaps_and_texts_become_a_job_that_runs_without_an_edit(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "made", "--from", *tables, "--label", "sick") == 0
    told = capsys.readouterr().out
    assert "with gaps   age (30), town (27)" in told
    assert "gaps stay: trees learn where they go" in told
    assert "fills gaps" not in told
    path = tmp_path / "made" / "job.toml"
    job = load_row_trees_job(path)
    assert (job.settings.parties, job.settings.classes) == (("north", "lake", "county"), ("no", "yes"))
    assert job.settings.hold_out == 0.2
    # The rows that are held out to measure on end training too.
    assert job.settings.training == TreeTraining(early_stopping=True)
    assert job.columns.find("age") is None or job.columns.find("age").fill is None
    town = job.columns.find("town")
    assert (town.categories, town.missing, town.unknown) == (("Bonn", "Jena", "Ulm"), "category", "ignore")
    path.write_text(path.read_text().replace("#max_iter = 100", "max_iter = 3"))
    assert main(["run", str(path), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["protocol"] == "horizontal_trees"
    assert len(run["iterations"]) == 3
    assert run["results"][0]["validation"]["auc"] > 0.8


@pytest.mark.long
def test_a_job_that_nobody_edits_ends_once_held_out_rows_no_longer_gain(tmp_path, capsys) -> None:
    data = load_diabetes()
    tables = [tmp_path / f"{name}.csv" for name in ("north", "lake", "county")]
    for number, path in enumerate(tables):
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*data.feature_names, "progression"])
            writer.writerows(np.column_stack([data.data, data.target])[number::3].tolist())
    assert init(tmp_path / "made", "--from", *map(str, tables), "--label", "progression") == 0
    path, site = tmp_path / "made" / "job.toml", tmp_path / "made" / "site.toml"
    # In the clear the trees are the same, and cost less.
    path.write_text(path.read_text().replace('#kind = "lattice"', 'kind = "none"'))
    site.write_text(site.read_text().replace("[policy]", '[policy]\nprotections = ["none"]'))
    capsys.readouterr()
    ends = []
    for text in (path.read_text(), path.read_text().replace("early_stopping = true", "early_stopping = false")):
        path.write_text(text)
        assert main(["run", str(path), "--runs", str(tmp_path / "runs"), "--json"]) == 0
        run = json.loads(capsys.readouterr().out)
        ends.append((len(run["iterations"]), run["results"][0]["validation"]["rmse"]))
    (stopped, error), (whole, error_of_all) = ends
    assert stopped < whole == 100
    assert error < error_of_all


def test_the_texts_of_one_table_are_listed_and_those_of_others_are_asked_for(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "made", "--from", tables[0], "--label", "sick") == 0
    told = capsys.readouterr().out
    assert "to complete categories of town: job.toml lists what this table has" in told
    town = load_row_trees_job(tmp_path / "made" / "job.toml").columns.find("town")
    assert (town.found, town.categories[:3], town.other) == (False, ("Bonn", "Jena", "Ulm"), True)
    assert init(tmp_path / "whole", "--from", tables[0], "--split", "--label", "sick") == 0
    assert "to complete" not in capsys.readouterr().out
    assert load_row_trees_job(tmp_path / "whole" / "job.toml").columns.find("town").other is False


def test_few_whole_numbers_are_classes_and_can_be_made_amounts(tmp_path, capsys) -> None:
    rows = "\n".join(f"{number % 13},{number % 4}" for number in range(40))
    (tmp_path / "visits.csv").write_text(f"age,visits\n{rows}\n")
    assert init(tmp_path / "made", "--from", str(tmp_path / "visits.csv"), "--label", "visits") == 0
    assert "where they are amounts, leave classes out of job.toml" in capsys.readouterr().out
    job = tmp_path / "made" / "job.toml"
    assert load_row_trees_job(job).settings.classes == ("0", "1", "2", "3")
    job.write_text(re.sub(r"^classes = .*$", "", job.read_text(), flags=re.MULTILINE))
    assert load_row_trees_job(job).settings.classes is None


def test_a_label_of_numbers_makes_a_regression(tmp_path) -> None:
    rows = "\n".join(f"{number % 13},{number * 0.37:.2f}" for number in range(40))
    (tmp_path / "prices.csv").write_text(f"area,price\n{rows}\n")
    assert init(tmp_path / "made", "--from", str(tmp_path / "prices.csv")) == 0
    assert load_row_trees_job(tmp_path / "made" / "job.toml").settings.classes is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "logistic"), "--model has no use"),
        (("--guest", "bank"), "--guest has no use"),
        (("--accept-bin-leak",), "--accept-bin-leak has no use"),
        (("--parties", "a,b"), "--allow-two-parties"),
        (("--classes", "a"), "trees that tell classes apart"),
        (("--classes", "a,a"), "trees that tell classes apart"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_written(options, words: str, tmp_path, capsys) -> None:
    assert init(tmp_path / "new", *options) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
