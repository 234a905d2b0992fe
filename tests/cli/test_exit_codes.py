"""Exit codes by name: their numbers are a promise to scripts."""

from __future__ import annotations

from hekat import errors
from hekat.cli.exit_codes import ExitCode
from hekat.errors import HekatError


def test_the_numbers_are_those_that_scripts_rely_on() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "NOT_WHOLE": 1,
        "REFUSED": 2,
        "DIVERGED": 3,
        "INTERRUPTED": 130,
    }


def test_every_refusal_ends_with_the_same_code() -> None:
    classes = [found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, HekatError)]
    assert {found.exit_code for found in classes} == {int(ExitCode.REFUSED)}


def test_every_code_says_what_it_means_and_what_to_do() -> None:
    assert all(code.meaning for code in ExitCode)
    assert all(code.cure for code in ExitCode if code is not ExitCode.DONE)
