"""Reads one table of a TOML file key by key, so that a wrong key, type or value is answered with its place and cure."""

from __future__ import annotations

import difflib
import tomllib
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from hekat.errors import JobError
from hekat.state.file_format import FileFormat

T = TypeVar("T")

_TYPE_NAMES: dict[type, str] = {
    str: "a text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
# Controls, surrogates, line and paragraph separators.
_CONTROL_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
_BIDI_CONTROLS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


class Section:
    """One table: `take` what is known, then `finish` refuses what is left over."""

    def __init__(self, values: dict[str, Any], place: str) -> None:
        self._values = dict(values)
        self._known: list[str] = []
        self.place = place

    def _name(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def has(self, key: str) -> bool:
        """Whether `key` is there and not taken."""
        return key in self._values

    def take(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The value of `key`, which must be of `kind` (whole numbers pass as float). Required where default is None."""
        self._known.append(key)
        if key not in self._values:
            if default is None:
                raise JobError(
                    f"{self._name(key)} is missing",
                    expected=_TYPE_NAMES[kind],
                    got=self._nearby(key),
                    cure=f"add {key} = ... to {'[' + self.place + ']' if self.place else 'the top of the file'}",
                )
            return default
        value = self._values.pop(key)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = _to_float(value, self._name(key))
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise JobError(
                f"{self._name(key)} has the wrong type",
                expected=_TYPE_NAMES[kind],
                got=_TYPE_NAMES.get(type(value), "a date or time"),
                cure=f"correct {self._name(key)}",
            )
        if isinstance(value, str):
            _check_text(value, self._name(key))
        return value

    def take_optional(self, key: str, kind: type[T]) -> T | None:
        """As `take`, None where the key is absent."""
        self._known.append(key)
        return self.take(key, kind) if key in self._values else None

    def take_optional_lines(self, key: str) -> str | None:
        """A text of one or several lines, as one line; None where absent."""
        if isinstance(self._values.get(key), str):
            self._values[key] = " ".join(self._values[key].split())
        return self.take_optional(key, str)

    def take_texts(self, key: str) -> tuple[str, ...]:
        """A required list of texts."""
        return _all_texts(self.take(key, list), self._name(key))

    def take_optional_texts(self, key: str) -> tuple[str, ...] | None:
        values = self.take_optional(key, list)
        return None if values is None else _all_texts(values, self._name(key))

    def take_optional_text_or_texts(self, key: str) -> str | tuple[str, ...] | None:
        """A text, or a list of different texts, at least one; None where absent."""
        value = self._values.get(key)
        if value is None or isinstance(value, str):
            return self.take_optional(key, str)
        texts = self.take_texts(key) if isinstance(value, list) else ()
        if not texts or len(set(texts)) != len(texts):
            kind = "an empty list" if value == [] else _TYPE_NAMES.get(type(value), "a date or time")
            raise JobError(
                f"{self._name(key)} refused",
                expected="a text in quotes, or a list of different texts",
                got="one of them twice" if texts else kind,
                cure=f"correct {self._name(key)}",
            )
        return texts

    def take_choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of `choices`, the first where absent; a control character such as a tab may be among them."""
        self._known.append(key)
        value = self._values.pop(key, choices[0])
        if value not in choices:
            raise JobError(
                f"{self._name(key)} refused",
                expected=" or ".join(repr(choice) for choice in choices),
                got=repr(value) if isinstance(value, str) else _TYPE_NAMES.get(type(value), "a date or time"),
                cure=f"correct {self._name(key)}",
            )
        return str(value)

    def take_optional_text_or_number(self, key: str) -> str | float | None:
        """A text or a finite or infinite number; None where absent."""
        if isinstance(self._values.get(key), str):
            return self.take(key, str)
        return self.take_optional(key, float)

    def take_whole_numbers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers; empty where absent."""
        values = self.take_optional(key, list) or []
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise JobError(
                f"{self._name(key)} has an entry of the wrong type",
                expected="a list of whole numbers",
                got=_kinds(values),
                cure=f"correct {self._name(key)}",
            )
        return tuple(values)

    def take_section(self, key: str) -> Section:
        """A table of its own; empty where absent."""
        return Section(self.take(key, dict, {}), self._name(key))

    def take_sections(self) -> dict[str, Section]:
        """Every remaining key; each must be a table."""
        for key in self.remaining():
            _check_text(key, f"a name under {self.place or 'the top of the file'}")
        return {key: self.take_section(key) for key in self.remaining()}

    def remaining(self) -> list[str]:
        """The keys not yet taken."""
        return list(self._values)

    def finish(self) -> None:
        """Raise JobError where a key is left that nobody asked for, with the nearest known one."""
        if not self._values:
            return
        stranger = sorted(self._values)[0]
        close = difflib.get_close_matches(stranger, self._known, n=1, cutoff=0.65)
        raise JobError(
            f"{self._name(stranger)} is not a setting",
            expected=f"one of {', '.join(dict.fromkeys(self._known))}",
            got=stranger,
            cure=f"did you mean {close[0]}?" if close else "remove it",
        )

    def _nearby(self, key: str) -> str:
        close = difflib.get_close_matches(key, self._values, n=1, cutoff=0.6)
        return f"nothing (there is {close[0]!r}: misspelt?)" if close else "nothing"


def _kinds(values: Sequence[Any]) -> str:
    kinds = dict.fromkeys(
        "an empty text" if value == "" else _TYPE_NAMES.get(type(value), "a date") for value in values
    )
    return "a list with " + ", ".join(kinds)


def _all_texts(values: Sequence[Any], name: str) -> tuple[str, ...]:
    if not all(isinstance(value, str) and value for value in values):
        raise JobError(
            f"{name} has an entry of the wrong type",
            expected="a list of texts in quotes",
            got=_kinds(values),
            cure=f"correct {name}",
        )
    for value in values:
        _check_text(value, name)
    return tuple(values)


def _check_text(text: str, name: str) -> None:
    char = control_character(text)
    if char:
        raise JobError(
            f"{name} holds a control character",
            expected="a text of printable characters",
            got=f"the character U+{ord(char):04X}",
            cure=f"remove it from {name}",
        )


def control_character(text: str) -> str:
    """The first character that steers a terminal or turns the direction of reading, for which no file is taken: such a
    text reads as another than it is; "" where there is none."""
    # As nearly all texts are, at once.
    if text.isascii() and text.isprintable():
        return ""
    controls = (
        char
        for char in text
        if unicodedata.category(char) in _CONTROL_CATEGORIES or unicodedata.bidirectional(char) in _BIDI_CONTROLS
    )
    return next(controls, "")


def _to_float(value: int, name: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise JobError(
            f"{name} is too large",
            expected="a number below 1e308",
            got=f"a whole number of {value.bit_length()} bits",
            cure=f"correct {name}",
        ) from None


def read_toml(path: Path, what: str) -> Section:
    """The top table of a TOML file. Raises JobError where it is not there or not TOML, with line and column."""
    return parse_toml(read_bytes(path, what), path, what)


def read_bytes(path: Path, what: str) -> bytes:
    """All bytes of a job or site file. Raises JobError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise JobError(
            f"{what} not found",
            expected=f"a file at {path}",
            got="nothing there",
            cure="check the path"
            + (": it is site.toml beside the job, or what --site names" if "site" in what else ""),
        ) from None
    except OSError as error:
        raise JobError(
            f"{what} cannot be read",
            expected="a readable text file",
            got=f"{path}: {error.strerror or type(error).__name__}",
            cure=_cure_of_folder(path) if path.is_dir() else "check the path and its permissions",
        ) from None


def _cure_of_folder(folder: Path) -> str:
    """The job files in a folder that was given in place of one."""
    inside = folder / "job.toml"
    return f"give the path of the file itself{f': {inside}' if inside.is_file() else ''}"


def parse_toml(data: bytes, path: Path, what: str) -> Section:
    """The top table of TOML bytes that were read from `path`. Raises JobError."""
    try:
        # Line ends as in a file opened as text.
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise JobError(
            f"{what} is not text", expected="a UTF-8 text file", got=f"other bytes in {path}", cure="check the path"
        ) from None
    if not text.strip():
        raise JobError(
            f"{what} is empty",
            expected="a TOML file with a first line such as: format = 1",
            got=f"nothing in {path}",
            cure="let hekat init write one, or start from the files in examples/hospitals",
        )
    try:
        return Section(tomllib.loads(text), "")
    except tomllib.TOMLDecodeError as error:
        raise JobError(
            f"{what} is not TOML", expected="key = value lines", got=f"{path}: {error}", cure="correct that line"
        ) from None


def check_format(section: Section, form: FileFormat) -> int:
    """Take `format` and return it; refuse a file of another format than this release reads."""
    version = section.take("format", int, 0)
    if version == 0:
        raise JobError(
            f"{form.kind} does not say its format",
            expected=f"format = {form.newest}",
            got="no such line",
            cure="add it on top",
        )
    return form.check(version, form.kind, JobError)
