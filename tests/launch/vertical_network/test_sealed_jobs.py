"""A job of form sealed: it needs no waiver, goes on where it stopped, and what it leaves says what opened."""

from __future__ import annotations

import csv
import json

import pytest

from hekat.cli.main import main
from hekat.errors import InputError, PolicyError
from hekat.job.site_file import load_site
from hekat.launch.local.processes import JobFiles
from hekat.launch.vertical_network.predict import predict_network_jointly
from hekat.launch.vertical_network.run import run_network_in_processes, run_network_job
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page
from hekat.run.vertical_network.part_file import NETWORK_PARTS

SEALED = "[protection]\nkind = 'none'\nform = 'sealed'\n"
POLICY = "[policy]\nprotections = ['lattice', 'none']\n"
TRAINING = "[training]\nepochs = 3\nbatch_rows = 64\n"
NETWORK = "[network]\nunits = 3\n"


def test_a_run_needs_no_waiver_and_says_that_the_loss_alone_opened(clinics, tmp_path) -> None:
    clinics.write_job(SEALED, training=TRAINING, network=NETWORK, waiver="")
    clinics.write_site(POLICY)
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    summary = load_summary(run.folder)
    assert summary["settings"]["shared_rate"] == 0.1
    assert summary["settings"]["limit_spreads"] == 3.0
    assert "rotation_accepted" not in summary["settings"]
    assert "learned the mean loss of each epoch" in "\n".join(summary["notes"])
    assert summary["learned"] == []
    assert "the mean loss of each epoch" in render_page(summary)
    assert "WAIVED" not in "".join(brief_of(summary).warnings)
    parts = NETWORK_PARTS.load_all(run.folder)
    shares = [one.part.arrays["sealed_share"] for one in parts.values()]
    assert [one.part.form for one in parts.values()] == ["sealed", "sealed"]
    # The clinic's ones, its radius and three textures, and six columns of the laboratory.
    assert [share.shape for share in shares] == [(11, 4, 2), (11, 4, 2)]


@pytest.fixture
def sealed(clinics):
    clinics.write_job(SEALED, training=TRAINING, network=NETWORK, waiver="")
    clinics.write_site(POLICY)
    return clinics


def test_a_stopped_run_goes_on_from_its_last_epoch(sealed, tmp_path) -> None:
    folder, _ = sealed.stop_in_epoch_2(tmp_path / "stopped")
    sealed.check_goes_on(folder, tmp_path)


def test_a_run_begins_with_the_weights_of_another_of_its_form(sealed, tmp_path) -> None:
    first = run_network_job(sealed.load_inputs(), tmp_path / "runs")
    then = run_network_job(sealed.load_inputs(), tmp_path / "runs", start_from=first.folder)
    assert then.summary["started_from"] == first.folder.name
    sealed.write_job("[protection]\nkind = 'none'\nhost_bottom = 'source'\n", training=TRAINING, network=NETWORK)
    sealed.write_site(f"{POLICY}column_leak_waiver = true\n")
    with pytest.raises(InputError, match="a warm start from other form"):
        run_network_job(sealed.load_inputs(), tmp_path / "refused", start_from=first.folder)


def test_a_site_that_names_other_forms_takes_no_part(sealed) -> None:
    sealed.write_site(f"{POLICY}network_forms = ['shared']\n")
    with pytest.raises(PolicyError, match="does not allow a split network of form 'sealed'"):
        sealed.load_inputs()


def test_a_dry_run_says_who_would_learn_what_and_writes_nothing(sealed, capsys) -> None:
    before = sorted(sealed.folder.rglob("*"))
    assert main(["run", str(sealed.job), "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["name"]: one["learns"] for one in told["parties"]} == {
        "clinic": "the mean loss of each epoch",
        "laboratory": "nothing but when training ends",
    }
    assert told["estimate"]["batches"] == 3
    assert all(role["later"]["sent_bytes"] > 1000 for role in told["estimate"]["roles"])
    assert sorted(sealed.folder.rglob("*")) == before


def test_a_guest_without_columns_trains_on_the_hosts_is_measured_and_predicts(clinics, tmp_path, capsys) -> None:
    table = clinics.folder / "clinic.csv"
    with table.open(newline="") as file:
        rows = [[row["patient"], row["label"]] for row in csv.DictReader(file)]
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["patient", "label"], *rows])
    measured = "[validation]\nhold_out = 0.25\n[compare]\ncentralised = true\n"
    clinics.write_job(measured + SEALED, training=TRAINING, network=NETWORK, waiver="")
    clinics.job.write_text(clinics.job.read_text().partition("[columns.texture]")[0])
    clinics.write_site(f"{POLICY}joined_rows = true\n")
    inputs = clinics.load_inputs()
    assert main(["run", str(clinics.job), "--dry-run", "--json"]) == 0
    learns = [one["learns"] for one in json.loads(capsys.readouterr().out)["parties"]]
    assert learns == ["the mean loss of each epoch, and scores of rows to measure on", "nothing but when training ends"]
    run = run_network_job(inputs, tmp_path / "runs")
    assert [one["kind"] for one in load_summary(run.folder)["results"]] == ["plain", "centralised"]
    parts = NETWORK_PARTS.load_all(run.folder)
    # The clinic's ones, and six columns of the laboratory.
    assert parts["clinic"].part.arrays["sealed_share"].shape == (7, 4, 2)
    predicted = predict_network_jointly(run.folder, load_site(clinics.folder / "site.toml"), "patients")
    assert predicted.by_receiver["clinic"].metrics.keys() == {"accuracy", "log_loss", "auc"}


@pytest.mark.long
def test_roles_in_processes_of_their_own(sealed, tmp_path) -> None:
    sealed.write_job(SEALED.replace("none", "lattice"), training=TRAINING, network=NETWORK, waiver="")
    files = JobFiles(sealed.job, sealed.folder / "site.toml", None, {})
    apart = run_network_in_processes(sealed.load_inputs(), files, tmp_path / "apart")
    assert apart.summary["played"] == "at once"
    assert [one["epoch"] for one in apart.summary["epochs"]] == [1, 2, 3]
    assert {one.part.form for one in NETWORK_PARTS.load_all(apart.folder).values()} == {"sealed"}
