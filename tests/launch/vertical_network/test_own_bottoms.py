"""Bottoms that a job names: a fixed map of Hekat's, or a PyTorch module that a party's site makes."""

from __future__ import annotations

import pytest

from hekat.cli.main import main
from hekat.errors import InputError, JobError, PartyStoppedError
from hekat.launch.vertical_network.run import run_network_job
from hekat.report import load_summary

NET = """import torch


def build(column_count, output_count, seed=7):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(column_count, output_count), torch.nn.ReLU())


def wide(column_count, output_count):
    return torch.nn.Linear(column_count, output_count + 1)
"""
MODEL = "[party.laboratory.model.their-net]\nfunction = 'net:build'\n"
CLEAR = "[protection]\nkind = 'none'\n"
NAMED = "[network.bottoms]\nlaboratory = 'their-net'\n"


def add_to_site(clinics, lines: str) -> None:
    path = clinics.folder / "site.toml"
    path.write_text(path.read_text() + lines)


def test_principal_components_are_a_hosts_features_by_name(clinics, tmp_path) -> None:
    clinics.write_job(f"{CLEAR}[network.bottoms]\nlaboratory = 'principal_components'\n")
    summary = load_summary(run_network_job(clinics.load_inputs(), tmp_path / "runs").folder)
    assert summary["bottoms"]["laboratory"] == "principal_components"
    assert summary["bottom_code"] == {}
    clinics.write_job(f"{CLEAR}[network.bottoms]\nclinic = 'principal_components'\n")
    with pytest.raises(JobError, match="gives clinic a fixed map"):
        clinics.load_inputs()


def test_a_model_that_the_site_does_not_have_is_refused_before_it_begins(clinics) -> None:
    clinics.write_job(CLEAR + NAMED)
    with pytest.raises(JobError, match="there is no such model; expected one of random_features, principal_components"):
        clinics.load_inputs()
    add_to_site(clinics, MODEL)
    with pytest.raises(InputError):
        clinics.load_inputs()


@pytest.mark.long
def test_a_module_of_the_site_maps_its_columns_and_predicts_by_the_same_code_alone(
    clinics, tmp_path, monkeypatch, capsys
) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    net = clinics.folder / "net.py"
    net.write_text(NET)
    add_to_site(clinics, MODEL)
    clinics.write_job(CLEAR + NAMED)
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    summary = load_summary(run.folder)
    assert summary["bottoms"]["laboratory"] == "module"
    assert len(summary["bottom_code"]["laboratory"]) == 64
    site = str(clinics.folder / "site.toml")
    assert main(["predict", str(run.folder), "--site", site, "--source", "patients"]) == 0
    assert "160 rows are common" in capsys.readouterr().out
    net.write_text(NET.replace("ReLU", "Tanh"))
    assert main(["predict", str(run.folder), "--site", site, "--source", "patients"]) == 2
    assert "is not the code it was trained with" in capsys.readouterr().err


def test_a_module_of_another_width_ends_the_run_by_the_partys_name(clinics, tmp_path) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    (clinics.folder / "net.py").write_text(NET)
    add_to_site(clinics, MODEL.replace("net:build", "net:wide"))
    clinics.write_job(CLEAR + NAMED)
    with pytest.raises(PartyStoppedError, match="laboratory") as stopped:
        run_network_job(clinics.load_inputs(), tmp_path / "runs")
    assert isinstance(stopped.value.__cause__, InputError)
