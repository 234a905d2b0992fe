"""No text of a summary becomes markup, wherever it stands: each is replaced by markup, one after the other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
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
    "intersection": HERE / "psi" / "sample_psi_summary.json",
}
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


def with_one_replaced(value: Any) -> Iterator[Any]:
    """Copies of a value of JSON, in each of which one text, or the name of one entry, is hostile."""
    if isinstance(value, str):
        yield HOSTILE
    elif isinstance(value, list):
        for place, item in enumerate(value):
            for changed in with_one_replaced(item):
                yield [*value[:place], changed, *value[place + 1 :]]
    elif isinstance(value, dict):
        for name, item in value.items():
            yield {(HOSTILE if key == name else key): kept for key, kept in value.items()}
            for changed in with_one_replaced(item):
                yield {**value, name: changed}


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.long), 199])
@pytest.mark.parametrize("kind", SAMPLES)
def test_no_text_of_a_summary_becomes_markup_wherever_it_stands(kind: str, every: int, tmp_path: Path) -> None:
    sample = json.loads(SAMPLES[kind].read_text(encoding="utf-8"))
    plain = Markup(render_page(sample))
    shown = 0
    for changed in islice(with_one_replaced(sample), 0, None, every):
        (tmp_path / "summary.json").write_text(json.dumps(changed), encoding="utf-8")
        try:
            page = render_page(load_summary(tmp_path))
        except HekatError:
            continue  # a word that only some texts can be
        found = Markup(page)
        assert not {"img", "script"} & found.tags.keys()
        assert found.tags.keys() <= plain.tags.keys()
        assert (found.tags["title"], found.tags["body"]) == (1, 1)
        assert found.tags["style"] <= plain.tags["style"]
        assert not any(name.startswith("on") or name == "src" for name in found.attributes)
        shown += "&lt;img src=x onerror=alert(1)&gt;" in page
    assert every > 1 or shown > 20, "texts that a page shows, as texts"
