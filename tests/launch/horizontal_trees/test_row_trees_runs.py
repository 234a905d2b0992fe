"""Jobs of trees across rows as runs on one machine: what they leave, and that they go on where they stopped."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.cost import horizontal_trees
from hekat.cost.horizontal_trees import cost_of_row_trees_job
from hekat.errors import InputError, PartyStoppedError, PolicyError, StateError
from hekat.launch.horizontal_trees.run import run_row_trees_job
from hekat.report import load_summary
from hekat.report.views import brief_of, render_page, terminal_findings, terminal_tables
from hekat.run.load_any_model import load_any_model

MEASURED = "[validation]\nhold_out = 0.2\n"


@pytest.fixture
def run(clinics, tmp_path):
    def play(**options):
        return run_row_trees_job(clinics.load_inputs(), tmp_path / "runs", **options)

    return play


@pytest.mark.long
def test_the_protected_run_ends_with_the_trees_of_the_run_in_the_clear(clinics, run, finished) -> None:
    clinics.write_whole_job("[protection]\nkind = 'none'\n")
    plain, masked = load_summary(run().folder), load_summary(finished.result.folder)
    for summary, is_plain in ((plain, True), (masked, False)):
        assert ("This run was NOT protected" in render_page(summary)) == is_plain
        assert len(terminal_tables(summary)) > 5
        assert terminal_findings(summary)
        assert brief_of(summary).table is not None
    assert [one["kind"] for one in (*plain["results"], *masked["results"])] == ["plain", "encrypted"]
    assert masked["trees"] == plain["trees"]
    assert masked["results"][0]["metrics"] == plain["results"][0]["metrics"]
    assert masked["results"][0]["metrics"]["auc"] > 0.85
    assert masked["results"][0]["validation"]["rows"] == 72
    assert [one["iteration"] for one in masked["iterations"]] == [1, 2, 3]
    losses = [one["loss"] for one in masked["iterations"]]
    assert losses == sorted(losses, reverse=True)
    for summary in (plain, masked):
        included = [(one["first"], one["last"], sorted(one["parties"])) for one in summary["included"]]
        assert included == [(1, 3, ["county", "lake", "north"])]
    assert not any("gradient" in line for line in masked["aggregator_saw"])


def test_events_end_with_the_losses_of_the_final_model(finished) -> None:
    events = [json.loads(line) for line in (finished.result.folder / "events.jsonl").read_text().splitlines()]
    final, end = events[-2:]
    assert (final["event"], final["phase"], final["iterations"], end["event"]) == (
        "validation",
        "encrypted",
        3,
        "finished",
    )
    summary = load_summary(finished.result.folder)
    assert final["metrics"] == summary["results"][0]["validation"]
    assert final["loss"] == summary["iterations"][-1]["loss"]
    told = [one["loss"] for one in events if one["event"] == "iteration"]
    assert final["loss"] < min(told)


def test_every_upload_of_a_tree_counts_as_a_histogram_or_as_leaves(finished) -> None:
    """All but the first of a tree are announced under one step; nothing of a tree counts as a session's greetings."""
    by_role = finished.result.summary["bytes"]["by_role"]
    parties = [by_role[name]["by_step"] for name in ("north", "lake", "county")]
    assert all(one["leaves"]["up"] > 0.5 * one["leaves"]["down"] for one in parties)
    hub = by_role["hub"]["by_step"]
    for kinds in (("session",), ("histograms", "leaves")):
        sent = sum(one[kind]["up"] for one in parties for kind in kinds)
        assert sent == sum(hub[kind]["shares_in"] for kind in kinds)


def test_gaps_stay_and_categories_are_columns_of_their_own(finished) -> None:
    table = finished.clinics.load_inputs().tables["north"]
    assert table.feature_names == ("age", "dose", "town=hill", "town=port", "town=mill")
    towns = table.features[:, 2:]
    assert np.isnan(table.features[:, 0]).any()
    # An empty cell of categories is in none of them.
    assert set(towns.sum(axis=1)) == {0.0, 1.0}
    notes = finished.result.summary["notes"]
    assert any("empty cells of column 'age' left empty" in note for note in notes)


