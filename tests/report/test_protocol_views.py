"""Reports of vertical regressions, encrypted models and set intersections: pages, tables and findings of summaries."""

from __future__ import annotations

import copy
import html
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hekat.errors import StateError
from hekat.report import load_summary, open_run, terminal_findings, terminal_tables, verdict, write_report
from hekat.report.vertical_linear.findings import equation_sentences
from hekat.report.views import render_page, view_of

FOLDER = Path(__file__).parent
SAMPLES = {
    "arbiter": FOLDER / "vertical_linear" / "sample_arbiter_summary.json",
    "shared_weights": FOLDER / "vertical_linear" / "sample_shared_summary.json",
    "encrypted_model": FOLDER / "encrypted_model" / "sample_encrypted_model_summary.json",
    "psi": FOLDER / "psi" / "sample_psi_summary.json",
}
HOSTILE = '<script>alert("x")</script>&$a_1$'
Summary = dict[str, Any]


@pytest.fixture(params=list(SAMPLES))
def any_sample(request: pytest.FixtureRequest) -> Summary:
    return _read(request.param)


@pytest.fixture
def arbiter() -> Summary:
    return _read("arbiter")


@pytest.fixture
def shared() -> Summary:
    return _read("shared_weights")


@pytest.fixture
def psi() -> Summary:
    return _read("psi")


def _read(name: str) -> Summary:
    content: Summary = json.loads(SAMPLES[name].read_text(encoding="utf-8"))
    return content


