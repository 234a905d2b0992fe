"""A job with folds by the command line: what it prints and leaves, how it goes on after a stop, what it refuses."""

from __future__ import annotations

import json

import pytest

from hekat.protocol.horizontal.training import loop as training_module

FOLDS = "[validation]\nfolds = 3\n\n[protection]"


@pytest.fixture
def folded(workplace):
    """Three folds, two rounds, columns as they are."""
    workplace.shorten()
    workplace.edit("job.toml", r"\[protection\]", FOLDS)
    return workplace


def in_the_clear(workplace):
    workplace.edit("job.toml", 'kind = "lattice"', 'kind = "none"')
    workplace.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["none"]')
    return workplace


@pytest.mark.long
def test_a_job_with_folds_says_mean_and_deviation(folded) -> None:
    answer = folded.run()
    assert answer.code == 0, answer.err
    told = " ".join(answer.out.split())
    assert "Cross-validated over 3 folds, such a model is right for" in told
    assert "mean of 3 folds" in told
    assert "3 of the 3 models of folds came to the last round" in told
    (folder,) = folded.folders()
    summary = json.loads((folder / "summary.json").read_text())
    found = summary["cross_validation"]
    assert sum(one["rows"] for one in found["folds"]) == 60
    values = [one["accuracy"] for one in found["folds"]]
    mean = sum(values) / 3
    assert found["mean"]["accuracy"] == pytest.approx(mean)
    assert found["deviation"]["accuracy"] == pytest.approx((sum((v - mean) ** 2 for v in values) / 2) ** 0.5)
    assert len(summary["rounds"]["encrypted"]) == 2
    assert summary["settings"]["folds"] == 3
    assert any("3 models more were trained" in note for note in summary["notes"])
    page = folded.call("report", folder)
    assert "Cross-validation" in page.out
    assert "fold 3" in page.out
    assert "Each model on the common test set" not in (folder / "report.html").read_text()
    learnt = folded.call("audit", folder)
    assert learnt.code == 0
    assert "fold-" in learnt.out
    # The encrypted sums tell what sums in the clear tell, but for the rounding of updates.
    in_the_clear(folded)
    assert folded.run().code == 0
    plain = json.loads((folded.folders()[-1] / "summary.json").read_text())["cross_validation"]
    assert plain["mean"]["log_loss"] == pytest.approx(found["mean"]["log_loss"], rel=1e-3)


@pytest.mark.long
def test_a_run_that_stops_in_a_fold_goes_on_from_the_fold_before(folded, monkeypatch) -> None:
    in_the_clear(folded)
    split, stops = training_module.split_fold, [True]

    def stop_once(table, fold, settings):
        if fold == 2 and stops:
            raise OSError("the disk is gone")
        return split(table, fold, settings)

    monkeypatch.setattr(training_module, "split_fold", stop_once)
    answer = folded.run()
    assert answer.code == 2
    assert "checkpoint of round 2 and 1 fold" in " ".join(answer.err.split())
    (stopped,) = folded.folders()
    stops.clear()
    answer = folded.run("--resume", stopped)
    assert answer.code == 0, answer.err
    resumed = json.loads((folded.folders()[-1] / "summary.json").read_text())
    assert folded.run().code == 0
    whole = json.loads((folded.folders()[-1] / "summary.json").read_text())
    assert resumed["cross_validation"] == whole["cross_validation"]
    again = folded.run("--resume", folded.folders()[-1])
    assert again.code == 2
    assert "is finished" in again.err


def test_a_party_that_is_lost_ends_a_run_with_folds(five) -> None:
    five.shorten()
    five.edit("job.toml", r"\[protection\]", FOLDS)
    answer = five.run("--lose", "west:2")
    assert answer.code == 2
    assert "at least 5 of 5" in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("folds = 1", ["validation.folds", "from 2 to 100"]),
        ("folds = 21", ["cannot be cut into 21 folds", "20 rows", "lower validation.folds"]),
        ("folds = 3\nhold_out = 0.2", ["validation.folds or validation.hold_out", "leave one of them out"]),
        ("folds = 3\nevery = 2", ["validation.every", "each fold is measured once"]),
        ("bins = 8", ["add hold_out = 0.2 or folds = 5"]),
    ],
)
def test_folds_that_cannot_be_are_refused(lines, found, workplace) -> None:
    workplace.edit("job.toml", r"\[protection\]", f"[validation]\n{lines}\n\n[protection]")
    answer = workplace.run()
    assert answer.code == 2
    assert not workplace.folders()
    for words in found:
        assert words in " ".join(answer.err.split())


def test_folds_beside_test_data_are_refused(folded) -> None:
    folded.edit("job.toml", 'data = "visits"', 'data = "visits"\ntest_data = "later"')
    answer = folded.run()
    assert answer.code == 2
    assert "test_data or validation.folds" in " ".join(answer.err.split())


def test_a_dry_run_counts_the_rounds_of_all_models(folded) -> None:
    in_the_clear(folded)
    with_folds = json.loads(folded.call("run", folded.folder / "job.toml", "--dry-run", "--json").out)
    folded.edit("job.toml", "folds = 3", "hold_out = 0.2")
    once = json.loads(folded.call("run", folded.folder / "job.toml", "--dry-run", "--json").out)
    assert (with_folds["rounds"], once["rounds"]) == (8, 2)
    one, other = with_folds["protections"][0], once["protections"][0]
    # A sum for each fold at its end, where the other job has one in all.
    assert one["last_bytes"] == pytest.approx(3 * other["last_bytes"], rel=0.02)
    assert one["run_bytes"] == one["first_bytes"] + 8 * one["round_bytes"] + one["last_bytes"]


@pytest.mark.long
def test_folds_in_processes_are_those_of_one_process(folded) -> None:
    """In the clear too, where an update has no bound that a result could hold."""
    in_the_clear(folded)
    assert folded.run().code == 0
    answer = folded.run("--processes")
    assert answer.code == 0, answer.err
    one, other = (json.loads((folder / "summary.json").read_text()) for folder in folded.folders())
    assert one["cross_validation"] == other["cross_validation"]
