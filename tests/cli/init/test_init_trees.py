"""`hekat init --protocol vertical_trees`: files that parse, say true defaults, and run on tables of one's own."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.init.test_init import _SETTING, read_and_note, settings_in, uncomment

from hekat.cli.main import main
from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.trees.bin_leak import is_beyond_rule
from hekat.job.site_file import load_site
from hekat.job.vertical_trees.job_file import load_trees_job
from hekat.model.trees import TreeTraining

_DEFAULT = re.compile(r"^#(?=(?:[A-Za-z0-9_-]+|\"[^\"]+\") = )(?!.* # no default; )", re.MULTILINE)


def test_defaults_that_are_uncommented_change_nothing(tmp_path, capsys) -> None:
    assert main(["init", str(tmp_path), "--protocol", "vertical_trees", "--hosts", "b,c"]) == 0
    job, site = load_trees_job(tmp_path / "job.toml"), load_site(tmp_path / "site.toml")
    assert job.settings.hosts == ("b", "c")
    assert job.settings.training == TreeTraining(early_stopping=True)
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


@pytest.mark.long
def test_tables_with_gaps_and_texts_become_a_job_that_runs(tmp_path, monkeypatch, capsys) -> None:
    rng = np.random.default_rng(3)
    ages, towns = rng.integers(20, 80, 120), rng.choice(["Bonn", "Ulm", "Jena"], 120)
    outcome = np.where((ages > 50) ^ (towns == "Ulm"), "yes", "no")
    rows = [[f"p{n}", "" if n % 9 == 0 else int(ages[n]), outcome[n]] for n in range(120)]
    write(tmp_path / "bank.csv", ["id", "age", "outcome"], rows)
    write(tmp_path / "insurer.csv", ["id", "town", "claims"], [[f"p{n}", towns[n], n % 7] for n in range(120)])
    monkeypatch.chdir(tmp_path)
    tables = ["--from", "bank.csv", "insurer.csv", "--label", "outcome", "--id", "id"]
    assert main(["init", "made", "--protocol", "vertical_trees", *tables, "--accept-bin-leak"]) == 0
    job = load_trees_job(tmp_path / "made" / "job.toml")
    assert job.settings.classes == ("no", "yes")
    assert job.hold_out == 0.2
    assert {spec.name for spec in job.columns if spec.has_categories} == {"town"}
    text = (tmp_path / "made" / "job.toml").read_text()
    (tmp_path / "made" / "job.toml").write_text(text.replace("#max_iter = 100", "max_iter = 2"))
    told = capsys.readouterr().out
    assert "gaps stay: trees learn where they go" in told
    assert "to decide" not in told
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


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_every_setting_that_is_read_is_written_with_its_default(tmp_path, monkeypatch, protection: str) -> None:
    assert main(["init", str(tmp_path), "--protocol", "vertical_trees", "--protection", protection]) == 0
    asked = read_and_note(tmp_path, monkeypatch, load_trees_job)
    texts = [tmp_path / name for name in ("job.toml", "site.toml")]
    commented = settings_in(*(path.read_text() for path in texts))
    written = settings_in(*(uncomment(path, _SETTING) for path in texts))
    plain = settings_in(*(uncomment(path, _DEFAULT) for path in texts))
    # Trees look at every cell, so that the one value that `sparse` can have is not worth a line.
    of_the_job = {key for key in asked if not key[0].startswith("party")} - {("", "sparse")}
    assert len(of_the_job) > 40
    assert sorted(of_the_job - written.keys()) == []
    known = {key: asked[key] for key in plain.keys() - commented.keys() if asked.get(key) is not None}
    assert len(known) > 20
    assert {key: plain[key] for key in known} == known


def test_a_kept_key_of_the_guest_has_a_line_under_paillier_alone(tmp_path) -> None:
    for protection in ("lattice", "paillier"):
        folder = tmp_path / protection
        assert main(["init", str(folder), "--protocol", "vertical_trees", "--protection", protection]) == 0
        assert load_trees_job(folder / "job.toml").settings.protection == protection
        assert (folder / "site.toml").read_text().count("#paillier_key = ") == (protection == "paillier")


def test_a_job_that_hosts_would_refuse_is_told_with_what_lets_it_run(tmp_path, monkeypatch, capsys) -> None:
    rows = range(60)
    write(tmp_path / "bank.csv", ["id", "age", "outcome"], [[f"p{n}", n % 7, n % 2] for n in rows])
    write(tmp_path / "insurer.csv", ["id", "claims"], [[f"p{n}", n % 5] for n in rows])
    monkeypatch.chdir(tmp_path)
    made = ["init", "made", "--protocol", "vertical_trees", "--from", "bank.csv", "insurer.csv", "--id", "id"]
    assert main(made) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the sums of these trees on 60 rows tell the guest more of hosts' bins than the rule lets" in told
    assert main(["run", "made/job.toml"]) == 2
    refusal = capsys.readouterr().err
    assert "sums of gradients would tell the guest the bins of a column of insurer" in refusal
    assert "policy.bin_leak_waiver = true" in refusal
    # What is told is what lets the same job run.
    for name, old, new in (
        ("job.toml", "#accepted = ", "accepted = "),
        ("site.toml", "#bin_leak_waiver = false", "bin_leak_waiver = true"),
    ):
        path = tmp_path / "made" / name
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
    assert main(["run", "made/job.toml", "--dry-run"]) == 0


def test_a_job_on_very_many_rows_needs_no_decision() -> None:
    job = NewGuestJob("vertical_trees")
    assert is_beyond_rule(job, 100_000)
    assert not is_beyond_rule(job, 100_000_000)


@pytest.mark.parametrize("option", [["--arbiter", "judge"], ["--model", "logistic"], ["--example"]])
def test_options_of_other_protocols_are_refused(tmp_path, capsys, option: list[str]) -> None:
    assert main(["init", str(tmp_path / "new"), "--protocol", "vertical_trees", *option]) == 2
    assert not (tmp_path / "new").exists()
