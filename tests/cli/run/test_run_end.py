"""What the end of a finished run suggests to do next: commands that the command line takes as they stand."""

from __future__ import annotations

import argparse
import io
import shlex
import types
from pathlib import Path

import pytest
from rich.console import Console

from hekat.cli import audit_command
from hekat.cli.predict import command as predict_command
from hekat.cli.run import end as run_end
from hekat.cli.run.runs_folder import RUNS_FOLDER
from hekat.cli.tables import LABEL_COLUMNS
from hekat.errors import AlteredSumError, ModelsDifferError, PartyStoppedError, ProtocolError
from hekat.launch.run_result import RunResult
from hekat.report import Brief


@pytest.fixture
def suggested(tmp_path, monkeypatch):
    """suggested(a folder of the run, ...): the words of each command that its end suggests, by name."""
    monkeypatch.setattr(run_end, "write_report", lambda folder: folder / "report.html")
    monkeypatch.setattr(run_end, "brief_of", lambda summary: Brief(None, ()))

    def end(*folders: str) -> dict[str, list[str]]:
        run = tmp_path / "my runs" / "1"
        for name in folders:
            (run / name).mkdir(parents=True)
        said = io.StringIO()
        options = argparse.Namespace(json=False, verbose=False)
        run_end.show_run(RunResult(run, {}), Console(file=said, width=60), options)
        lines = (line for line in said.getvalue().splitlines() if " hekat " in line)
        return {line[:LABEL_COLUMNS].rstrip(): shlex.split(line[LABEL_COLUMNS:]) for line in lines}

    return end


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    for command in (audit_command, predict_command):
        command.add_parser(subparsers)
    assert words[0] == "hekat"
    return parser.parse_args(words[1:])


def test_a_run_with_parts_of_a_model_suggests_to_predict(suggested, tmp_path) -> None:
    commands = suggested("parts", "ledger")
    assert list(commands) == ["all tables", "audit", "predict"]
    assert commands["all tables"] == ["hekat", "report", str(tmp_path / "my runs" / "1")]
    assert commands["audit"] == ["hekat", "audit", str(tmp_path / "my runs" / "1")]
    options = parsed(commands["predict"])
    assert options.model == tmp_path / "my runs" / "1"
    assert (options.site, options.source, options.out) == (Path("SITE.toml"), "NAME", Path("SCORES.csv"))
    assert (options.data, options.id) == (None, None)
    parsed(commands["audit"])


def test_a_run_with_a_whole_model_suggests_to_predict_a_table(suggested, tmp_path) -> None:
    options = parsed(suggested("model.npz", "ledger")["predict"])
    assert (options.model, options.data) == (tmp_path / "my runs" / "1", Path("NEW.csv"))
    assert options.out == Path("PREDICTIONS.csv")


def test_a_run_without_a_model_does_not(suggested) -> None:
    assert list(suggested("ledger")) == ["all tables", "audit"]


@pytest.mark.parametrize(
    ("cause", "is_told"),
    [
        (OSError("gone"), True),
        (ProtocolError("x"), True),
        (AlteredSumError("x"), False),
        (ModelsDifferError("x"), False),
    ],
)
@pytest.mark.parametrize("is_own", [True, False])
def test_what_ends_a_run_for_good_is_not_to_be_resumed(cause, is_told, is_own, tmp_path) -> None:
    """As the party's own error, or as the cause of the stop that all are told of."""
    error: BaseException = cause
    if not is_own:
        error = PartyStoppedError("a stopped", party="a", step="round-2")
        error.__cause__ = cause
    progress = types.SimpleNamespace(folder=tmp_path)
    options = argparse.Namespace(job="job.toml", site=None, runs=RUNS_FOLDER, passphrase_file=None)
    with pytest.raises(type(error)) as raised, run_end.going_on(progress, options, lambda folder: True):
        raise error from error.__cause__
    notes = raised.value.__notes__
    assert notes[0] == f"the run lies in {tmp_path}"
    assert notes[1:] == ([f"go on from its last checkpoint with: hekat run job.toml --resume {tmp_path}"] * is_told)
