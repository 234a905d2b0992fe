"""A finished run in a notebook: verdict, tables and plots inline, escaped, several in one page, without matplotlib."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hekat.errors import HekatError, StateError
from hekat.report import RunReport, notebook, open_run

HOSTILE = '<script>alert("x")</script>&'


@pytest.fixture
def run(sample: dict[str, Any], run_folder: Callable[[Any], Path]) -> RunReport:
    return open_run(run_folder(sample))


def test_a_run_shows_its_verdict_tables_and_plots(run: RunReport, sample: dict[str, Any]) -> None:
    html = run._repr_html_()
    assert run.summary == sample
    assert str(run) == run.verdict
    assert run.verdict in html
    assert "<caption>Each model on the common test set</caption>" in html
    assert html.count("<svg") >= 2
    assert html.count("<div") == html.count("</div>")
    assert html.count("<table>") == html.count("</table>") == html.count("<caption>")
    assert "summary" not in repr(run)


def test_the_path_may_be_a_text_and_what_is_not_there_is_said(run: RunReport, tmp_path: Path) -> None:
    assert open_run(str(run.folder)).summary == run.summary
    with pytest.raises(StateError, match="is no run folder"):
        open_run(tmp_path / "nothing")


def test_every_table_and_plot_can_be_shown_by_itself(run: RunReport) -> None:
    tables, plots = run.tables, run.plots
    assert {"parties", "results", "time", "time_by_role", "bytes", "bytes_by_role", "aggregator_saw"} <= set(tables)
    assert {"results", "convergence", "exactness", "time", "time_by_role", "bytes"} <= set(plots)
    assert "bits" not in tables  # this run compared none
    for shown in (*tables.values(), *plots.values()):
        assert shown._repr_html_().startswith('<div class="hekat-run"><style>')
        assert "<svg" not in repr(shown)


def test_a_plot_is_drawn_once_however_often_it_is_shown(run: RunReport, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    view = notebook.view_of(run.summary)

    def plot(name: str) -> Callable[[Any], str]:
        def draw(summary: Any) -> str:
            drawn.append(name)
            return f"<svg>{name}</svg>"

        return draw

    plots = {name: plot(name) for name in view.plots}
    monkeypatch.setattr(notebook, "view_of", lambda summary: replace(view, plots=plots))
    assert run.plots["bytes"].html == run.plots["bytes"].html == "<svg>bytes</svg>"
    run._repr_html_()
    assert sorted(drawn) == sorted(view.plots)


def test_outputs_in_one_notebook_share_no_id_and_find_their_own(run: RunReport) -> None:
    first, second = run.plots["convergence"]._repr_html_(), run.plots["convergence"]._repr_html_()
    ids = [set(re.findall(r'\bid="([^"]+)"', html)) for html in (first, second)]
    assert ids[0]
    assert ids[1]
    assert not ids[0] & ids[1]
    for html, known in zip((first, second), ids, strict=True):
        wanted = set(re.findall(r'href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html))
        assert wanted
        assert wanted <= known


def test_colours_are_all_given_in_the_output_itself(run: RunReport) -> None:
    html = run._repr_html_()
    style, rest = html.split("</style>", 1)
    used = set(re.findall(r"var\(--([\w-]+)\)", rest))
    light, dark = style.split("body[data-jp-theme-light")
    assert used <= set(re.findall(r"--([\w-]+):", light))
    assert used <= set(re.findall(r"--([\w-]+):", dark))
    assert not re.search(r"^(?!\.hekat-run|body\[data)[a-z.*:][^{]*\{", style.split("<style>")[1], re.MULTILINE)


@pytest.mark.long
def test_names_stay_text(sample: dict[str, Any], run_folder: Callable[[Any], Path]) -> None:
    sample["results"][0]["name"] = sample["job"] = HOSTILE
    sample["parties"][0]["name"] = HOSTILE
    run = open_run(run_folder(sample))
    assert "<script" not in run._repr_html_() + "".join(shown.html for shown in run.tables.values())


def test_a_run_without_protection_says_so_first(unprotected: dict[str, Any], run_folder: Callable[[Any], Path]) -> None:
    html = open_run(run_folder(unprotected))._repr_html_()
    assert 0 < html.index("This run was NOT protected.") < html.index("<table>")


@pytest.mark.drawn
def test_without_matplotlib_tables_are_shown_and_the_cure(run: RunReport, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = run._repr_html_()
    assert "<table>" in html
    assert "<svg" not in html
    assert "pip install &#x27;hekat[report]&#x27;" in html
    with pytest.raises(HekatError, match="matplotlib"):
        _ = run.plots


def test_every_kind_of_run_is_shown(variant: dict[str, Any], run_folder: Callable[[Any], Path]) -> None:
    assert open_run(run_folder(variant))._repr_html_().count("<table>") >= 3
