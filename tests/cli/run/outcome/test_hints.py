"""Every hint of a command calls `hekat` as it can be called here."""

from __future__ import annotations

import re

import pytest

from hekat import command_name

CALL = re.compile(r"(\S*hekat) (?:init|run|report|audit|predict|keys|job|site)\b")


@pytest.fixture
def elsewhere(workplace, monkeypatch):
    """The command lies where no shell looks."""
    monkeypatch.setattr(command_name, "command_name", lambda: "env/bin/hekat")
    return workplace


def calls_in(text: str) -> set[str]:
    return {found.strip("`'(") for found in CALL.findall(text)}


def test_a_run_a_report_and_an_init_hint_at_the_same_name(elsewhere, tmp_path) -> None:
    elsewhere.shorten()
    answer = elsewhere.run()
    assert answer.code == 0, answer.err
    assert calls_in(answer.out) == {"env/bin/hekat"}
    made = elsewhere.call("init", tmp_path / "new", "--example")
    assert calls_in(made.out) == {"env/bin/hekat"}


@pytest.mark.long
def test_refusals_and_resume_hints_name_it_too(elsewhere, monkeypatch) -> None:
    refused = elsewhere.call("predict", elsewhere.folder, "--data", "x.csv")
    assert calls_in(refused.err) == {"env/bin/hekat"}
    unknown = elsewhere.call("run", "--nonsense")
    assert calls_in(unknown.err) == {"env/bin/hekat"}

    def stop(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("hekat.launch.horizontal.run.summarise", stop)
    stopped = elsewhere.run()
    assert "go on from its last checkpoint with: env/bin/hekat run" in stopped.err
    as_json = elsewhere.call("predict", elsewhere.folder, "--data", "x.csv", "--json")
    assert calls_in(as_json.out) == {"env/bin/hekat"}
