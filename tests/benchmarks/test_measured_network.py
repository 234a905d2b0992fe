"""The page of runs between processes: aims that were missed say so, and what was not measured is named."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PLACE = "a processor, 2 cores, 2026-01-02"
MACHINE = {"date": "2026-01-02", "machine": {}}


def link_row(way: str, link: str, round_s: float, times_float32: float) -> dict[str, Any]:
    sizes = {"up_bytes": 4e6 * times_float32, "down_bytes": 2e6 * times_float32}
    shares = {"up_of_float32": times_float32, "down_of_float32": times_float32}
    named = {"model": "LSTM, Shakespeare", "values": 1_000_000, "link": link, "way": way, "rounds": 1}
    return {**named, "round_s": round_s, **sizes, **shares}


LINKS = {
    **MACHINE,
    "parties": 3,
    "missing": ["secaggplus: flwr is not installed"],
    "shaping": "shaping relay; the kernel has no netem",
    "rows": [
        link_row("hekat", "loopback", 0.5, 0.7),
        link_row("hekat", "10 Mbit/s, 50 ms", 50.0, 0.7),
        link_row("plain", "loopback", 0.1, 1.0),
    ],
    "left_out": [
        {"model": "LSTM, Shakespeare", "link": "10 Mbit/s, 50 ms", "way": "tenseal", "round_at_least_s": 1156},
    ],
}
LARGE = {
    **MACHINE,
    "engine": "nvflare 2.9.0",
    "sites": 3,
    "rows": [
        {"way": "job", "values": 4_999_765, "rounds": 7, "round_s": 1.34, "processor_s": 2.0, "passed_bytes": 9e7}
        | {"to_reach_s": 1.2, "reached": False},
        {"way": "one process", "values": 4_999_765, "rounds": 7, "round_s": 0.9, "processor_s": 1.5},
    ],
}


@pytest.fixture
def render(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    page = importlib.import_module("pages.network")
    return lambda **contents: page.render_network(
        {name.replace("_", "-"): content for name, content in contents.items()}, lambda content: PLACE
    )


def test_a_missed_aim_says_so(render: Any) -> None:
    lines = render(nvflare_large=LARGE)
    assert (
        f"| NVIDIA FLARE, 4,999,765 values, as a Hekat job, a round | 1.2 s | 1.34 s | **missed** | {PLACE} |" in lines
    )
    reached = {**LARGE, "rows": [{**LARGE["rows"][0], "round_s": 1.1, "reached": True}]}
    assert any("| 1.10 s | yes |" in line for line in render(nvflare_large=reached))


def test_parts_without_results_are_named(render: Any) -> None:
    text = "\n".join(render(links=LINKS))
    assert "**Not measured yet**: `many`, `rounds`, `vertical-links`, `nvflare-mnist`, `nvflare-large`" in text
    assert "`links`" not in text.partition("Not measured yet")[2]


def test_ways_stand_by_link_and_what_was_left_out_is_said(render: Any) -> None:
    lines = render(links=LINKS)
    assert "| Hekat, `lattice` | 0.50 s | 50.0 s | 2.8 MB | 0.70 | 1.4 MB | 0.70 |" in lines
    assert "| plain float32 | 0.10 s |  | 4.0 MB | 1.00 | 2.0 MB | 1.00 |" in lines
    assert any(
        "TenSEAL, as NVIDIA FLARE sends it, LSTM, Shakespeare: 10 Mbit/s, 50 ms (about 1,156 s)" in one for one in lines
    )
    assert "Not measured beside them: secaggplus: flwr is not installed." in lines
    # 1 - 0.5 / 50 of the round is the link's.
    assert "| LSTM, Shakespeare | Hekat, `lattice` | 99% |" in lines


def test_iterations_by_columns_stand_by_link_beside_those_in_the_clear(render: Any) -> None:
    named = {"form": "arbiter", "loss": 0.5, "sent_bytes": 3e6}
    rows = [
        {**named, "kind": "none", "link": "loopback", "iteration_s": 0.1, "times_plain": 1.0},
        {**named, "kind": "lattice", "link": "loopback", "iteration_s": 0.3, "times_plain": 3.0},
    ]
    shape = {"data_rows": 4096, "columns": 23, "batch_rows": 1024, "shaping": "the kernel has no netem"}
    lines = render(vertical_links={**MACHINE, **shape, "rows": rows})
    assert "| `arbiter, lattice` | 0.300 s (3.0) | 3.0 MB |" in lines
    assert "| way | loopback | a run's bytes from guest and host |" in lines


def test_dollars_are_the_papers_plain_traffic_by_our_bytes(render: Any) -> None:
    lines = render(links=LINKS)
    row = next(line for line in lines if line.startswith("| LSTM | 15,347.3 GB"))
    assert "10.4 GB, $0.94 | 7.3 GB, $0.66 |" in row


@pytest.mark.long
def test_the_plot_of_links_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs hekat[report]")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    importlib.import_module("network.plots").plot_links(LINKS, tmp_path / "images" / "links.svg")
    drawn = (tmp_path / "images" / "links.svg").read_text()
    assert "<svg" in drawn
    importlib.import_module("network.plots").plot_links(LINKS, tmp_path / "again.svg")
    assert drawn == (tmp_path / "again.svg").read_text()
