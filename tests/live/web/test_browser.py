"""The page in a real browser, headless Chromium: what it shows, on a phone too, and what it keeps."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.live.conftest import ledger_line, make_state, play, round_event, started_event

pytest.importorskip("uvicorn", reason="needs hekat[live]")
pytest.importorskip("playwright", reason="needs hekat[dev]")

from playwright.sync_api import sync_playwright

from hekat.live.facts import EventWritten, LedgerWritten, MachineRead, PartyLost, PhaseBegun, RoleRead, RunEnded
from hekat.live.page_sink import PageSink
from hekat.live.reduce import advance
from hekat.live.state import Machine, RoleWork, Tells
from hekat.live.web.app import LiveApp
from hekat.live.web.server import LiveServer
from hekat.live.web.token import make_token
from hekat.report.number_text import format_byte_count, format_metric, format_number, format_seconds

pytestmark = pytest.mark.long
CHROMIUM = os.environ.get("HEKAT_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
NUMBERS = (0, 1, 7.5, 12, 99.96, 123.456, 999, 1000, 12_345, 999_999, 1_234_567.8, 0.0123, 0.00001234, 2.5e9)
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as driver:
        # Chromium's own sandbox needs rights that a container may not have; it opens this test's page alone.
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def make_run():
    works = [
        RoleWork(name, {"train": 1.5, "open": 0.5}, 2_000_000, 3_000_000, 4000, 5000, waiting_s=7.0)
        for name in ("saint-northside", "east", "hub")
    ]
    return play(
        make_state(values_each_round=1000, machine=Machine(2, 9.0, 1.2, 200_000_000, 300_000_000, {"device": "H200"})),
        [
            EventWritten(started_event()),
            PhaseBegun("encrypted", 20),
            LedgerWritten(ledger_line("hub", "opened")),
            *(EventWritten(round_event(number, second=number, loss=1 / number)) for number in range(1, 9)),
            LedgerWritten(ledger_line("hub", "received", peer="east", tells=(Tells("disclosed", MARKUP, 3),))),
            PartyLost("south", "round-3", MARKUP),
            *map(RoleRead, works),
            MachineRead(Machine(2, 9.0, 1.2, 200_000_000, 300_000_000, {"device": "H200"})),
        ],
    )


@pytest.fixture
def served() -> Iterator[tuple[PageSink, int, str]]:
    state, token = make_run(), make_token()
    sink = PageSink(state)
    with LiveServer(LiveApp(sink.feed, token, sink.metrics), sink.feed, 0) as server:
        yield sink, server.port, token


def open_page(browser, port: int, token: str, *, width: int = 1200, scheme: str = "light"):
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.problems = []
    page.asked = []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("dialog", lambda dialog: page.problems.append("a dialog"))
    page.on("request", lambda request: page.asked.append(request))
    page.goto(f"http://127.0.0.1:{port}/#{token}")
    return page


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_the_run(browser, served, width, scheme) -> None:
    _, port, token = served
    page = open_page(browser, port, token, width=width, scheme=scheme)
    page.wait_for_selector("section")
    titles = page.locator("h2").all_inner_texts()
    assert titles == [
        "How far the run is", "Who takes part", "Loss and metrics", "Where the time goes", "What is sent",
        "This machine", "What hub could see", "Last lines of the ledger",
    ]  # fmt: skip
    text = page.inner_text("body")
    for said in (
        "clinics",
        "0 of 20",
        "south was lost in round-3",
        "0.1250",
        "2.00 MB",
        "32 kB",
        "62.5",
        "H200",
        "0.9000",
        "waiting for others and the network",
        "9 s",
        "do not grow with the model",
    ):
        assert said in text.replace("2 MB", "2.00 MB"), said
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    cut = "[...document.querySelectorAll('.wide')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(f"{cut}.map((one) => one.innerText)") == []
    assert page.locator("polyline").count() == 1
    assert page.problems == []


@pytest.mark.parametrize("known", [False, True])
def test_metrics_of_training_rows_are_called_so(browser, known) -> None:
    state, token = make_run(), make_token()
    sink = PageSink(replace(state, run=replace(state.run, tests_trained_on=known)))
    with LiveServer(LiveApp(sink.feed, token, sink.metrics), sink.feed, 0) as server:
        page = open_page(browser, server.port, token)
        page.wait_for_selector("section")
        text = page.inner_text("body")
    assert ("common test set" in text) is not known
    assert ("rows that were trained on" in text) is known
    assert page.problems == []


def test_trees_across_rows_are_told_by_iteration(browser) -> None:
    event = {**round_event(1), "event": "iteration", "iteration": 5, "loss": 0.25, "validation": {"rows": 114}}
    state = play(
        make_state(protocol="horizontal_trees"),
        [EventWritten(started_event()), PhaseBegun("encrypted", 12), EventWritten({**event, "metrics": {}})],
    )
    sink, token = PageSink(state), make_token()
    with LiveServer(LiveApp(sink.feed, token, sink.metrics), sink.feed, 0) as server:
        page = open_page(browser, server.port, token)
        page.wait_for_selector("text=before iteration 5, all together, encrypted")
        shown = page.inner_text("body")
    assert "Before the last iteration" in shown
    assert "114" in shown
    assert "114.0" not in shown
    assert "round" not in shown.lower()
    assert page.problems == []


def test_the_final_losses_of_trees_across_rows_are_told(browser) -> None:
    event = {**round_event(1), "event": "iteration", "iteration": 5, "loss": 0.25, "validation": {"auc": 0.5}}
    final = {"event": "validation", "phase": "encrypted", "iterations": 5, "loss": 0.125, "metrics": {"auc": 0.875}}
    state = play(make_state(protocol="horizontal_trees"), [EventWritten(started_event()), EventWritten(event)])
    sink, token = PageSink(play(state, [EventWritten(final)])), make_token()
    with LiveServer(LiveApp(sink.feed, token, sink.metrics), sink.feed, 0) as server:
        page = open_page(browser, server.port, token)
        page.wait_for_selector("text=after the last iteration, all together, encrypted")
        shown = page.inner_text("body")
    assert "0.1250" in shown
    assert "0.8750" in shown
    assert "After the last iteration" in shown
    assert page.problems == []


def test_what_others_wrote_is_text_and_never_markup(browser, served) -> None:
    _, port, token = served
    page = open_page(browser, port, token)
    page.wait_for_selector("section")
    assert MARKUP in page.inner_text("body")
    assert page.locator("main img").count() == 0
    assert page.problems == []


def test_the_token_leaves_the_address_and_goes_nowhere_but_into_one_header(browser, served) -> None:
    _, port, token = served
    page = open_page(browser, port, token)
    page.wait_for_selector("section")
    assert page.url == f"http://127.0.0.1:{port}/"
    assert token not in page.content()
    assert page.context.cookies() == []
    assert all(request.url.startswith(f"http://127.0.0.1:{port}/") for request in page.asked)
    # Where a browser navigates it never sends the fragment; only the driver tells it here.
    sent = [request for request in page.asked if token in str(request.all_headers())]
    assert {request.url.rpartition("/")[2] for request in sent} == {"events"}
    page.reload()
    page.wait_for_selector("section")
    assert page.problems == []


def test_without_the_token_the_page_says_what_to_do(browser, served) -> None:
    _, port, _ = served
    page = open_page(browser, port, "")
    page.wait_for_selector(".link.off")
    assert "open the address that the run printed" in page.inner_text("#link")
    other = open_page(browser, port, "x" * 43)
    other.wait_for_selector(".link.off")
    assert "the token does not fit this run" in other.inner_text("#link")
    assert other.locator("section").count() == 0


def test_each_snapshot_is_drawn_and_the_end_stays(browser, served) -> None:
    sink, port, token = served
    page = open_page(browser, port, token)
    page.wait_for_selector(".link.on")
    ended = advance(make_run(), RunEnded("PartyStoppedError"))
    sink.take(ended, [])
    page.wait_for_selector("text=The run stopped (PartyStoppedError)")
    page.wait_for_selector("text=the run has ended; this is how it ended")
    assert page.locator("section").count() == 8


def test_a_broken_connection_is_taken_up_where_it_was(browser, served) -> None:
    sink, port, token = served
    page = open_page(browser, port, token)
    page.wait_for_selector(".link.on")
    page.context.set_offline(True)
    page.evaluate("window.stop()")
    page.wait_for_selector(".link.off")
    page.context.set_offline(False)
    sink.take(advance(make_run(), PartyLost("east", "round-9", "went away")), [])
    page.wait_for_selector("text=east was lost in round-9")
    with_id = [one.all_headers().get("last-event-id") for one in page.asked if one.url.endswith("/events")]
    assert with_id[-1] == f"{sink.feed.series}-1"


def test_numbers_are_written_as_the_report_writes_them(browser, served) -> None:
    _, port, token = served
    page = open_page(browser, port, token)
    page.wait_for_selector("section")
    for script, write in (
        ("formatNumber", format_number),
        ("formatSeconds", format_seconds),
        ("formatBytes", lambda value: format_byte_count(round(value))),
    ):
        values = [round(value) for value in NUMBERS] if script == "formatBytes" else list(NUMBERS)
        got = page.evaluate(
            f"async (values) => {{ const m = await import('/format.js'); return values.map(m.{script}) }}", values
        )
        assert got == [write(value) for value in values]
    for name in ("accuracy", "log_loss", "rmse"):
        got = page.evaluate(
            "async ([name, values]) => "
            "{ const m = await import('/format.js'); return values.map((v) => m.formatMetric(name, v)) }",
            [name, [0.0, 0.5, 0.96512, 0.00012, 1234.6]],
        )
        assert got == [format_metric(name, value) for value in (0.0, 0.5, 0.96512, 0.00012, 1234.6)]