def test_new_rows_are_predicted_by_whoever_has_the_model(finished, tmp_path, capsys) -> None:
    result, out = finished.result, tmp_path / "scores.csv"
    test = str(finished.clinics.folder / "test.csv")
    assert main(["predict", str(result.folder), "--data", test, "--label", "sick", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["metrics"] == pytest.approx(result.summary["results"][0]["metrics"])
    assert out.read_text().splitlines()[0] == "prediction,probability_no,probability_yes"
    assert len(out.read_text().splitlines()) == 121
    strange = tmp_path / "strange.csv"
    strange.write_text("dose,town,age\n0.5,moon,\n1.5,,44\n")
    assert main(["predict", str(result.folder), "--data", str(strange), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 2
    strange.write_text("dose,town\n0.5,hill\n")
    assert main(["predict", str(result.folder), "--data", str(strange)]) == 2
    assert "lacks columns of the model" in capsys.readouterr().err


@pytest.mark.long
def test_a_regression_is_measured_by_its_error(clinics, run) -> None:
    clinics.write_tables(numbers=True)
    clinics.write_job(f"{MEASURED}[protection]\nkind = 'none'\n", head='test_data = "test"', classes="")
    result = run()
    found = result.summary["results"][0]
    assert found["metrics"]["r2"] > 0.3
    assert found["validation"]["rmse"] > 0
    assert load_any_model(result.folder).classes is None


@pytest.mark.long
def test_a_stopped_run_goes_on_from_its_last_tree_and_ends_as_if_it_had_not_stopped(
    clinics, run, finished, tmp_path, monkeypatch
) -> None:
    whole = finished.result
    clinics.write_whole_job()

    def leave(observer, record, state):
        if record.iteration == 2:
            raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr("hekat.launch.horizontal_trees.run._Run.note_iteration", leave)
        with pytest.raises(PartyStoppedError) as stopped:
            run_row_trees_job(clinics.load_inputs(), tmp_path / "stopped")
    assert stopped.value.saved in ("checkpoint of iteration 1", "checkpoint of iteration 2")
    (folder,) = (tmp_path / "stopped").iterdir()
    again = run_row_trees_job(clinics.load_inputs(), tmp_path / "again", resume_from=folder)
    assert again.summary["trees"] == whole.summary["trees"]
    assert [one["loss"] for one in again.summary["iterations"]] == [one["loss"] for one in whole.summary["iterations"]]
    assert any(note.startswith("resumed after iteration") for note in again.summary["notes"])
    with pytest.raises(StateError, match="is finished"):
        run(resume_from=whole.folder)
    with pytest.raises(StateError, match="there is nothing to resume"):
        run(resume_from=tmp_path)
    (clinics.folder / "lake.csv").write_text((clinics.folder / "north.csv").read_text())
    with pytest.raises(StateError, match="the rows of lake are not those that the run began with"):
        run_row_trees_job(clinics.load_inputs(), tmp_path / "other", resume_from=folder)


@pytest.mark.long
def test_a_lost_party_ends_the_run_by_name_unless_the_job_bears_it(clinics, run, tmp_path) -> None:
    with pytest.raises(PartyStoppedError, match="lake") as stopped:
        run(dropouts={"lake": 2})
    assert stopped.value.saved == "checkpoint of iteration 1"
    clinics.write_job(head="min_parties = 2")
    with pytest.raises(PolicyError, match="a loss in an iteration that does not come"):
        run(dropouts={"lake": 4})


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("age,dose,town,sick\n,1,hill,yes\n,2,port,no\n", "column 'age' has no value in any row"),
        ("age,dose,town,sick\n1,1,hill,\n2,2,port,no\n", "label"),
        ("age,dose,town,sick\n1,1,hill,yes\n2,2,port,yes\n", "rows of one class only"),
        ("age,dose,town,sick\n1,inf,hill,yes\n2,2,port,no\n", "'dose'"),
        ("age,dose,town,sick\n1,1,moon,yes\n2,2,port,no\n", "town"),
        ("age,town,sick\n1,hill,yes\n2,port,no\n", "column"),
    ],
)
def test_tables_that_trees_cannot_learn_from_are_refused_before_anything_is_written(
    clinics, tmp_path, table: str, what: str
) -> None:
    for party in ("north", "lake", "county"):
        (clinics.folder / f"{party}.csv").write_text(table)
        if what == "column":
            break
    with pytest.raises(InputError, match=what):
        clinics.load_inputs()
    assert not (tmp_path / "runs").exists()


def test_a_class_that_no_party_has_and_too_few_rows_for_a_leaf_are_refused_before_anything_is_summed(clinics) -> None:
    path = clinics.write_job(classes='classes = ["no", "maybe", "yes"]\n')
    with pytest.raises(InputError, match="no party has a row of class 'maybe'"):
        clinics.load_inputs()
    path.write_text(clinics.write_job("[validation]\nhold_out = 0.2\n").read_text().replace("leaf = 10", "leaf = 145"))
    with pytest.raises(InputError, match="too few rows for a split"):
        clinics.load_inputs()


@pytest.mark.long
def test_a_dry_run_tells_what_a_run_sends_and_writes_nothing(finished, tmp_path, capsys) -> None:
    clinics = finished.clinics
    before = sorted(clinics.folder.iterdir())
    job, runs = str(clinics.folder / "job.toml"), tmp_path / "none"
    assert main(["run", job, "--runs", str(runs), "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not runs.exists()
    assert sorted(clinics.folder.iterdir()) == before
    assert [(one["rows"], one["held_out"]) for one in told["parties"]] == [(120, 24)] * 3
    sent = finished.result.summary["bytes"]["by_role"]
    for role in told["estimate"]["roles"]:
        # Random labels grow full trees, and the losses of the final model are apart.
        assert 0.8 < role["total"]["sent_bytes"] / sent[role["role"]]["sent"] < 1.3, role
    assert main(["run", job, "--dry-run"]) == 0
    assert "works in" in capsys.readouterr().out
    assert main(["run", job, "--dry-run", "--bandwidth", "100"]) == 2
    assert main(["run", job, "--dry-run", "--lose", "lake:2"]) == 2


@pytest.mark.long
def test_a_rehearsal_on_fewer_rows_has_leaves_of_fewer_rows(clinics, monkeypatch) -> None:
    monkeypatch.setattr(horizontal_trees, "REHEARSED_ROWS", (40, 80))
    path = clinics.write_job(MEASURED)
    path.write_text(path.read_text().replace("leaf = 10", "leaf = 140"))
    costs = cost_of_row_trees_job(clinics.load_inputs())
    assert {role.role for role in costs.roles} == {"north", "lake", "county", "hub"}
