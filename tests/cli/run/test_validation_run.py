"""Validation on held-out rows as a newcomer asks for it in a job: events, summary, tables, report, resumed, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hekat.protocol.secure_sum.masked.aggregator import MaskedSummation
from hekat.report import load_summary, terminal_findings, terminal_tables


@pytest.fixture
def validating(workplace):
    workplace.edit("job.toml", r"\[protection\]", "[validation]\nhold_out = 0.25\nbins = 16\n\n[protection]")
    return workplace


@pytest.fixture
def stop_at_in(monkeypatch) -> Callable[..., Path]:
    """Runs the job on a machine that goes down as its aggregator serves a step; gives the run's folder."""

    def run(workplace, at: str) -> Path:
        serve = MaskedSummation.serve

        def stop(self: MaskedSummation, step: str, then: str = "") -> None:
            if step == at:
                raise OSError("the machine goes down")
            serve(self, step, then)

        before = workplace.folders()
        with monkeypatch.context() as patch:
            patch.setattr(MaskedSummation, "serve", stop)
            assert workplace.run().code == 2
        (stopped,) = (folder for folder in workplace.folders() if folder not in before)
        return stopped

    return run


@pytest.fixture
def stop_at(validating, stop_at_in) -> Callable[[str], Path]:
    return lambda at: stop_at_in(validating, at)


