"""Jobs on an encrypted model as runs on one machine: what they leave and say, and that they go on after a stop."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.launch.encrypted_model.conftest import ROLES

from hekat.cli.main import main
from hekat.cost.encrypted_model import cost_of_encrypted_model_job
from hekat.errors import HekatError, InputError, PartyStoppedError, StateError
from hekat.launch.encrypted_model.run import run_encrypted_model_job
from hekat.report import load_summary
from hekat.report.views import brief_of, render_page, terminal_findings, terminal_tables
from hekat.run.horizontal.trained_model import load_trained_model


@pytest.fixture
def run(clinics, tmp_path):
    def play(**options):
        return run_encrypted_model_job(clinics.load_inputs(), tmp_path / "runs", **options)

    return play


def test_a_run_leaves_a_model_that_its_owner_measured(finished) -> None:
    summary = load_summary(finished.result.folder)
    roles = {party["name"]: party["roles"] for party in summary["parties"]}
    assert roles == {"north": ["host"], "lake": ["host"], "lab": ["owner"], "hub": ["aggregator"], "judge": ["arbiter"]}
    assert [party["rows"] for party in summary["parties"]] == [60, 60, None, None, None]
    assert (summary["test_rows"], summary["measured_on"], summary["columns"]) == (60, "test data", 5)
    assert summary["results"][0]["metrics"]["auc"] > 0.85
    assert [one["rounds_done"] for one in summary["opened"]] == [2, 4]
    assert summary["opened"][-1]["metrics"] == summary["results"][0]["metrics"]
    assert [one["round"] for one in summary["rounds"]] == [1, 2, 3, 4]
    assert {*summary["bytes"]["by_role"]} == {*ROLES}
    assert {step for one in summary["bytes"]["by_role"].values() for step in one["by_step"]} >= {"update", "weights"}
    model = load_trained_model(finished.result.folder)
    assert (model.name, model.classes) == ("logistic", ("no", "yes"))
    assert model.columns == ("age", "dose", "town=hill", "town=port", "town=other")


def test_encryption_changes_nothing_of_the_model_and_no_host_reads_it(finished, encrypted) -> None:
    plain, protected = load_summary(finished.result.folder), load_summary(encrypted.result.folder)
    assert [one["kind"] for one in (*plain["results"], *protected["results"])] == ["plain", "encrypted"]
    assert protected["results"][0]["metrics"] == pytest.approx(plain["results"][0]["metrics"], abs=1e-6)
    told = {view["party"]: {row["what"] for row in view["learned"]} for view in protected["seen"]}
    assert not any("UNENCRYPTED" in what for learned in told.values() for what in learned)
    assert {role for role, learned in told.items() if any("the model" in what for what in learned)} == {"lab"}


def test_paillier_by_choice_trains_the_same_model(clinics, run, finished) -> None:
    job = clinics.write_job(protection="paillier")
    job.write_text(job.read_text().replace('kind = "paillier"\n', 'kind = "paillier"\nkey_bits = 2048\n'))
    summary = run().summary
    assert summary["settings"]["key_bits"] == 2048
    plain = finished.result.summary["results"][0]["metrics"]
    assert summary["results"][0]["metrics"] == pytest.approx(plain, abs=1e-6)
    assert any("The key has 2,048 bits" in warning for warning in brief_of(summary).warnings)


def test_a_table_too_wide_is_refused_before_the_run(clinics, tmp_path, capsys) -> None:
    head = ",".join(f"c{number}" for number in range(2100))
    row = ",".join("1" for _ in range(2100))
    for name in ("north", "lake", "lab"):
        (clinics.folder / f"{name}.csv").write_text(f"{head},sick\n{row},yes\n{row},no\n")
    job = clinics.write_job()
    job.write_text(job.read_text().partition("[columns")[0])
    assert main(["run", str(job), "--runs", str(tmp_path / "runs")]) == 2
    assert "too many numbers" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_events_have_the_loss_of_the_models_that_the_owner_was_given(finished) -> None:
    events = [json.loads(line) for line in (finished.result.folder / "events.jsonl").read_text().splitlines()]
    rounds = [one for one in events if one["event"] == "round"]
    assert [one["round"] for one in rounds] == [1, 2, 3, 4]
    assert [one["loss"] is None for one in rounds] == [True, False, True, False]
    assert rounds[-1]["loss"] == load_summary(finished.result.folder)["results"][0]["metrics"]["log_loss"]
    assert events[-1]["event"] == "finished"


@pytest.mark.long
@pytest.mark.drawn
def test_the_report_says_who_learned_what(finished, encrypted) -> None:
    summary = load_summary(finished.result.folder)
    page = render_page(summary)
    assert "This run was NOT protected" in page
    assert "Who learns what" in page
    assert page.count("<svg") == 3
    assert len(terminal_tables(summary)) == 6
    assert terminal_findings(summary)
    assert "WITHOUT protection (all roles saw it in the clear)" in dict(brief_of(summary).facts)["result"]
    protected = load_summary(encrypted.result.folder)
    assert "NOT protected" not in render_page(protected)
    facts = dict(brief_of(protected).facts)
    told = (
        "Two hosts trained a model that they could not read, encrypted under lattice, for lab, in 4 rounds on 120 rows"
    )
    assert facts["result"].startswith(told)
    assert facts["learned"].startswith(
        "lab alone got 2 models, the last one final; north, lake, judge and hub never saw"
    )
    assert "works neither with hub nor with a host" in facts["protected"]


def test_the_owners_file_predicts_as_every_linear_model(finished, tmp_path, capsys) -> None:
    result, out = finished.result, tmp_path / "scores.csv"
    test = str(finished.clinics.folder / "lab.csv")
    assert main(["predict", str(result.folder), "--data", test, "--label", "sick", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["metrics"] == pytest.approx(result.summary["results"][0]["metrics"])
    assert len(out.read_text().splitlines()) == 61
    assert main(["audit", str(result.folder)]) == 0
    assert main(["report", str(result.folder)]) == 0


@pytest.mark.long
def test_a_host_may_be_the_owner_and_holds_rows_out(clinics, run) -> None:
    clinics.write_job("[validation]\nhold_out = 0.25\n", head="", owner="lake", training="")
    summary = run().summary
    assert [party["held_out"] for party in summary["parties"]] == [0, 15, 0, 0]
    assert (summary["test_rows"], summary["measured_on"], summary["test_rows_trained_on"]) == (15, "held-out rows", 0)
    assert [one["rounds_done"] for one in summary["opened"]] == [4]
    clinics.write_job(head="", owner="lake", training="")
    summary = run().summary
    assert (summary["measured_on"], summary["test_rows"], summary["test_rows_trained_on"]) == ("training rows", 60, 60)
    assert any("NOTHING OF NEW ROWS" in warning for warning in brief_of(summary).warnings)
    clinics.write_job(owner="lake", training="")
    assert run().summary["measured_on"] == "test data"


def test_an_owner_without_rows_has_a_model_that_nobody_measured(clinics, run) -> None:
    clinics.write_job(head="", training="")
    summary = run().summary
    assert (summary["test_rows"], summary["measured_on"], summary["results"][0]["metrics"]) == (None, None, {})
    assert any(note.startswith("nothing was measured: no rows lie at lab") for note in summary["notes"])
    assert brief_of(summary).table is None
    assert terminal_tables(summary)


def test_classes_and_numbers(clinics, run) -> None:
    clinics.write_tables(numbers=True)
    clinics.write_job(classes="")
    result = run()
    assert result.summary["results"][0]["metrics"]["r2"] > 0.5
    assert load_trained_model(result.folder).classes is None
    for name in ("north", "lake", "lab"):
        path = clinics.folder / f"{name}.csv"
        head, *rows = path.read_text().splitlines()
        low, high = np.quantile([float(row.rsplit(",", 1)[1]) for row in rows], [0.3, 0.7])
        named = [
            f"{cells},{'low' if float(y) < low else 'high' if float(y) > high else 'mid'}"
            for cells, y in (row.rsplit(",", 1) for row in rows)
        ]
        path.write_text("\n".join([head, *named]) + "\n")
    clinics.write_job(classes='classes = ["low", "mid", "high"]\n')
    result = run()
    assert result.summary["results"][0]["metrics"]["accuracy"] > 0.6
    assert load_trained_model(result.folder).parameters["weight"].shape == (5, 3)


def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_stopped(clinics, run, finished, tmp_path, monkeypatch) -> None:
    def leave(observer, role, number):
        if (role, number) == ("hub", 3):
            raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr("hekat.run.encrypted_model.folder_observer.FolderObserver.note_round", leave)
        with pytest.raises(PartyStoppedError) as stopped:
            run_encrypted_model_job(clinics.load_inputs(), tmp_path / "stopped")
    assert stopped.value.saved in ("checkpoint of round 2", "checkpoint of round 3")
    (folder,) = (tmp_path / "stopped").iterdir()
    again = run_encrypted_model_job(clinics.load_inputs(), tmp_path / "again", resume_from=folder)
    assert again.summary["results"] == finished.result.summary["results"]
    assert [one["seconds"] is None for one in again.summary["rounds"]][-1] is False
    assert any("goes on from round" in note for note in again.summary["notes"])
    with pytest.raises(StateError, match="is finished"):
        run(resume_from=finished.result.folder)
    with pytest.raises(StateError, match="there is nothing to resume"):
        run(resume_from=tmp_path)
    (clinics.folder / "lake.csv").write_text((clinics.folder / "north.csv").read_text())
    with pytest.raises(StateError, match="the rows of lake are not those that the run began with"):
        run_encrypted_model_job(clinics.load_inputs(), tmp_path / "other", resume_from=folder)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("age,dose,town,sick\n1,1,hill,\n2,2,port,no\n", "label"),
        ("age,dose,town,sick\n,1,hill,yes\n2,2,port,no\n", "age"),
        ("age,dose,town,sick\n1,1,hill,yes\n2,2,port,yes\n", "rows of one class only"),
        ("age,dose,town,sick\n1,inf,hill,yes\n2,2,port,no\n", "'dose'"),
        ("age,dose,town,sick\n1,1e20,hill,yes\n2,2,port,no\n", "'dose' of .* too large"),
        ("age,dose,town,sick\n", "row"),
        ("age,town,sick\n1,hill,yes\n2,port,no\n", "column"),
    ],
)
def test_tables_that_hosts_cannot_train_on_are_refused_before_anything_is_written(
    clinics, tmp_path, table: str, what: str
) -> None:
    for host in ("north", "lake"):
        (clinics.folder / f"{host}.csv").write_text(table)
        if what == "column":
            break
    with pytest.raises(InputError, match=what):
        clinics.load_inputs()
    assert main(["run", str(clinics.folder / "job.toml"), "--runs", str(tmp_path / "runs")]) == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("option", "what"),
    [
        (["--lose", "north:2"], "--lose has no use for a job of protocol 'encrypted_model'"),
        (["--start-from", "x"], "--start-from has no use"),
        (["--dry-run", "--resume", "x"], "--dry-run begins nothing"),
        (["--resume", "x"], "there is nothing to resume"),
    ],
)
def test_options_without_use_are_refused(clinics, tmp_path, capsys, option: list[str], what: str) -> None:
    job = str(clinics.folder / "job.toml")
    assert main(["run", job, "--runs", str(tmp_path / "runs"), *option]) == 2
    assert what in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_step_that_diverges_is_told_with_its_cure(clinics, run) -> None:
    clinics.write_job(training="learning_rate = 500.0\n")
    with pytest.raises(PartyStoppedError) as stopped:
        run()
    cause = stopped.value.__cause__
    assert isinstance(cause, HekatError)
    assert "learning_rate" in f"{cause} {cause.cure}"


def test_a_dry_run_tells_what_a_run_sends_and_writes_nothing(finished, tmp_path, capsys) -> None:
    clinics = finished.clinics
    before = sorted(clinics.folder.iterdir())
    job, runs = str(clinics.folder / "job.toml"), tmp_path / "none"
    assert main(["run", job, "--runs", str(runs), "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not runs.exists()
    assert sorted(clinics.folder.iterdir()) == before
    assert told["round"]["numbers"] == 12
    assert told["truncation_bits"] > 32
    assert [(one["name"], one["rows"]) for one in told["hosts"]] == [("north", 60), ("lake", 60)]
    sent = finished.result.summary["bytes"]["by_role"]
    for role in told["estimate"]["roles"]:
        # Models on the way to the owner are apart.
        assert 0.7 < role["total"]["sent_bytes"] / sent[role["role"]]["sent"] < 1.3, role
    assert main(["run", job, "--dry-run"]) == 0
    assert "lab alone gets the model" in " ".join(capsys.readouterr().out.split())
    assert cost_of_encrypted_model_job(clinics.load_inputs()).steps == 4
