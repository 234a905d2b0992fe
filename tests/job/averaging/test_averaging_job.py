"""Jobs of loops that an engine trains: what they may say, and that Hekat by itself does not run them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.launch.flower.loop_sites import PARTIES, make_sites

from hekat.cli.main import main
from hekat.errors import HekatError, InputError, JobError
from hekat.job.agreed_terms import terms_of
from hekat.job.averaging.job_file import AveragingJob, load_averaging_job
from hekat.job.load_any_job import approvers_of, load_any_job, roles_of
from hekat.launch.nvflare.order import make_order


def test_a_loops_job_says_what_every_site_approves(tmp_path: Path) -> None:
    job = load_any_job(make_sites(tmp_path, rounds=7).job_path)
    assert isinstance(job, AveragingJob)
    assert (job.round_count, job.server_learns_model) == (7, False)
    assert roles_of(job) == (*PARTIES, "aggregator")
    assert approvers_of(job) == PARTIES
    terms = dict(terms_of(job))
    assert terms["rounds"] == "up to 7"
    assert terms["the engine's server"] == "learns no model"


def test_a_server_that_learns_the_model_stands_in_the_terms(tmp_path: Path) -> None:
    job = load_any_job(make_sites(tmp_path, more="server_learns_model = true", approved=False).job_path)
    assert dict(terms_of(job))["the engine's server"].startswith("LEARNS the mean of every round")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("rounds = 2", "rounds = 0"), "rounds refused"),
        (("rounds = 2", ""), "rounds is missing"),
        (("rounds = 2", 'rounds = 2\nmodel = "x"'), "model is not a setting"),
        (("[codec]", '[protection]\nopening = "authority"\n[codec]'), "protection.opening"),
        (("[codec]", '[protection]\nkind = "none"\n[codec]'), "kind is not a setting"),
        # An app's updates are masked whole: nothing of a model that an engine trains is ranked.
        (("[codec]", "[protection]\nmasked = 0.1\n[codec]"), "protection.masked is not a setting"),
        (('"north", "lake", "county"', '"north", "lake"'), "two parties learn"),
        (('"north", "lake", "county"', '"north", "lake", "lake"'), "named twice"),
    ],
)
def test_what_a_loops_job_cannot_say_is_refused(tmp_path: Path, change: tuple[str, str], match: str) -> None:
    path = make_sites(tmp_path, approved=False).job_path
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(HekatError, match=match):
        load_averaging_job(path)


@pytest.mark.parametrize("command", ["run", "run --role north --relay x.sock", "run --processes"])
def test_hekat_run_points_to_the_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    sites = make_sites(tmp_path)
    verb, *options = command.split()
    assert main([verb, str(sites.job_path), *options]) == 2
    assert "hekat party" in capsys.readouterr().err


def test_nvflares_recipe_refuses_it_too(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="an app that an engine runs"):
        make_order(make_sites(tmp_path).job_path)


def test_site_check_and_approval_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sites = make_sites(tmp_path, approved=False)
    site = str(sites.site_file("north"))
    assert main(["job", "approve", str(sites.job_path), "--site", site]) == 0
    assert main(["site", "check", str(sites.job_path), "--site", site]) == 0
    assert sites.job.digest.hex() in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--role", "aggregator"], ["--idle", "0"], ["--role", "nobody"]])
def test_hekat_party_refuses_what_it_cannot_play(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    sites = make_sites(tmp_path)
    role = "aggregator" if "aggregator" in options else "north"
    files = ["--socket", str(tmp_path / "p.sock"), "--site", str(sites.site_file(role))]
    assert main(["party", str(sites.job_path), *files, *options]) == 2
    assert not (tmp_path / "p.sock").exists()
    assert "cure" in capsys.readouterr().err


@pytest.mark.parametrize("runs", ["file", "file/runs", "file/made/later", "link"])
def test_hekat_party_refuses_a_file_as_its_folder_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], runs: str
) -> None:
    """Before it waits: the run would begin for all parties, and end for want of a folder."""
    sites = make_sites(tmp_path)
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    files = ["--socket", str(tmp_path / "p.sock"), "--site", str(sites.site_file("north")), "--idle", "0.1"]
    assert main(["party", str(sites.job_path), *files, "--runs", str(tmp_path / runs)]) == 2
    told = capsys.readouterr().err
    assert "runs can have no folder here" in told
    assert "cure" in told
    assert not (tmp_path / "p.sock").exists()
    assert (tmp_path / "file").read_text() == "kept"


def test_hekat_party_ends_when_nobody_comes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sites = make_sites(tmp_path)
    files = ["--socket", str(tmp_path / "p.sock"), "--site", str(sites.site_file("north"))]
    assert main(["party", str(sites.job_path), *files, "--idle", "0.1", "--runs", str(tmp_path / "runs")]) != 0
    assert "no run began" in capsys.readouterr().err


def test_the_setting_of_rounds_is_an_input_error(tmp_path: Path) -> None:
    path = make_sites(tmp_path, approved=False).job_path
    path.write_text(path.read_text().replace("rounds = 2", "rounds = 1000001"))
    with pytest.raises(InputError):
        load_averaging_job(path)