def events_of(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


@pytest.mark.long
def test_a_job_with_rows_held_out_is_run_and_told_of_everywhere(validating) -> None:
    validating.edit("job.toml", "weight_max = 100", "weight_max = 100\n\n[compare]\nalone = true\nplain = true")
    validating.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["lattice", "none"]')
    answer = validating.run("--verbose")
    assert answer.code == 0, answer.err
    assert "held out 0." in answer.out  # a line while it goes on
    assert "Each model on rows that the parties held out" in answer.out
    assert "Validation, round by round" in answer.out
    assert "rows that the parties held out; there was no common test set" in " ".join(answer.out.split())
    (folder,) = validating.folders()
    summary = load_summary(folder)
    assert [party["held_out"] for party in summary["parties"]] == [5, 5, 5]
    assert (summary["settings"]["hold_out"], summary["settings"]["score_bins"]) == (0.25, 16)
    by_name = {result["name"]: result for result in summary["results"]}
    assert by_name["north alone"]["validation"]["rows"] == 5
    encrypted, plain = by_name["encrypted federated"], by_name["plain federated"]
    assert encrypted["validation"]["rows"] == plain["validation"]["rows"] == 15
    assert encrypted["validation"]["log_loss"] == pytest.approx(plain["validation"]["log_loss"], abs=1e-3)
    events = events_of(folder)
    rounds = [event for event in events if event["event"] == "round" and event["phase"] == "encrypted"]
    assert [event["validation"]["rows"] for event in rounds] == [15, 15]
    assert rounds[1]["validation"] == summary["rounds"]["encrypted"][1]["validation"]
    finals = [event for event in events if event["event"] == "validation"]
    assert [event["phase"] for event in finals] == ["plain", "encrypted"]
    assert finals[1]["metrics"] == encrypted["validation"]
    page = (folder / "report.html").read_text()
    assert "Validation, round by round" in page
    assert any("15 rows of 3 parties were held out" in note for note in summary["notes"])
    assert any("fewer than 20 held-out rows" in note for note in summary["notes"])
    assert validating.call("audit", folder).code == 0


@pytest.mark.long
def test_without_it_nothing_is_said_of_it(workplace) -> None:
    assert workplace.run().code == 0
    (folder,) = workplace.folders()
    summary = load_summary(folder)
    assert "hold_out" not in summary["settings"]
    assert not any("held out" in note for note in summary["notes"])
    titles = [table.title for table in terminal_tables(summary)]
    assert not any("Validation" in title or "held out" in title for title in titles)
    assert not any("held out" in line for finding in terminal_findings(summary) for line in finding.lines)
    assert "held out" not in (folder / "report.html").read_text()


@pytest.mark.long
def test_a_run_that_ended_but_for_its_last_validation_is_resumed_for_that(validating, stop_at) -> None:
    stopped = stop_at("validation/final")
    answer = validating.run("--resume", stopped)
    assert answer.code == 0, answer.err
    resumed = validating.folders()[1]
    summary = load_summary(resumed)
    assert summary["rounds"]["encrypted"] == []
    assert summary["results"][-1]["validation"]["rows"] == 15
    assert (resumed / "model.npz").exists()
    assert summary["bytes"]["update_sealed"] is None, "and not 0: no round was played"
    assert summary["bytes"]["ratio_to_float32"] is None
    assert "What a party sends in a round was not measured here. In all" in " ".join(answer.out.split())
    assert "0 B" not in answer.out
    again = validating.run("--resume", resumed)
    assert again.code == 2
    assert "is finished" in again.err


@pytest.mark.long
def test_a_run_that_is_resumed_for_its_folds_tells_what_their_rounds_took(workplace, stop_at_in) -> None:
    workplace.edit("job.toml", r"\Z", "[validation]\nfolds = 2\n")
    stopped = stop_at_in(workplace, "fold-1/round-1")
    assert workplace.run("--resume", stopped).code == 0
    summary = load_summary(workplace.folders()[1])
    assert summary["rounds"]["encrypted"] == []
    # The last round is a further sum of its fold: nothing but an upload of few values, and the sum.
    assert summary["bytes"]["update_sealed"] > 400
    assert summary["bytes"]["sum_sealed"] > 100


@pytest.mark.long
def test_a_resumed_run_ends_with_the_same_validation(validating, stop_at) -> None:
    whole = validating.run()
    assert whole.code == 0
    (first,) = validating.folders()
    assert validating.run("--resume", stop_at("round-2")).code == 0
    _, _, resumed = validating.folders()
    assert load_summary(resumed)["results"][-1]["validation"] == load_summary(first)["results"][-1]["validation"]


@pytest.mark.long
def test_a_run_is_not_resumed_on_a_table_that_changed(validating, stop_at) -> None:
    stopped = stop_at("round-2")
    path = validating.folder / "east.csv"
    whole = path.read_text()
    path.write_text("\n".join(whole.splitlines()[:-1]) + "\n")  # other rows would be held out than before
    answer = validating.run("--resume", stopped)
    assert answer.code == 2
    assert "the rows of east are not those that the run began with" in " ".join(answer.err.split())
    assert validating.folders() == [stopped]
    header, *rows = whole.splitlines()
    path.write_text("\n".join([header, *rows[::-1]]) + "\n")  # and here, though all rows are there
    answer = validating.run("--resume", stopped)
    assert answer.code == 2
    assert "the rows of east are not those that the run began with" in " ".join(answer.err.split())
    assert "its rows in another order" in " ".join(answer.err.split())
    assert validating.folders() == [stopped]
    path.write_text(whole)
    assert validating.run("--resume", stopped).code == 0


@pytest.mark.long
@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"version": 1, "rows": {"east": {"key": "", "digest": ""}}}'])
def test_a_damaged_record_of_rows_is_told(validating, stop_at, content: str) -> None:
    stopped = stop_at("round-2")
    (path,) = (stopped / "rows").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text(content)
    answer = validating.run("--resume", stopped)
    assert answer.code == 2
    assert "does not say which rows the run began with" in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("every = 2", "validation.hold_out is missing"),
        ("hold_out = 0.95", "setting validation.hold_out refused"),
        ("hold_out = 0.25\nevry = 2", "validation.evry is not a setting"),
        ("hold_out = 0.25\nauc = 1", "validation.auc has the wrong type"),
        ("hold_out = 0.0\nevery = 3", "setting validation.hold_out refused"),
    ],
)
def test_sections_written_wrong(section, said, workplace) -> None:
    workplace.edit("job.toml", r"\[protection\]", f"[validation]\n{section}\n\n[protection]")
    answer = workplace.run()
    assert answer.code == 2
    assert said in " ".join(answer.err.split())
    assert workplace.folders() == []


def test_a_party_with_too_few_rows_is_named_before_anything_starts(validating) -> None:
    path = validating.folder / "east.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:3]) + "\n")
    answer = validating.run()
    assert answer.code == 2
    assert "east cannot be split" in " ".join(answer.err.split())
    assert validating.folders() == []
