"""The top that a job names: a PyTorch module that the guest's site makes, and that no host needs."""

from __future__ import annotations

import pytest

from hekat.cli.main import main
from hekat.cost.vertical_network import cost_of_network_job
from hekat.errors import InputError, JobError, PartyStoppedError
from hekat.job.site_file import load_site
from hekat.launch.vertical_network.predict import network_way
from hekat.launch.vertical_network.run import run_network_job
from hekat.report import load_summary
from hekat.report.vertical_network.view import render_page
from hekat.run.vertical_network.load_inputs import load_network_inputs
from hekat.run.vertical_network.part_file import NETWORK_PARTS

NET = """import torch


def build(unit_count, output_count, spare=0):
    return torch.nn.Sequential(
        torch.nn.ReLU(), torch.nn.Linear(unit_count, 5), torch.nn.Tanh(), torch.nn.Linear(5, output_count + spare)
    )
"""
MODEL = "[party.clinic.model.their-top]\nfunction = 'net:build'\n"
NAMED = "[network]\nunits = 6\nguest_width = 4\nhost_width = 5\ntop = 'their-top'\n"


@pytest.fixture
def topped(clinics):
    """The job names a top that the clinic's site makes."""
    pytest.importorskip("torch", reason="needs hekat[torch]")
    (clinics.folder / "net.py").write_text(NET)
    path = clinics.folder / "site.toml"
    path.write_text(path.read_text() + MODEL)
    clinics.write_job(network=NAMED)
    return clinics


def test_a_top_that_the_guests_site_does_not_have_is_refused_before_it_begins(clinics) -> None:
    """A host's site loads what it has: the job names no code of its."""
    clinics.write_job(network=NAMED)
    for role in (None, "clinic"):
        with pytest.raises(JobError, match=r"there is no such model; expected a model of the site, which has none"):
            load_network_inputs(clinics.job, role=role)
    inputs = load_network_inputs(clinics.job, role="laboratory")
    assert inputs.tops["laboratory"].make is None
    (clinics.folder / "net.py").write_text("def build(:")
    path = clinics.folder / "site.toml"
    path.write_text(path.read_text() + MODEL)
    with pytest.raises(InputError, match="cannot be loaded"):
        clinics.load_inputs()


def test_a_module_of_the_guests_site_is_its_top_and_predicts_by_the_same_code_alone(topped, tmp_path, capsys) -> None:
    run = run_network_job(topped.load_inputs(), tmp_path / "runs")
    summary = load_summary(run.folder)
    assert (summary["top"], summary["settings"]["top"], summary["bottom_code"]) == ("module", "their-top", {})
    assert any(
        f"the top of clinic is a module of its site's own code: SHA-256 {summary['top_code']}" == note
        for note in summary["notes"]
    )
    assert "the top, code of the guest&#x27;s site" in render_page(summary)
    parts = {name: saved.part for name, saved in NETWORK_PARTS.load_all(run.folder).items()}
    assert {name: part.top_kind for name, part in parts.items()} == {"clinic": "module", "laboratory": "none"}
    assert parts["clinic"].arrays["top/3.weight"].shape == (1, 5)
    site = topped.folder / "site.toml"
    words = ["predict", str(run.folder), "--site", str(site), "--source", "patients"]
    assert main(words) == 0
    assert "160 rows are common" in capsys.readouterr().out
    (topped.folder / "net.py").write_text(NET.replace("Tanh", "Sigmoid"))
    assert main(words) == 2
    assert "the top of clinic is not the code it was trained with" in " ".join(capsys.readouterr().err.split())
    topped.write_site()
    assert main(words) == 2
    assert "there is no such model" in capsys.readouterr().err


def test_a_host_predicts_without_the_guests_code(topped, tmp_path) -> None:
    run = run_network_job(topped.load_inputs(), tmp_path / "runs")
    site = load_site(topped.write_site())
    told = {"top": "their-top", "top_code": run.summary["top_code"]}
    own = {name: {name: NETWORK_PARTS.load_own(run.folder, name)} for name in topped.names}
    network_way(own["laboratory"], site, **told).prepare()
    with pytest.raises(JobError, match="there is no such model"):
        network_way(own["clinic"], site, **told)
    with pytest.raises(InputError, match="the part of clinic needs its own top"):
        network_way(own["clinic"], site).prepare()


def test_a_top_of_other_outputs_ends_the_run_by_the_guests_name(topped, tmp_path) -> None:
    path = topped.folder / "site.toml"
    path.write_text(path.read_text() + "arguments = { spare = 1 }\n")
    with pytest.raises(PartyStoppedError, match="clinic") as stopped:
        run_network_job(topped.load_inputs(), tmp_path / "runs")
    cause = stopped.value.__cause__
    assert isinstance(cause, InputError)
    assert "a top returns outputs of another form" in str(cause)
    assert not list((tmp_path / "runs").glob("*/parts/*"))


def test_a_stopped_run_goes_on_with_its_top(topped, tmp_path) -> None:
    folder, _ = topped.stop_in_epoch_2(tmp_path / "stopped")
    topped.check_goes_on(folder, tmp_path)
    (topped.folder / "net.py").write_text(NET.replace("Tanh", "Sigmoid"))
    with pytest.raises(PartyStoppedError, match="clinic") as stopped:
        run_network_job(topped.load_inputs(), tmp_path / "other", resume_from=folder)
    assert "trained what other code of clinic's site had made" in str(stopped.value.__cause__)


def test_training_goes_on_from_a_model_of_the_same_kind_of_top_alone(topped, tmp_path) -> None:
    first = run_network_job(topped.load_inputs(), tmp_path / "runs")
    then = run_network_job(topped.load_inputs(), tmp_path / "runs", start_from=first.folder)
    assert then.summary["epochs"][0]["loss"] < first.summary["epochs"][0]["loss"]
    topped.write_job()
    with pytest.raises(InputError, match="a warm start from other top at clinic; expected dense"):
        run_network_job(topped.load_inputs(), tmp_path / "refused", start_from=first.folder)
    assert not (tmp_path / "refused").exists()


def test_a_dry_run_rehearses_the_guests_top(topped) -> None:
    assert cost_of_network_job(topped.load_inputs()).total.sent_bytes > 0
    path = topped.folder / "site.toml"
    path.write_text(path.read_text() + "arguments = { spare = 1 }\n")
    with pytest.raises(PartyStoppedError, match="clinic"):
        cost_of_network_job(topped.load_inputs())