class WholePage(HTMLParser):
    """Insists that every element is closed in order, and that no id is there twice."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self._open: list[str] = []
        self._ids: set[str] = set()
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                assert value not in self._ids
                self._ids.add(value or "")
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.mark.filterwarnings("error")
def test_every_protocol_makes_a_whole_page(any_sample: Summary) -> None:
    page = render_page(any_sample)
    tags = WholePage(page).tags
    assert tags.count("table") == tags.count("caption") > 5
    drawings = re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) == len(view_of(any_sample).plots)
    for drawing in drawings:
        ElementTree.fromstring(drawing)
        assert re.findall(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]", drawing) == []


@pytest.mark.long_cases("encrypted_model", "arbiter")
def test_no_text_of_a_summary_becomes_markup(any_sample: Summary) -> None:
    def taint(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: taint(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [taint(item, key) for item in value]
        free = key in ("job", "run_id", "finished_at", "what", "step", "peers", "party", "notes", "versions", "steps")
        return HOSTILE if isinstance(value, str) and free else value

    page = render_page(taint(any_sample))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 10


def test_a_report_is_written_and_opened(any_sample: Summary, run_folder: Callable[[Any], Path]) -> None:
    folder = run_folder(any_sample)
    assert load_summary(folder) == any_sample
    assert write_report(folder).read_text(encoding="utf-8") == render_page(any_sample)
    report = open_run(folder)
    assert str(report) == verdict(any_sample)
    view = view_of(any_sample)
    assert set(view.shown_tables) <= view.tables.keys()
    assert set(view.shown_plots) <= view.plots.keys()
    assert set(report.tables) == set(view.tables)
    shown = report._repr_html_()
    assert shown.count("<table") == len(view.shown_tables)
    assert shown.count("<figure") == len(view.shown_plots)


def test_a_terminal_gets_tables_and_findings(any_sample: Summary) -> None:
    assert all(len(row) == len(table.columns) for table in terminal_tables(any_sample) for row in table.rows)
    findings = terminal_findings(any_sample)
    assert verdict(any_sample) in findings[0].lines
    assert all(finding.lines for finding in findings)


@pytest.mark.parametrize("key", ["parties", "seconds_by_role", "seen", "settings", "bytes"])
def test_a_summary_that_lacks_something_is_refused(
    any_sample: Summary, key: str, run_folder: Callable[[Any], Path]
) -> None:
    del any_sample[key]
    with pytest.raises(StateError, match=rf"at {key}"):
        load_summary(run_folder(any_sample))


def test_another_protocol_is_refused(psi: Summary, run_folder: Callable[[Any], Path]) -> None:
    psi["protocol"] = "boosting"
    with pytest.raises(StateError, match="another protocol"):
        load_summary(run_folder(psi))


def test_a_vertical_verdict_names_who_what_and_how_good(arbiter: Summary, shared: Summary) -> None:
    common = arbiter["intersection"]["common"]
    auc = f"{arbiter['results'][0]['metrics']['auc']:.4f}"
    told = verdict(arbiter)
    assert told.startswith("clinic, lab and insurer trained one logistic regression of 15 columns on ")
    assert f"on {common} common rows, with gradients that notary opened masked: AUC {auc} on " in told
    assert "trained centrally on the joined rows" in told
    assert "with weights that stay in shares" in verdict(shared)


def test_rows_that_were_held_out_are_no_training_rows(shared: Summary) -> None:
    """Classes are counted among the rows that were trained on, and texts say how many of the common rows these are."""
    shared["intersection"]["common"], shared["test_rows"] = 2_380, 476
    shared["settings"]["hold_out"] = 0.2
    table = next(table for table in terminal_tables(shared) if table.title == "Parties, their rows and columns")
    assert any(heading.startswith("training rows: ") for heading in table.columns)
    assert "2,380 rows are common to all" in table.note
    assert table.note.endswith("1,904 were trained on, 476 held out to measure on.")
    assert "on 1,904 of 2,380 common rows, with" in verdict(shared)
    shared["settings"]["hold_out"] = 0.0
    assert "on 2,380 common rows, with" in verdict(shared)


def test_the_run_that_training_started_from_is_told(arbiter: Summary, run_folder: Callable[[Any], Path]) -> None:
    assert "began with the weights" not in render_page(arbiter)
    arbiter["started_from"] = HOSTILE
    summary = load_summary(run_folder(arbiter))
    page = render_page(summary)
    assert "Training began with the weights of run &lt;script&gt;" in page
    assert "Centralised training began with weights of zero" in page
    told = "They were taken as they are, in standardised units"
    assert told in page
    summary["settings"]["standardise"] = False
    assert told not in render_page(summary)
    arbiter["started_from"] = 3
    with pytest.raises(StateError, match="at started_from"):
        load_summary(run_folder(arbiter))


def test_the_equations_of_all_hosts_are_shown_together(arbiter: Summary, shared: Summary) -> None:
    hosts = arbiter["settings"]["hosts"]
    assert len(hosts) > 1
    total = sum(found["equations"] for found in arbiter["learned"] if found["party"] in hosts)
    tell = view_of(arbiter).tables["learned"]
    last = tell(arbiter).rows[-1]
    assert last[:3] == ("all hosts together", "none: each host is counted alone", str(total))
    assert f"all hosts together: {total} linear equations over" in " ".join(equation_sentences(arbiter))
    for summary in (shared, {**arbiter, "settings": {**arbiter["settings"], "hosts": hosts[:1]}}):
        assert "all hosts together" not in {row[0] for row in tell(summary).rows}


def test_equations_over_rows_are_shown(arbiter: Summary, shared: Summary) -> None:
    rows = {row[0]: row for row in view_of(arbiter).tables["learned"](arbiter).rows}
    for found in arbiter["learned"]:
        assert rows[found["party"]][2:4] == (str(found["equations"]), str(found["rows"]))
    assert rows["clinic"][1] == rows["lab"][1] == "a tenth"
    table = view_of(shared).tables["learned"](shared)
    assert {row[1] for row in table.rows} == {"sees no gradient"}
    assert "No party sees a gradient" in table.note


def test_a_waived_limit_and_no_protection_are_told_loudly(arbiter: Summary) -> None:
    assert "WAIVED" not in render_page(arbiter)
    waived = copy.deepcopy(arbiter)
    told = {
        "host": "WAIVED the limit on what gradients tell of labels: lab and insurer may",
        "guest": "WAIVED the limit on what the guest's gradients tell of hosts: clinic may",
    }
    for side, words in told.items():
        for found in waived["learned"]:
            found["waived"] = (found["party"] == "clinic") == (side == "guest")
        page = html.unescape(render_page(waived))
        assert page.index(words) < page.index("<h2>")
        assert not any(other in page for other in told.values() if other != words)
    arbiter["settings"] |= {"protection": "none", "key_bits": None}
    arbiter["results"][0]["kind"] = "plain"
    page = render_page(arbiter)
    assert "This run was NOT protected." in page
    assert "WITHOUT protection" in verdict(arbiter)


def test_a_ring_has_no_key_size_to_warn_of(arbiter: Summary, run_folder: Callable[[Any], Path]) -> None:
    arbiter["settings"] |= {"protection": "lattice", "key_bits": None}
    arbiter["bytes"]["ciphertext_bytes"] = 393216
    summary = load_summary(run_folder(arbiter))
    view = view_of(summary)
    assert view.is_protected(summary)
    assert view.caution(summary) is None
    assert "One ciphertext has 393 kB." in view.tables["bytes"](summary).note
    assert "lattice" in render_page(summary)


def test_a_bound_that_does_not_hold_is_a_defect(arbiter: Summary) -> None:
    good = terminal_findings(arbiter)[1].lines
    assert "all within the stated bound" in good[0]
    arbiter["exactness"][2] |= {"largest_error": 1.0, "bound": 0.5}
    assert "BEYOND THE STATED BOUND" in terminal_findings(arbiter)[1].lines[0]


def test_parts_of_time_add_up_to_the_session(any_sample: Summary) -> None:
    by_role = any_sample.get("seconds_by_part", any_sample["seconds_by_role"])
    for seconds in by_role.values():
        assert sum(seconds.values()) == pytest.approx(any_sample["seconds"]["total"])
    last = view_of(any_sample).tables["time"](any_sample).rows[-1]
    assert last[0] == "all"
    assert len(set(last[2:])) == 1


def test_nothing_measured_shows_nothing(arbiter: Summary) -> None:
    arbiter |= {"test_rows": None, "compared": None, "test_intersection": None, "exactness": [], "epochs": []}
    arbiter["results"] = [{"name": "encrypted vertical", "kind": "encrypted", "metrics": {}}]
    page = render_page(arbiter)
    WholePage(page)
    assert page.count("<svg") == 2
    assert "No metric was measured" in page
    assert "did not compare its steps with exact arithmetic" in page
    assert verdict(arbiter).endswith("opened masked.")


def test_many_epochs_are_listed_at_a_distance(arbiter: Summary) -> None:
    first = arbiter["epochs"][0]
    arbiter["epochs"] = [{**first, "epoch": number + 1, "seconds": None} for number in range(500)]
    rows = view_of(arbiter).tables["epochs"](arbiter).rows
    assert len(rows) <= 13
    assert (rows[0][0], rows[-1][0]) == ("1", "500")
    assert rows[0][2] == "–"


def test_a_regression_is_told_in_its_own_units(arbiter: Summary) -> None:
    arbiter["task"] = "regression"
    arbiter["results"] = [{"name": "encrypted vertical", "kind": "encrypted", "metrics": {"rmse": 12.5, "r2": 0.8}}]
    assert "one linear regression" in verdict(arbiter)
    assert "RMSE 12.5000 on" in verdict(arbiter)
    WholePage(render_page(arbiter))


def test_an_intersection_says_sizes_count_and_learners(psi: Summary) -> None:
    told = verdict(psi)
    assert told == (
        "bank, insurer and telco compared 900, 700 and 800 ids by Diffie-Hellman on Curve25519: "
        f"{psi['common']} are common to all; bank and insurer learned which."
    )
    rows = view_of(psi).tables["parties"](psi).rows
    assert rows[0] == ("bank", "guest", "which of its rows are common to all", "900", "912")
    assert rows[2][2] == "nothing but rounded sizes"
    psi["settings"]["cardinality_only"] = True
    assert verdict(psi).endswith("learned how many, not which.")
    psi["common"] = 0
    assert "none is common" in verdict(psi)
