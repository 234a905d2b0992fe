"""Runs that go on with the trees of an earlier one: as if it had not ended, said everywhere, with no other model."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.errors import InputError, PartyStoppedError, PolicyError, StateError
from hekat.launch.vertical_trees.run import run_trees_job
from hekat.report import load_summary
from hekat.report.views import terminal_findings
from hekat.run.vertical_trees.part_file import TREE_PARTS

MEASURED = "[validation]\nhold_out = 0.25\n[compare]\ncentralised = true\n"


def write(clinics, iterations: int, sections: str = "") -> None:
    clinics.write_job(sections, training=f"[training]\nmax_iter = {iterations}\nmax_depth = 2\nmax_bins = 8\n")


def train(clinics, iterations: int, start=None):
    write(clinics, iterations)
    return run_trees_job(clinics.load_inputs(), clinics.folder / "runs", start_from=start)


def refused(clinics, start, kind: type[Exception], match: str) -> None:
    """Nothing is written."""
    with pytest.raises(kind, match=match):
        run_trees_job(clinics.load_inputs(), clinics.folder / "refused", start_from=start)
    assert not (clinics.folder / "refused").exists()


def losses_of(run) -> dict[int, float]:
    return {one["iteration"]: one["loss"] for one in run.summary["iterations"]}


@pytest.mark.long
def test_two_iterations_and_two_from_there_are_four(clinics) -> None:
    whole, first = train(clinics, 4), train(clinics, 2)
    then = train(clinics, 4, first.folder)
    assert losses_of(then) == {number: losses_of(whole)[number] for number in (3, 4)}
    assert (whole.summary["started_from"], then.summary["started_from"]) == (None, first.folder.name)
    assert not then.summary["stopped_early"]
    found, expected = TREE_PARTS.load_all(then.folder), TREE_PARTS.load_all(whole.folder)
    for party in clinics.names:
        assert found[party].part.iterations == 4
        for name, values in expected[party].part.arrays.items():
            assert np.array_equal(values, found[party].part.arrays[name]), (party, name)
    summary = load_summary(then.folder)
    assert f"went on with the trees of run {first.folder.name}" in str(terminal_findings(summary))
    notes = [row["what"] for view in summary["seen"] for row in view["noted"]]
    assert sum(f"starts from its part of run {first.folder.name}" in note for note in notes) == 2
    events = [json.loads(line) for line in (then.folder / "events.jsonl").read_text().splitlines()]
    assert [event["run_id"] for event in events if event["event"] == "warm_start"] == [first.folder.name]


@pytest.mark.long
def test_plain_trees_beside_it_begin_anew_which_the_result_says(clinics) -> None:
    write(clinics, 2, MEASURED)
    first = run_trees_job(clinics.load_inputs(), clinics.folder / "runs")
    write(clinics, 3, MEASURED)
    same = run_trees_job(clinics.load_inputs(), clinics.folder / "runs", start_from=first.folder)
    assert same.summary["compared"]["largest_score_difference"] < 1e-12
    clinics.write_job(MEASURED, training="[training]\nmax_iter = 3\nmax_depth = 2\nmax_bins = 8\nlearning_rate = 0.5\n")
    other = run_trees_job(clinics.load_inputs(), clinics.folder / "runs", start_from=first.folder)
    assert other.summary["compared"]["largest_score_difference"] > 0.01
    assert "These begin anew by the settings of this job" in str(terminal_findings(load_summary(other.folder)))


def test_its_rows_count_as_predicted_with_the_earlier_part(clinics) -> None:
    first = train(clinics, 1)
    clinics.write_site("[policy]\nprotections = ['none']\nbin_leak_waiver = true\nmax_predictions = 299\n")
    with pytest.raises(PartyStoppedError) as stopped:
        train(clinics, 2, first.folder)
    assert isinstance(stopped.value.__cause__, PolicyError)


@pytest.mark.long
def test_a_run_started_so_is_resumed_without_the_first_one(clinics, monkeypatch) -> None:
    first = train(clinics, 1)
    whole = train(clinics, 3, first.folder)

    def leave(observer, role, record) -> None:
        if role == "laboratory" and record.iteration == 2:
            raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr("hekat.launch.vertical.run_observer.RunObserver.note_step", leave)
        with pytest.raises(PartyStoppedError):
            run_trees_job(clinics.load_inputs(), clinics.folder / "stopped", start_from=first.folder)
    (folder,) = (clinics.folder / "stopped").iterdir()
    shutil.rmtree(first.folder)
    again = run_trees_job(clinics.load_inputs(), clinics.folder / "again", resume_from=folder)
    assert losses_of(again) == losses_of(whole)
    assert again.summary["started_from"] == first.folder.name


def test_trees_of_another_model_are_refused(clinics) -> None:
    first = train(clinics, 2).folder
    refused(clinics, first, InputError, r"as many trees as the training may have.*raise training\.max_iter")
    write(clinics, 4)
    clinics.job.write_text(clinics.job.read_text().replace("'malignant', 'benign'", "'benign', 'malignant'"))
    refused(clinics, first, InputError, "other classes at clinic")
    write(clinics, 4)
    listed = "categories = ['low', 'middle', 'high', 'none']"
    clinics.job.write_text(clinics.job.read_text().replace("categories = 'found'", listed))
    refused(clinics, first, InputError, r"other categories at clinic.*got 4 categories.*under \[columns\.texture\]")
    write(clinics, 4)
    clinics.job.write_text(clinics.job.read_text().replace("max_bins = 8", "max_bins = 4"))
    refused(clinics, first, InputError, r"finer bins at clinic.*a column of 8; training goes on in the bins")
    write(clinics, 4, "[columns.m3]\nignore = true\n")
    refused(clinics, first, InputError, "other columns at laboratory.*cure: begin anew, or start from a model")


def test_what_is_no_finished_run_of_trees_is_refused(clinics, tmp_path) -> None:
    first = train(clinics, 1).folder
    write(clinics, 2)
    refused(clinics, tmp_path / "nowhere", StateError, "there is no finished run.*boosted trees across columns")
    (first / "summary.json").write_text(json.dumps({"run_id": first.name, "protocol": "vertical_linear"}))
    refused(clinics, first, StateError, "no parts of a model of protocol 'vertical_trees'; .*got 'vertical_linear'")
    with pytest.raises(InputError, match="so it cannot also start from another"):
        run_trees_job(clinics.load_inputs(), clinics.folder / "refused", resume_from=first, start_from=first)


@pytest.mark.long
def test_a_dry_run_says_what_it_would_start_from_and_how_many_iterations_are_left(clinics, capsys) -> None:
    first = train(clinics, 1).folder
    write(clinics, 3)
    assert main(["run", str(clinics.job), "--dry-run", "--json", "--start-from", str(first)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["started_from"], told["estimate"]["iterations"]) == (first.name, 2)
    assert main(["run", str(clinics.job), "--dry-run", "--start-from", str(first)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"go on with 1 iteration of run {first.name}, in its bins" in said
    assert "2 iterations at most" in said
