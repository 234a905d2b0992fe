"""`hekat init --protocol vertical_network`: asks what is feared for, and writes files that parse and say true
defaults."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.cli.init.test_init import _SETTING, read_and_note, settings_in, uncomment

from hekat.cli.main import main
from hekat.job.site_file import load_site
from hekat.job.vertical_network.job_file import load_network_job
from hekat.job.vertical_network.site_check import check_site_allows_network
from hekat.protocol.vertical_network.network_settings import BY_RULE, NetworkTraining
from hekat.protocol.vertical_network.sealed.settings_rules import RULED_RATE
from hekat.protocol.vertical_network.sealed.settings_rules import TRAINING as SEALED_TRAINING
from hekat.protocol.vertical_network.settings import SEALED

_DEFAULT = re.compile(r"^#(?=(?:[A-Za-z0-9_-]+|\"[^\"]+\") = )(?!.* # no default; )", re.MULTILINE)
_MADE = ("--protocol", "vertical_network", "--fear-for", "labels")


def test_defaults_that_are_uncommented_change_nothing(tmp_path, capsys) -> None:
    assert main(["init", str(tmp_path), *_MADE, "--hosts", "b,c"]) == 0
    assert "features of b, c but for a rotation" in capsys.readouterr().out
    job, site = load_network_job(tmp_path / "job.toml"), load_site(tmp_path / "site.toml")
    assert job.settings.hosts == ("b", "c")
    assert replace(job.settings.training, shared_rate=BY_RULE) == NetworkTraining()
    assert job.settings.host_bottom == "frozen"
    check_site_allows_network(site, job)
    for name in ("job.toml", "site.toml"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(_DEFAULT.sub("", text))
        assert (tmp_path / name).read_text() != text
    again = load_network_job(tmp_path / "job.toml")
    assert (again.settings, again.prediction, again.intersection) == (job.settings, job.prediction, job.intersection)
    assert load_site(tmp_path / "site.toml").policy == site.policy


def test_what_is_feared_for_decides(tmp_path, capsys) -> None:
    made = ["init", str(tmp_path / "new"), "--protocol", "vertical_network"]
    assert main(made) == 2
    assert "--fear-for labels, or --fear-for columns" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert main([*made, "--fear-for", "columns"]) == 0
    told = capsys.readouterr().out
    assert "learns the mean loss of each epoch" in told
    assert "--protocol vertical_linear" in told
    job, site = load_network_job(tmp_path / "new" / "job.toml"), load_site(tmp_path / "new" / "site.toml")
    assert (job.settings.form, job.settings.host_bottom) == (SEALED, "source")
    assert job.settings.training == replace(SEALED_TRAINING, shared_rate=RULED_RATE)
    assert not site.policy.column_leak_waiver
    check_site_allows_network(site, job)
    text = (tmp_path / "new" / "job.toml").read_text()
    assert "#centralised = false" in text
    assert "who learns scores of new rows; nobody else does" in text
    (tmp_path / "new" / "job.toml").write_text(_DEFAULT.sub("", text))
    again = load_network_job(tmp_path / "new" / "job.toml")
    assert (again.settings, again.prediction) == (job.settings, job.prediction)


@pytest.mark.parametrize("option", [["--hosts", "b,c"], ["--classes", "a,b,c"]])
def test_a_network_that_keeps_columns_is_of_two_parties_and_two_classes(tmp_path, capsys, option: list[str]) -> None:
    made = ["init", str(tmp_path / "new"), "--protocol", "vertical_network", "--fear-for", "columns"]
    assert main([*made, *option]) == 2
    told = capsys.readouterr().err
    assert "a network that keeps columns" in told
    assert "with --protocol vertical_linear all lies in shares too" in told
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "option",
    [
        ["--arbiter", "judge"],
        ["--model", "logistic"],
        ["--example"],
        ["--protection", "lattice"],
        ["--accept-bin-leak"],
    ],
)
def test_options_of_other_protocols_are_refused(tmp_path, option: list[str]) -> None:
    assert main(["init", str(tmp_path / "new"), *_MADE, *option]) == 2
    assert not (tmp_path / "new").exists()


def test_other_protocols_ask_for_no_fear(tmp_path, capsys) -> None:
    assert main(["init", str(tmp_path / "new"), "--protocol", "vertical_trees", "--fear-for", "labels"]) == 2
    assert main(["init", str(tmp_path / "new"), "--fear-for", "labels"]) == 2
    assert not (tmp_path / "new").exists()


def test_every_setting_that_is_read_is_written_with_its_default(tmp_path, monkeypatch) -> None:
    assert main(["init", str(tmp_path), *_MADE]) == 0
    asked = read_and_note(tmp_path, monkeypatch, load_network_job)
    texts = [tmp_path / name for name in ("job.toml", "site.toml")]
    commented = settings_in(*(path.read_text() for path in texts))
    written = settings_in(*(uncomment(path, _SETTING) for path in texts))
    plain = settings_in(*(uncomment(path, _DEFAULT) for path in texts))
    # Bottoms give dense features, so that the one value that `sparse` can have is not worth a line.
    of_the_job = {key for key in asked if not key[0].startswith("party")} - {("", "sparse")}
    assert len(of_the_job) > 40
    assert sorted(of_the_job - written.keys()) == []
    known = {key: asked[key] for key in plain.keys() - commented.keys() if asked.get(key) is not None}
    assert len(known) > 20
    assert {key: plain[key] for key in known} == known


@pytest.mark.long
@pytest.mark.parametrize("fear", ["labels", "columns"])
def test_tables_with_gaps_and_texts_become_a_job_that_runs_and_predicts(tmp_path, monkeypatch, capsys, fear) -> None:
    rng = np.random.default_rng(3)
    ages, towns = rng.integers(20, 80, 120), rng.choice(["Bonn", "Ulm", "Jena"], 120)
    outcome = np.where((ages > 50) ^ (towns == "Ulm"), "yes", "no")
    bank = [f"p{n},{'' if n % 9 == 0 else ages[n]},{outcome[n]}" for n in range(120)]
    (tmp_path / "bank.csv").write_text("\n".join(["id,age,outcome", *bank]) + "\n")
    insurer = [f"p{n},{towns[n]},{n % 7}" for n in range(120)]
    (tmp_path / "insurer.csv").write_text("\n".join(["id,town,claims", *insurer]) + "\n")
    monkeypatch.chdir(tmp_path)
    tables = ["--from", "bank.csv", "insurer.csv", "--label", "outcome", "--id", "id"]
    assert main(["init", "made", "--protocol", "vertical_network", "--fear-for", fear, *tables]) == 0
    path = tmp_path / "made" / "job.toml"
    path.write_text(path.read_text().replace("#epochs = 10", "epochs = 1"))
    capsys.readouterr()
    assert main(["run", "made/job.toml", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert (run["protocol"], run["test_rows"]) == ("vertical_network", 24)
    assert main(["predict", run["folder"], "--site", "made/site.toml", "--source", "rows", "--out", "p.csv"]) == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 121
