"""Label privacy of regressions on columns: nothing that leaves the guest follows from labels but their answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hekat.channel import PartyPublicKey
from hekat.cli.main import main
from hekat.errors import InputError, JobError, PartyStoppedError, PolicyError
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import audit
from hekat.protocol.role_session import PARTIES_FILE
from hekat.protocol.vertical.label_privacy import LabelFlips
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page
from hekat.run.vertical_linear.part_file import PARTS
from hekat.run.vertical_linear.warm_start import load_warm_start

PRIVATE = "[label_privacy]\nepsilon = 1\n"
KEPT = {"bank": "state = 'kept'"}


@pytest.mark.quick_cases("arbiter")
@pytest.mark.parametrize("form", ["arbiter", "shared_weights"])
def test_other_labels_with_the_same_answers_give_the_same_model(firms, tmp_path, monkeypatch, form: str) -> None:
    """The whole claim: once answers are drawn, a training, its losses and its probabilities know nothing of labels."""

    def answer(self, classes, ids, question, response):
        return np.array([row[0][-1] in "13579" for row in ids.to_rows()], np.int64)

    monkeypatch.setattr(LabelFlips, "flip", answer)
    firms.write_site(party=KEPT)
    arbiter = firms.ARBITER + firms.WAIVER if form == "arbiter" else ""
    training = "[training]\nepochs = 2\nbatch_rows = 40\nlearning_rate = 0.3\ncalibration_rows = 60\n"
    firms.write_job(PRIVATE + arbiter + training, **({"arbiter": '"notary"'} if arbiter else {}))
    found = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        firms.write_labels(lambda row, rng=rng: ("repaid", "defaulted")[int(rng.random() < 0.5)])
        run = run_vertical_job(firms.load_inputs(), tmp_path / f"runs-{seed}")
        found.append((run.summary["epochs"], PARTS.load_all(run.folder)))
    losses = [[epoch["loss"] for epoch in epochs] for epochs, _ in found]
    # Truncation of shares rounds by chance.
    np.testing.assert_allclose(*losses, rtol=0, atol=0 if form == "arbiter" else 1e-4)
    calibrations = [parts["bank"].part.arrays["calibration"] for _, parts in found]
    np.testing.assert_allclose(*calibrations, rtol=0, atol=0 if form == "arbiter" else 0.05)
    if form == "arbiter":
        for party in ("bank", "insurer"):
            np.testing.assert_array_equal(*(parts[party].part.arrays["weights"] for _, parts in found))


@pytest.mark.long
def test_a_run_keeps_its_answers_and_says_what_they_bound(firms, tmp_path, capsys) -> None:
    firms.write_job(PRIVATE)
    with pytest.raises(JobError, match=r"add state = \"state/bank\""):
        firms.load_inputs()
    firms.write_site(party=KEPT)
    firms.write_job(PRIVATE, test_data='"clients-test"')
    inputs = firms.load_inputs()
    assert not (firms.folder / "kept").exists()
    run = run_vertical_job(inputs, tmp_path / "runs")
    kept = (firms.folder / "kept" / "label_flips").read_bytes()
    summary = load_summary(run.folder)
    assert any("labels were replaced once by chance (epsilon 1)" in note for note in summary["notes"])
    assert any("bank: new flips" in note for note in summary["notes"])
    assert summary["results"][0]["metrics"]["auc"] > 0.6
    assert "epsilon by which labels were replaced once" in render_page(summary)
    assert "replaced by chance, epsilon 1" in dict(brief_of(summary).facts)["protected"]
    assert {one.part.label_privacy for one in PARTS.load_all(run.folder).values()} == {1.0}
    capsys.readouterr()
    assert main(["audit", str(run.folder), "--party", "bank"]) == 0
    assert "labels of 2 classes replaced once for all runs: epsilon 1 of each label, 73.11%" in capsys.readouterr().out
    again = run_vertical_job(firms.load_inputs(), tmp_path / "runs")
    assert not any("new flips" in note for note in again.summary["notes"])
    assert (firms.folder / "kept" / "label_flips").read_bytes() == kept
    other = replace(inputs, job=replace(inputs.job, settings=replace(inputs.job.settings, label_privacy=3.0)))
    with pytest.raises(PartyStoppedError) as stopped:
        run_vertical_job(other, tmp_path / "runs")
    assert isinstance(stopped.value.__cause__, PolicyError)
    with pytest.raises(InputError, match="a warm start from other label privacy at bank"):
        load_warm_start(run.folder, other)


def test_flips_among_runs_are_refused_before_anything_is_written(firms) -> None:
    firms.write_job(PRIVATE)
    firms.write_site(party={"bank": "state = 'runs/state'"})
    with pytest.raises(JobError, match="the state folder of bank lies among runs"):
        run_vertical_job(firms.load_inputs(), firms.folder / "runs")
    assert not (firms.folder / "runs").exists()


def test_a_dry_run_says_what_answers_bound_and_draws_none(firms, capsys) -> None:
    firms.write_site(party=KEPT)
    firms.write_job(PRIVATE)
    assert main(["run", str(firms.job), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["label_privacy"] == 1.0
    assert main(["run", str(firms.job), "--dry-run"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Labels are flipped once for all runs, by randomised response at epsilon 1: 73.1% stay" in told
    assert not (firms.folder / "kept").exists()


def test_numbers_are_not_replaced(firms, capsys) -> None:
    firms.write_site(party=KEPT)
    firms.write_job(f"{PRIVATE}[model]\nname = 'linear'\n", without="classes")
    assert main(["run", str(firms.job), "--dry-run"]) == 2
    assert "only classes can be replaced" in " ".join(capsys.readouterr().err.split())


def waived(folder: Path) -> list[str]:
    """The parties whose ledgers in `folder` tell of a waived budget."""
    keys = json.loads((folder / PARTIES_FILE).read_text())
    reports = [audit(path, PartyPublicKey.from_line(keys[path.stem])) for path in (folder / "ledger").iterdir()]
    return [one.party for one in reports if one.privacy is not None and one.privacy.waived]


@pytest.mark.long
def test_a_waived_budget_stands_in_the_ledger_of_its_party(firms, tmp_path) -> None:
    grant = "[party.insurer.privacy]\ndata_set = 'clients'\nepsilon = 1.0\ndelta = 1e-6\n"
    firms.write_site(firms.POLICY + "budget_waiver = true\n", more=grant)
    firms.write_job()
    run = run_vertical_job(firms.load_inputs(), tmp_path / "runs")
    assert waived(run.folder) == ["insurer"]
