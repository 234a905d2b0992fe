"""The page is whole, asks for nothing from elsewhere, escapes every name, and draws what was measured."""

from __future__ import annotations

import re
import stat
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hekat.errors import HekatError, StateError
from hekat.report import write_report
from hekat.report.horizontal import plots
from hekat.report.horizontal.page import render_page

VOID = {"meta", "br"}
HOSTILE = '<script>alert("x")</script>&$a_1$\\frac{'


class PageReader(HTMLParser):
    """Collects tags and ids and insists that every element is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.mark.long_cases("one round, one party alone", "many parties, regression", "unprotected")
def test_every_kind_of_run_makes_a_whole_page(variant: dict[str, Any]) -> None:
    page = render_page(variant)
    read = PageReader(page)
    assert read.tags["table"] == read.tags["caption"] > 5
    assert read.tags["h1"] == 1
    assert len(set(read.ids)) == len(read.ids)
    for fragment in re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(fragment)


def test_the_page_asks_nothing_of_anybody(sample: dict[str, Any]) -> None:
    page = render_page(sample)
    read = PageReader(page)
    assert not {"script", "link", "img", "iframe", "object", "form", "a"} & set(read.tags)
    assert not [name for name, _ in read.attributes if name.startswith("on") or name == "src"]
    assert all(value.startswith("#") for name, value in read.attributes if name in ("href", "xlink:href"))
    assert set(re.findall(r"\w+://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|@font-face|url\((?!#)", page)
    assert "default-src 'none'" in page


def test_references_inside_the_plots_lead_somewhere(sample: dict[str, Any]) -> None:
    page = render_page(sample)
    known = set(PageReader(page).ids)
    wanted = set(re.findall(r'href="#([^"]+)"', page)) | set(re.findall(r"url\(#([^)]+)\)", page))
    assert wanted
    assert wanted <= known


def test_plots_take_their_colours_from_the_page(sample: dict[str, Any]) -> None:
    drawings = "".join(re.findall(r"<svg .*?</svg>", render_page(sample), flags=re.DOTALL))
    assert re.findall(r"#0\d0\d0\d", drawings) == []
    for variable in ("ink", "encrypted", "plain", "alone", "parties", "aggregator", "bound"):
        assert f"var(--{variable})" in drawings


@pytest.mark.long
@pytest.mark.drawn
def test_the_same_summary_gives_the_same_page(sample: dict[str, Any]) -> None:
    assert render_page(sample) == render_page(sample)


@pytest.mark.long
def test_hostile_names_stay_text(sample: dict[str, Any]) -> None:
    sample["job"] = sample["run_id"] = sample["finished_at"] = HOSTILE
    sample["parties"][0]["name"] = sample["settings"]["leader"] = HOSTILE
    sample["parties"][1]["class_rows"] = {HOSTILE: 3}
    sample["results"][0]["name"] = HOSTILE
    sample["seconds_by_step"][HOSTILE] = 1.0
    sample["seconds_by_role"][HOSTILE] = {HOSTILE: 1.0}
    sample["bytes"]["by_role"][HOSTILE] = {"sent": 1, "received": 2}
    sample["exactness"][0]["step"] = HOSTILE
    sample["machine"][HOSTILE] = sample["engine"][HOSTILE] = sample["versions"][HOSTILE] = HOSTILE
    sample["settings"][HOSTILE] = [HOSTILE]
    sample["aggregator_saw"] = [HOSTILE, f"step: disclosed ({HOSTILE}), from {HOSTILE}"]
    sample["notes"] = [HOSTILE]
    page = render_page(sample)
    assert "<script" not in page
    assert PageReader(page).tags["script"] == 0
    assert page.count("&lt;script&gt;") > 10


def test_a_run_without_protection_is_announced_loudly(sample: dict[str, Any], unprotected: dict[str, Any]) -> None:
    page = render_page(unprotected)
    assert '<p class="alarm" role="alert"><strong>This run was NOT protected.</strong>' in page
    assert page.index("NOT protected") < page.index("<h2>")


@pytest.mark.long
def test_a_protected_run_is_not(sample: dict[str, Any]) -> None:
    page = render_page(sample)
    assert 'class="alarm"' not in page
    assert 'class="caution"' not in page
    sample["settings"]["key_bits"] = 2048
    assert '<p class="caution">The key has 2,048 bits' in render_page(sample)


def test_what_the_aggregator_saw_is_listed_readable_things_first(sample: dict[str, Any]) -> None:
    page = render_page(sample)
    section = page[page.index("<h2>What the aggregator could see") : page.index("<h2>Settings")]
    assert section.count('<th scope="row">') == len(sample["aggregator_saw"])
    assert section.index("readable to it") < section.index("encrypted, cannot open it")
    assert section.count("<td>every party</td>") == len(sample["aggregator_saw"]) - 1
    assert "<td>public-key</td><td>northside</td><td>nothing secret</td>" in section


def test_a_line_of_another_form_is_shown_whole(sample: dict[str, Any]) -> None:
    sample["aggregator_saw"] = ["a line that a later release writes: disclosed"]
    assert "<td>a line that a later release writes: disclosed</td>" in render_page(sample)


def test_nothing_measured_draws_nothing(nothing_measured: dict[str, Any]) -> None:
    assert "<svg" not in render_page(nothing_measured)


@pytest.mark.long
@pytest.mark.drawn
def test_plots_leave_matplotlib_as_it_was(sample: dict[str, Any]) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    assert plots.plot_exactness(sample) is not None
    assert dict(matplotlib.rcParams) == before


@pytest.mark.filterwarnings("error")
def test_no_plot_is_squeezed_or_lacks_a_letter(variant: dict[str, Any]) -> None:
    drawn = [
        plot(variant)
        for plot in (
            plots.plot_results, plots.plot_convergence, plots.plot_exactness, plots.plot_time, plots.plot_bytes,
        )
    ]  # fmt: skip
    assert all(drawing is None or drawing.startswith('<svg role="img" aria-label=') for drawing in drawn)


@pytest.mark.drawn
def test_without_matplotlib_the_cure_is_named_and_nothing_written(
    sample: dict[str, Any], run_folder: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_folder(sample)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(HekatError, match=r"cure: pip install 'hekat\[report\]'"):
        write_report(folder)
    assert [path.name for path in folder.iterdir()] == ["summary.json"]


def test_the_report_lies_in_the_run_folder_and_replaces_an_older_one(
    sample: dict[str, Any], run_folder: Callable[[Any], Path]
) -> None:
    folder = run_folder(sample)
    (folder / "report.html").write_text("old")
    path = write_report(folder)
    assert path == folder / "report.html"
    assert path.read_text(encoding="utf-8") == render_page(sample)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert sorted(item.name for item in folder.iterdir()) == ["report.html", "summary.json"]


def test_a_damaged_summary_leaves_the_older_report(run_folder: Callable[[Any], Path]) -> None:
    folder = run_folder(b"{")
    (folder / "report.html").write_text("old")
    with pytest.raises(StateError):
        write_report(folder)
    assert (folder / "report.html").read_text() == "old"
