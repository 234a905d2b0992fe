"""Long calls say how far they are, on stderr, where somebody looks; and leave the terminal as it was."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest

import hekat
from hekat import progress_line
from hekat.errors import InputError
from hekat.estimator import VerticalLinearRegression
from hekat.progress_line import ProgressLine

SHOW_CURSOR = "\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def look(monkeypatch) -> Terminal:
    """stderr, where somebody looks; in a test's own time, since pytest sets stderr as that begins."""
    made = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", made)
    return made


@pytest.fixture
def at_once(monkeypatch) -> None:
    """Every call is long."""
    monkeypatch.setattr(progress_line, "SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(progress_line, "_LINE_EVERY_S", 0.0)


def timers() -> list[threading.Timer]:
    """Those that would still show something; one that was cancelled takes a moment to end."""
    found = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    return [timer for timer in found if not timer.finished.is_set()]


def show(line: ProgressLine) -> None:
    """What its timer does after two seconds."""
    line._show()


def test_a_terminal_sees_the_work_and_how_far_it_is_and_then_nothing_of_it(monkeypatch) -> None:
    terminal = look(monkeypatch)
    with ProgressLine("counting", 3) as line:
        line.reach(1, "one")
        assert terminal.getvalue() == "", "a call may be short"
        show(line)
        line.reach(2, "two")
    shown = terminal.getvalue()
    assert "counting" in shown
    assert "two" in shown
    assert SHOW_CURSOR in shown
    assert not timers()


def test_an_interrupted_call_leaves_the_terminal_as_it_was(monkeypatch) -> None:
    terminal = look(monkeypatch)
    line = ProgressLine("counting", 3)

    def interrupted() -> None:
        with line:
            show(line)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert SHOW_CURSOR in terminal.getvalue()
    assert not timers()
    before = terminal.getvalue()
    show(line)  # a timer that was just about to
    assert terminal.getvalue() == before


def test_a_short_call_shows_nothing(monkeypatch) -> None:
    terminal = look(monkeypatch)
    with ProgressLine("counting") as line:
        line.reach(1)
    assert terminal.getvalue() == ""
    assert not timers()


def test_nobody_looks_at_a_pipe_unless_asked(at_once, capsys) -> None:
    for shown, lines in ((None, 0), (False, 0), (True, 2)):
        with ProgressLine("counting", 2, shown=shown) as line:
            line.reach(1, "one")
            line.reach(2, "two")
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == lines
    assert captured.err.startswith("counting: 1 of 2  one")


def test_a_loop_says_whose_code_runs_and_which_round_is_done(at_once, capsys) -> None:
    def play(party: hekat.Party):
        state = {"w": np.zeros(2)}
        for _ in range(2):
            state = party.aggregate(state, weight=1)
        return state

    names = ["north", "lake", "county"]
    hekat.federate(play, names, protection="none", clipping="fixed", alpha=1.0, progress=True)
    told = capsys.readouterr().err
    assert "3 parties train" in told
    assert "lake computes" in told
    assert "round 2 done" in told
    hekat.federate(play, names, protection="none", clipping="fixed", alpha=1.0)
    assert "parties train" not in capsys.readouterr().err
    with pytest.raises(InputError, match="progress"):
        hekat.federate(play, names, progress="no")


def test_a_fit_says_which_epoch_is_done(at_once, capsys) -> None:
    rows = np.random.default_rng(1).normal(size=(60, 4))
    model = VerticalLinearRegression(protection="none", epochs=2, batch_rows=0, guest="bank", progress=True)
    tables = {"bank": rows[:, :2], "insurer": rows[:, 2:]}
    model.fit(tables, rows @ [1.0, 2.0, 3.0, 4.0])
    assert "epoch 2 of 2 done" in capsys.readouterr().err
    model.set_params(progress=None).fit(tables, rows @ [1.0, 2.0, 3.0, 4.0])
    assert capsys.readouterr().err == ""
