"""Hints name the command as the shell that reads them can call it."""

from __future__ import annotations

import os
import sys

import pytest

from hekat import command_name
from hekat.command_name import as_called
from hekat.command_name import command_name as find_name


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An environment at .venv below the current folder, which is not activated."""
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    script = folder / "hekat"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    return script


def test_the_script_of_an_environment_that_is_not_activated(installed, monkeypatch, tmp_path) -> None:
    assert find_name() == ".venv/bin/hekat"
    monkeypatch.chdir(installed.parent)
    assert find_name() == "./hekat"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert find_name() == str(installed)
    spaced = tmp_path / "my projects"
    installed.parent.parent.rename(spaced)
    monkeypatch.setattr(sys, "executable", str(spaced / "bin" / "python"))
    assert find_name() == f"'{spaced}/bin/hekat'"


def test_the_name_alone_where_a_shell_finds_it(installed, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join(["/nowhere", str(installed.parent)]))
    assert find_name() == "hekat"
    other = tmp_path / "other"
    other.mkdir()
    (other / "hekat").write_text("#!/bin/sh\n")
    (other / "hekat").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(other), str(installed.parent)]))
    assert find_name() == ".venv/bin/hekat"  # the other one is another installation


def test_without_a_script_the_name_is_all_there_is(installed) -> None:
    installed.unlink()
    assert find_name() == "hekat"
    assert as_called("hekat run JOB") == "hekat run JOB"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("go on with: hekat run JOB --resume RUN", "go on with: X run JOB --resume RUN"),
        ("the line that `hekat keys party` prints", "the line that `X keys party` prints"),
        ("correct it: hekat --help", "correct it: X --help"),
        ("begun by hekat 0.2.0", "begun by hekat 0.2.0"),
        ("have hekat running; /opt/hekat run", "have hekat running; /opt/hekat run"),
        ("hekat audit a; hekat report b", "X audit a; X report b"),
    ],
)
def test_commands_in_a_text_and_no_other_words(monkeypatch, text, told) -> None:
    monkeypatch.setattr(command_name, "command_name", lambda: "X")
    assert as_called(text) == told
