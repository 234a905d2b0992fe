"""Label privacy of trees across columns: nothing that leaves the guest follows from labels but their answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import InputError, JobError, PartyStoppedError, StateError
from hekat.launch.vertical_trees.run import run_trees_in_processes, run_trees_job
from hekat.protocol.vertical.label_privacy import LabelFlips
from hekat.report import load_summary
from hekat.run.vertical_trees.part_file import TREE_PARTS
from hekat.run.vertical_trees.warm_start import load_trees_start

PRIVATE = "[label_privacy]\nepsilon = 2\n"
KEPT = {"clinic": "state = 'kept'"}


def test_other_labels_with_the_same_answers_give_the_same_trees(clinics, tmp_path, monkeypatch) -> None:
    """The whole claim: once answers are drawn, splits, sides and leaves know nothing of labels."""

    def answer(self, classes, ids, question, response):
        return np.array([int(row[0][1:]) % 7 < 3 for row in ids.to_rows()], np.int64)

    monkeypatch.setattr(LabelFlips, "flip", answer)
    clinics.write_site(party=KEPT)
    clinics.write_job(
        PRIVATE + "[training]\nmax_iter = 3\nmax_depth = 2\nmax_bins = 8\nearly_stopping = true\n", training=""
    )
    table, found = clinics.folder / "clinic.csv", []
    for swapped in (False, True):
        if swapped:
            words = table.read_text().replace("benign", "?").replace("malignant", "benign").replace("?", "malignant")
            table.write_text(words)
        run = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
        found.append((run.summary["iterations"], TREE_PARTS.load_all(run.folder)))
    assert [one["loss"] for one in found[0][0]] == [one["loss"] for one in found[1][0]]
    for party in clinics.names:
        one, other = (parts[party].part.arrays for _, parts in found)
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.long
def test_a_run_predicts_labels_and_not_answers(clinics, tmp_path) -> None:
    """Its trees learn odds of answers; scores are corrected to odds of labels, as scores of plain trees are."""
    clinics.write_site(party=KEPT)
    clinics.write_job(f"{PRIVATE}[validation]\nhold_out = 0.25\n[compare]\ncentralised = true\n")
    run = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    summary = load_summary(run.folder)
    assert any("labels were replaced once by chance (epsilon 2)" in note for note in summary["notes"])
    assert any("clinic: new flips" in note for note in summary["notes"])
    assert summary["compared"]["largest_score_difference"] < 1e-12
    assert summary["results"][0]["metrics"]["auc"] > 0.85
    parts = TREE_PARTS.load_all(run.folder)
    assert {one.part.label_privacy for one in parts.values()} == {2.0}
    job = clinics.load_inputs()
    plain = replace(job, job=replace(job.job, settings=replace(job.job.settings, label_privacy=None)))
    with pytest.raises(InputError, match="a warm start from other label privacy at"):
        load_trees_start(run.folder, plain)


def test_flips_among_runs_are_refused_before_anything_is_written(clinics) -> None:
    clinics.write_job(PRIVATE)
    with pytest.raises(JobError, match=r"add state = \"state/clinic\""):
        clinics.load_inputs()
    clinics.write_site(party={"clinic": "state = 'runs/state'"})
    for run in (run_trees_job, lambda inputs, root: run_trees_in_processes(inputs, None, root)):
        with pytest.raises(JobError, match="the state folder of clinic lies among runs"):
            run(clinics.load_inputs(), clinics.folder / "runs")
    assert not (clinics.folder / "runs").exists()


@pytest.mark.long
def test_a_stopped_run_does_not_go_on_with_other_answers(clinics, tmp_path) -> None:
    """A lost file begins a new key; the two runs' answers would add up unseen."""
    clinics.write_site(party=KEPT)
    clinics.write_job(PRIVATE)
    run = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    (run.folder / "summary.json").unlink()
    (clinics.folder / "kept" / "label_flips").unlink()
    with pytest.raises(PartyStoppedError) as stopped:
        run_trees_job(clinics.load_inputs(), tmp_path / "runs", resume_from=run.folder)
    assert isinstance(stopped.value.__cause__, StateError)
    assert "trained on other rows of clinic" in str(stopped.value.__cause__)
