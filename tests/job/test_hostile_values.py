"""A hostile value in any key of a file is answered by an error that fits a screen and steers no terminal."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.documents.markdown import ROOT

from hekat.errors import LONGEST_GOT, LONGEST_TEXT, HekatError
from hekat.job.section import Section

LONG = "x" * 5000
ESCAPE = "north\x1b[2J\x1b[Hall is well\n"
VALUES: dict[str, Any] = {
    "a long text": LONG,
    "a long list": [LONG, LONG],
    "a long key": {LONG: LONG},
    "an escape": ESCAPE,
    "a key that is an escape": {ESCAPE: 1},
    "a huge number": -(10**1000),
}
READERS = (
    "horizontal",
    "horizontal_trees",
    "encrypted_model",
    "vertical_linear",
    "vertical_trees",
    "vertical_network",
    "averaging",
    "psi",
    "site",
)
_METHODS = ("take", "take_optional", "take_optional_lines", "take_choice", "take_sections", "has")


@dataclass
class OneValue:
    """Stands between a reader and its file: notes each key that is asked for, and gives `value` for the key `place`."""

    place: str | None = None
    value: Any = None
    asked: list[str] = field(default_factory=list)

    def stand_in(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def asking(section: Section, *key: str, **named: Any) -> Any:
            if key:
                place = f"{section.place}.{key[0]}" if section.place else key[0]
                self.asked.append(place)
                if place == self.place:
                    section._values[key[0]] = self.value
            return method(section, *key, **named)

        return asking


@pytest.fixture(scope="module")
def files() -> dict[str, tuple[str, Callable[[Path], Any]]]:
    """A small file of each kind and its reader, as the reference is made of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs_build"))
        return importlib.import_module("recorded_keys")._files()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", READERS)
def test_a_hostile_value_of_any_key_is_answered_in_few_printable_characters(
    files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    text, load = files[kind]
    path = tmp_path / "file.toml"
    path.write_text(text)
    one = OneValue()
    for name in _METHODS:
        monkeypatch.setattr(Section, name, one.stand_in(getattr(Section, name)))
    load(path)
    places = list(dict.fromkeys(one.asked))
    errors: list[tuple[str, HekatError]] = []
    for place in places:
        for value in VALUES.values():
            one.place, one.value = place, value
            try:
                load(path)
            except HekatError as error:
                errors.append((place, error))
    assert len(errors) > len(places) * 3
    for place, error in errors:
        assert str(error).isprintable(), place
        assert LONG[:500] not in str(error), place
        assert max(map(len, (error.what, error.expected, error.cure))) <= LONGEST_TEXT, place
        assert len(error.got) <= LONGEST_GOT, place
