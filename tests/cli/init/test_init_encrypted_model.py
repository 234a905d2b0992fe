"""`hekat init --protocol encrypted_model`: files that parse, say true defaults, and run on tables of one's own."""

from __future__ import annotations

import json

import pytest
from tests.cli.init.test_init import _SETTING, read_and_note, settings_in, uncomment
from tests.cli.init.test_init_trees import _DEFAULT

from hekat.cli.main import main
from hekat.job.encrypted_model.job_file import load_encrypted_model_job
from hekat.job.site_file import load_site
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining

INIT = ("init", "--protocol", "encrypted_model")


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_defaults_that_are_uncommented_change_nothing(tmp_path, protection: str) -> None:
    assert main([*INIT, str(tmp_path), "--hosts", "a,b,c", "--owner", "b", "--protection", protection]) == 0
    job, site = load_encrypted_model_job(tmp_path / "job.toml"), load_site(tmp_path / "site.toml")
    assert job.settings.everyone == ("a", "b", "c", "hub", "arbiter")
    assert (job.settings.protection, job.settings.training) == (protection, EncryptedTraining())
    for name in ("job.toml", "site.toml"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(_DEFAULT.sub("", text))
        assert (tmp_path / name).read_text() != text
    again = load_encrypted_model_job(tmp_path / "job.toml")
    assert (again.settings, again.hold_out, again.timeout_s) == (job.settings, job.hold_out, job.timeout_s)
    assert load_site(tmp_path / "site.toml").policy == site.policy


def test_every_setting_that_is_read_is_written_with_its_default(tmp_path, monkeypatch) -> None:
    assert main([*INIT, str(tmp_path), "--protection", "paillier"]) == 0
    asked = read_and_note(tmp_path, monkeypatch, load_encrypted_model_job)
    texts = [tmp_path / name for name in ("job.toml", "site.toml")]
    commented = settings_in(*(path.read_text() for path in texts))
    written = settings_in(*(uncomment(path, _SETTING) for path in texts))
    plain = settings_in(*(uncomment(path, _DEFAULT) for path in texts))
    # The one value that these can have is not worth a line.
    of_the_job = {key for key in asked if not key[0].startswith("party")} - {("", "sparse"), ("model", "l1")}
    assert len(of_the_job) > 40
    assert sorted(of_the_job - written.keys()) == []
    known = {key: asked[key] for key in plain.keys() - commented.keys() if asked.get(key) is not None}
    assert len(known) > 20
    assert {key: plain[key] for key in known} == known


def test_the_files_run_once_tables_lie_where_they_say(tmp_path, capsys) -> None:
    assert main([*INIT, str(tmp_path), "--model", "linear", "--label", "stay", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["protocol"] == "encrypted_model"
    (tmp_path / "data").mkdir()
    for name in ("alpha", "beta", "gamma"):
        rows = [f"{n % 7},{(3 * n) % 5},{n % 7 + 2 * ((3 * n) % 5)}" for n in range(40)]
        (tmp_path / "data" / f"{name}.csv").write_text("\n".join(["age,dose,stay", *rows]) + "\n")
    job = tmp_path / "job.toml"
    site = tmp_path / "site.toml"
    site.write_text(site.read_text().replace("#protections = [", 'protections = ["none", '))
    job.write_text(job.read_text().replace('#kind = "lattice"', 'kind = "none"   '))
    assert main(["run", str(job), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rounds"]) == EncryptedTraining().rounds


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--parties", "a,b"], "--parties has no use"),
        (["--guest", "a"], "--guest has no use"),
        (["--from", "x.csv"], "--from is for jobs of other protocols"),
        (["--example"], "--example is for jobs of other protocols"),
        (["--data", "sql"], "--data is for jobs of other protocols"),
        (["--model", "mlp"], "--model does not fit this job"),
        (["--hosts", "a"], "hosts"),
        (["--hosts", "a,b"], "--allow-two-parties"),
        (["--arbiter", "hub"], "a different name for each"),
        (["--owner", "../x"], "name cannot be used"),
        (["--classes", "yes"], "classes"),
        (["--protocol", "horizontal", "--owner", "x"], "--owner has no use"),
    ],
)
def test_choices_that_no_job_can_have_are_refused_and_nothing_is_written(tmp_path, capsys, words, what: str) -> None:
    folder = tmp_path / "new"
    assert main([*INIT, str(folder), *words]) == 2
    assert what in capsys.readouterr().err
    assert not folder.exists()


def test_two_hosts_that_accept_it_have_a_job_that_says_so(tmp_path) -> None:
    assert main([*INIT, str(tmp_path), "--hosts", "a,b", "--allow-two-parties"]) == 0
    assert load_encrypted_model_job(tmp_path / "job.toml").settings.allow_two_parties
