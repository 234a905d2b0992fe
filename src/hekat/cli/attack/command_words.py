"""Refusals that speak of the site file, in the words of a command that was given none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hekat.errors import InputError

_WORDS = {
    "check the path in the site file; paths are relative to that file": "check the path",
    "the site file's": "the command's",
    "the site file": "the command",
}


@contextmanager
def in_words_of_the_command() -> Iterator[None]:
    """A block whose InputErrors name the command in place of the site file."""
    try:
        yield
    except InputError as error:
        for word, instead in _WORDS.items():
            error.reword(lambda text, word=word, instead=instead: text.replace(word, instead))  # type: ignore[misc]
        raise
