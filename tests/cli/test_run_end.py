"""What the end of a finished run suggests to do next: commands that the command line takes as they stand."""

from __future__ import annotations

import argparse
import io
import shlex
from pathlib import Path

import pytest
from rich.console import Console

from hekat.cli import audit_command, predict_command, run_end
from hekat.job.run import RunResult


@pytest.fixture
def suggested(tmp_path, monkeypatch):
    """suggested(a folder of the run, ...): the words of each command that its end suggests, by name."""
    monkeypatch.setattr(run_end, "write_report", lambda folder: folder / "report.html")
    monkeypatch.setattr(run_end, "terminal_tables", lambda summary: [])
    monkeypatch.setattr(run_end, "terminal_findings", lambda summary: [])

    def end(*folders: str) -> dict[str, list[str]]:
        run = tmp_path / "my runs" / "1"
        for name in folders:
            (run / name).mkdir(parents=True)
        said = io.StringIO()
        run_end.show_run(RunResult(run, {}), Console(file=said, width=60), as_json=False)
        lines = (line.split(maxsplit=1) for line in said.getvalue().splitlines() if " hekat " in line)
        return {name: shlex.split(command) for name, command in lines}

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
    assert list(commands) == ["audit", "predict"]
    assert commands["audit"] == ["hekat", "audit", str(tmp_path / "my runs" / "1")]
    options = parsed(commands["predict"])
    assert options.model == tmp_path / "my runs" / "1"
    assert (options.site, options.source, options.out) == (Path("SITE.toml"), "NAME", Path("SCORES.csv"))
    assert (options.data, options.id) == (None, None)
    parsed(commands["audit"])


def test_a_run_without_parts_does_not(suggested) -> None:
    assert list(suggested("ledger")) == ["audit"]
