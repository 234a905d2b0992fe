"""`hekat init --protocol vertical_trees`: files that parse, say true defaults, and run on tables of one's own."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.job.site_file import load_site
from hekat.job.vertical_trees.job_file import load_trees_job
from hekat.model.trees import TreeTraining

_DEFAULT = re.compile(r"^#(?=(?:[A-Za-z0-9_-]+|\"[^\"]+\") = )(?!.* # no default; )", re.MULTILINE)


def test_defaults_that_are_uncommented_change_nothing(tmp_path, capsys) -> None:
    assert main(["init", str(tmp_path), "--protocol", "vertical_trees", "--hosts", "b,c"]) == 0
    job, site = load_trees_job(tmp_path / "job.toml"), load_site(tmp_path / "site.toml")
    assert job.settings.hosts == ("b", "c")
    assert job.settings.training == TreeTraining()
    for name in ("job.toml", "site.toml"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(_DEFAULT.sub("", text))
        assert (tmp_path / name).read_text() != text
    again = load_trees_job(tmp_path / "job.toml")
    assert (again.settings, again.prediction, again.intersection) == (job.settings, job.prediction, job.intersection)
    assert load_site(tmp_path / "site.toml").policy == site.policy


def write(path: Path, header: list[str], rows: list[list[object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def test_tables_with_gaps_and_texts_become_a_job_that_runs(tmp_path, monkeypatch, capsys) -> None:
    rng = np.random.default_rng(3)
    ages, towns = rng.integers(20, 80, 120), rng.choice(["Bonn", "Ulm", "Jena"], 120)
    outcome = np.where((ages > 50) ^ (towns == "Ulm"), "yes", "no")
    rows = [[f"p{n}", "" if n % 9 == 0 else int(ages[n]), outcome[n]] for n in range(120)]
    write(tmp_path / "bank.csv", ["id", "age", "outcome"], rows)
    write(tmp_path / "insurer.csv", ["id", "town", "claims"], [[f"p{n}", towns[n], n % 7] for n in range(120)])
    monkeypatch.chdir(tmp_path)
    tables = ["--from", "bank.csv", "insurer.csv", "--label", "outcome", "--id", "id"]
    assert main(["init", "made", "--protocol", "vertical_trees", *tables]) == 0
    job = load_trees_job(tmp_path / "made" / "job.toml")
    assert job.settings.classes == ("no", "yes")
    assert job.hold_out == 0.2
    assert {spec.name for spec in job.columns if spec.has_categories} == {"town"}
    text = (tmp_path / "made" / "job.toml").read_text().replace("#max_iter = 100", "max_iter = 2")
    (tmp_path / "made" / "job.toml").write_text(re.sub(r"^#(?=accepted)", "", text, flags=re.MULTILINE))
    site = (tmp_path / "made" / "site.toml").read_text()
    (tmp_path / "made" / "site.toml").write_text(site.replace("#bin_leak_waiver = false", "bin_leak_waiver = true"))
    capsys.readouterr()
    assert main(["run", "made/job.toml", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bin_leak_waived"] is True
    assert [party["columns"] for party in told["parties"]] == [1, 2]
    assert told["estimate"]["total"]["sent_bytes"] > 0
    assert main(["run", "made/job.toml", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["protocol"] == "vertical_trees"
    assert run["test_rows"] == 24
    assert main(["predict", run["folder"], "--site", "made/site.toml", "--source", "rows", "--out", "p.csv"]) == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 121


@pytest.mark.parametrize("option", [["--arbiter", "judge"], ["--model", "logistic"], ["--example"]])
def test_options_of_other_protocols_are_refused(tmp_path, capsys, option: list[str]) -> None:
    assert main(["init", str(tmp_path / "new"), "--protocol", "vertical_trees", *option]) == 2
    assert not (tmp_path / "new").exists()
