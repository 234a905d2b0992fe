"""What errors say fits a screen and steers no terminal, whatever they quote."""

from __future__ import annotations

import re

import pytest

from hekat.errors import LONGEST_GOT, LONGEST_TEXT, HekatError, JobError, PartyLostError, PartyStoppedError
from hekat.printable import cut_long, printable


def test_a_text_is_cut_only_where_it_is_too_long() -> None:
    assert cut_long("x" * 100, 100) == "x" * 100
    cut = cut_long("begin" + "x" * 4990 + "ended", 300)
    assert re.fullmatch(r"beginx{155} \.\.\. \(5,000 characters in all\) \.\.\. x{75}ended", cut)


def test_what_came_is_cut_and_says_its_length() -> None:
    error = JobError("refused", expected="'a' or 'b'", got=repr("x" * 5000), cure="say 'a'")
    assert "(5,002 characters in all)" in error.got
    assert len(error.got) < LONGEST_GOT
    assert str(error).endswith("x'; cure: say 'a'")


def test_every_text_is_cut_also_in_other_words() -> None:
    error = HekatError("model." + "x" * 5000, expected="y" * 5000, got="z" * 5000, cure="remove " + "x" * 5000)
    error.reword(lambda text: text + "w" * 5000)
    assert error.what.startswith("model.xxx")
    assert error.cure.startswith("remove xxx")
    assert all(len(text) < LONGEST_TEXT for text in (error.what, error.expected, error.got, error.cure))
    assert len(str(error)) < LONGEST_TEXT


def test_lists_of_settings_and_the_words_of_another_error_are_whole() -> None:
    settings = ", ".join(f"setting_{number}" for number in range(50))
    error = JobError("x is not a setting", expected=f"one of {settings}", got="x")
    assert settings in error.expected
    for kind in (PartyStoppedError, PartyLostError):
        assert str(error) in kind(f"party 'north' stopped: {error}", party="north").what


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "a\nerror: b", "a\u202eb", "a\x00", "a\udc80"])
def test_what_steers_a_terminal_is_shown_as_codes(text: str) -> None:
    error = HekatError(text, expected=text, got=text, cure=text)
    assert str(error).isprintable()
    assert printable(text) in error.what
