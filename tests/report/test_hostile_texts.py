"""No text of a summary becomes markup, wherever it stands: each is replaced by markup, one after the other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from hekat.errors import HekatError
from hekat.report import load_summary
from hekat.report.views import render_page

HERE = Path(__file__).parent
SAMPLES = {
    "horizontal": HERE / "sample_summary.json",
    "shared weights": HERE / "vertical_linear" / "sample_shared_summary.json",
    "arbiter": HERE / "vertical_linear" / "sample_arbiter_summary.json",
    "encrypted model": HERE / "encrypted_model" / "sample_encrypted_model_summary.json",
    "split network": HERE / "vertical_network" / "sample_network_summary.json",
    "intersection": HERE / "psi" / "sample_psi_summary.json",
}
NAME = object()
HOSTILE = "</script></style></title><img src=x onerror=alert(1)>\"' onmouseover='alert(2)"


class Markup(HTMLParser):
    """Counts the elements of a page, and keeps the names of all attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts of a value of JSON stand, by their paths; the path of an entry's name ends with `NAME`."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from places(item, (*path, place))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield (*path, name, NAME)
            yield from places(item, (*path, name))


def with_replaced(value: Any, hostile: Mapping[tuple[Any, ...], str], path: tuple[Any, ...] = ()) -> Any:
    """A copy of the value with `hostile` texts at these places."""
    if isinstance(value, list):
        return [with_replaced(item, hostile, (*path, place)) for place, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            hostile.get((*path, name, NAME), name): with_replaced(item, hostile, (*path, name))
            for name, item in value.items()
        }
    return hostile.get(path, value)


def load_with(sample: Any, replaced: Sequence[tuple[Any, ...]], folder: Path) -> Any:
    """The summary with a hostile text at each of the places; None where it is refused: a word that only some can be."""
    hostile = {path: f"{HOSTILE}{number}" for number, path in enumerate(replaced)}
    (folder / "summary.json").write_text(json.dumps(with_replaced(sample, hostile)), encoding="utf-8")
    try:
        return load_summary(folder)
    except HekatError:
        return None


# Neighbours stand in the same plots, which are drawn anew for them: ten at once take the time of one.
@pytest.mark.parametrize(("every", "at_once"), [pytest.param(1, 10, marks=pytest.mark.long), (397, 1)])
@pytest.mark.parametrize("kind", SAMPLES)
def test_no_text_of_a_summary_becomes_markup_wherever_it_stands(
    kind: str, every: int, at_once: int, tmp_path: Path
) -> None:
    sample = json.loads(SAMPLES[kind].read_text(encoding="utf-8"))
    plain = Markup(render_page(sample))
    chosen = [path for path in islice(places(sample), 0, None, every) if load_with(sample, [path], tmp_path)]
    waiting = [chosen[first : first + at_once] for first in range(0, len(chosen), at_once)]
    shown = 0
    while waiting:
        group = waiting.pop()
        try:
            page = render_page(load_with(sample, group, tmp_path))
        except (HekatError, UserWarning):
            # One of them is refused, or so many long names leave a plot no room: each is tried alone.
            waiting += [[path] for path in group] if len(group) > 1 else []
            continue
        found = Markup(page)
        assert not {"img", "script"} & found.tags.keys()
        assert found.tags.keys() <= plain.tags.keys()
        assert (found.tags["title"], found.tags["body"]) == (1, 1)
        assert found.tags["style"] <= plain.tags["style"]
        assert not any(name.startswith("on") or name == "src" for name in found.attributes)
        texts = (
            f"&lt;img src=x onerror=alert(1)&gt;&quot;&#x27; onmouseover=&#x27;alert(2){n}" for n in range(at_once)
        )
        shown += sum(text in page for text in texts)
    assert every > 1 or shown > 20, "texts that a page shows, as texts"
