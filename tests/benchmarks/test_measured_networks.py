"""The page of networks and the table of FLASH's applications: every aim in a line, tables whole, what is missing."""

from __future__ import annotations

import importlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
LARGE: dict[str, Any] = {
    "part": "aggregation", "what": "VGG16, 5 parties", "model": "VGG16", "parameters": 138_357_544,
    "values": 138_357_544, "tensors": 32, "parties": 5, "value_bits": 16, "calls": 1, "turns": 3, "seconds": 30.0,
    "least_s": 29.5, "most_s": 31.0, "cpu_s": 33.0, "party_s": 4.5, "aggregator_s": 7.5, "peak_gib": 7.25,
    "clear_seconds": 24.0, "clear_cpu_s": 25.0, "clear_party_s": 3.0, "clear_aggregator_s": 9.0, "clear_peak_gib": 8.0,
    "times_clear": 1.25, "times_clear_cpu": 1.32, "up_bytes": 400_000_000, "down_bytes": 380_000_000,
    "clear_up_bytes": 553_500_000, "clear_down_bytes": 553_500_000, "float32_bytes": 553_430_176, "operations_s": 2.5,
    "encrypt_s": 1.0, "aggregate_s": 0.5, "decrypt_s": 1.0, "numpy_s": 1.0, "times_numpy": 2.5,
    "known_elsewhere": {"seconds": "FLASH"}, "to_reach": {"times_clear": 2.0, "times_numpy": 2.0},
    "met": {"times_clear": True, "times_numpy": False},
}  # fmt: skip
MODEL = {
    "part": "encrypted_model", "what": "encrypted-model regression, 30,000 x 23", "shape": "30,000 x 23",
    "protection": "lattice", "key_bits": None, "batch_rows": 1024, "turns": 5, "seconds": 0.12, "least_s": 0.11,
    "most_s": 0.14, "cpu_s": 0.2, "clear_seconds": 0.08, "clear_cpu_s": 0.09, "times_clear": 1.5, "mb": 1.75,
    "further_s": 0.0125, "further_cpu_s": 0.02, "further_clear_s": 0.005, "further_times_clear": 2.5,
    "further_mb": 1.5, "numpy_s": 0.0015, "known_elsewhere": {"times_clear": "FLASH: 60.74"},
    "to_reach": {"times_clear": 3.0, "mb": 2.0}, "met": {"times_clear": True, "mb": True},
}  # fmt: skip
SPLIT = {
    "part": "split_network", "what": "split network, frozen", "host_bottom": "frozen", "layer": "32 x 32",
    "batch_rows": 1024, "epochs": 4, "turns": 3, "seconds": 4.0, "least_s": 3.9, "most_s": 4.4, "cpu_s": 5.0,
    "clear_seconds": 0.5, "clear_cpu_s": 0.6, "times_clear": 8.0, "times_clear_cpu": 8.3, "mb": 128.5, "clear_mb": 19.0,
    "first_s": 9.0, "first_mb": 270.0, "steps_s": {"products": 2.5, "send": 0.25},
    "known_elsewhere": {"seconds": "FATE: minutes"}, "to_reach": {"seconds": 3.5}, "met": {"seconds": False},
}  # fmt: skip
HELD = SPLIT | {"what": "split network, trained, guest_layer", "host_bottom": "trained", "form": "guest_layer"} | {
    "steps_s": {"products": 3.5}, "to_reach": {}, "met": {}, "seconds": 6.0,
}  # fmt: skip
FATE = {"part": "fate_form", "key_bits": 2048, "sample_rows": 4, "scaled_s": 3210.0}
PEER = {"part": "papers_form", "key_bits": 2048, "sample_rows": 64, "scaled_s": 138.0, "times_ours": 1150.0}
SCORE = {
    "part": "encrypted_model", "what": "encrypted-model regression, UCI", "seeds": 5, "auc": 0.7201, "spread": 0.001,
    "joined_auc": 0.7263, "log_loss_auc": 0.7297, "below": 0.0062, "known_elsewhere": {}, "to_reach": {"below": 0.005},
    "met": {"below": False},
}  # fmt: skip


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def lines(load: Any) -> list[str]:
    contents = {"networks": {"rows": [SPLIT, HELD, FATE, MODEL, PEER, LARGE]}, "networks-accuracy": {"rows": [SCORE]}}
    rendered: list[str] = load("pages.networks").render_networks(contents, lambda content: "a processor")
    return rendered


def test_every_aim_has_its_line(lines: list[str]) -> None:
    for line in (
        "| VGG16, 5 parties | 1.25 times the same in the clear | at most 2 times | yes |  |",
        "| VGG16, 5 parties | 2.50 times NumPy's mean of float32 | at most 2 times | **missed** |  |",
        "| encrypted-model regression, 30,000 x 23 | 1.50 times the same in the clear | at most 3 times | yes "
        "| FLASH: 60.74 |",
        "| encrypted-model regression, 30,000 x 23 | 1.75 MB | at most 2 MB | yes |  |",
        "| split network, frozen | 4.00 s | at most 3.5 s | **missed** | FATE: minutes |",
        "| encrypted-model regression, UCI | AUC 0.0062 below the joined one | at most 0.005 below | **missed** |  |",
    ):
        assert line in lines


def test_every_table_has_its_rows(lines: list[str]) -> None:
    for line in (
        "| VGG16 | 138,357,544 | 30.00 s | 29.50 to 31.00 s | 33.00 s | 24.00 s | 25.00 s | 1.25 | 1.32 | 4.50 s "
        "| 7.50 s | 400.0 MB | 380.0 MB | 553.4 MB | 7.2 GiB | 8.0 GiB |",
        "| VGG16 | 1.00 s | 0.50 s | 1.00 s | 2.50 s | 1.00 s | 2.50 |",
        "| lattice | 0.12 s | 0.11 to 0.14 s | 0.20 s | 0.080 s | 0.090 s | 1.50 | 1.75 MB | 0.013 s | 0.005 s | 2.50 "
        "| 1.50 MB | 0.002 s |",
        "| `frozen` | 32 x 32 | 4.00 s | 3.90 to 4.40 s | 5.00 s | 0.50 s | 0.60 s | 8.00 | 8.30 | 128.5 MB | 9.00 s "
        "| 270.0 MB |",
        "| `trained`, `guest_layer` | 32 x 32 | 6.00 s | 3.90 to 4.40 s | 5.00 s | 0.50 s | 0.60 s | 8.00 | 8.30 "
        "| 128.5 MB | 9.00 s | 270.0 MB |",
        "| products | 2.50 s | 3.50 s |",
        "| encrypted-model regression, UCI | 5 | 0.7201 | 0.0010 | 0.7263 | 0.0062 | at most 0.005 | **missed** "
        "| 0.7297 |",
    ):
        assert line in lines
    assert any("an epoch of the layer takes 3,210 s, scaled up from 4 rows" in line for line in lines)
    assert any("138 s, scaled up from 64 rows: 1,150 runs of ours" in line for line in lines)
    for line, following in pairwise(lines):
        if line.startswith("|") and following.startswith("|"):
            assert line.count("|") == following.count("|")


def test_files_that_are_not_there_are_named(load: Any) -> None:
    render = load("pages.networks").render_networks
    contents = {"networks": None, "networks-accuracy": {"rows": [SCORE]}}
    lines = render(contents, lambda content: "a processor")
    assert lines[0] == "**Not measured yet**: `networks`."
    assert [line for line in lines if line.startswith("#")] == ["## To reach", "## Held-out rows"]
    assert render(dict.fromkeys(contents), lambda content: "")[0] == (
        "**Not measured yet**: `networks`, `networks-accuracy`."
    )


def test_every_application_of_flash_has_its_example_and_its_figure(load: Any) -> None:
    flash = load("pages.flash")
    assert len(flash.APPLICATIONS) == 9
    results = dict.fromkeys(flash.NAMES) | {"networks": {"rows": [LARGE, MODEL, SPLIT]}}
    lines = flash.render_flash(results, {"networks": "a processor"})
    rows = [line for line in lines if line.startswith("| ") and "measured here" not in line]
    assert len(rows) == 9 + len(flash.MODELS)
    assert [line for line in rows if "not measured yet" not in line] == [rows[3], rows[8], rows[9], rows[12]]
    assert rows[12].startswith("| heterogeneous neural network |  | 14,115 s; 71.8 s |")
    assert "0.120 s an epoch of 30,000 x 23, 1.5 times the clear run | [networks](networks.md) |" in rows[3]
    assert "30.00 s an aggregation of 5 parties, 1.25 times the clear one; 0.72 times float32's bytes" in rows[8]
    assert lines[-1] == "Taken on: networks, a processor."
    for one in (*flash.APPLICATIONS, *flash.MODELS):
        assert (ROOT / "examples" / one.file).is_file()
        assert one.command.endswith(f"examples/{one.file}")


def test_the_short_table_has_a_row_of_each(load: Any) -> None:
    summary = load("pages.summary")
    results = dict.fromkeys(load("write_measured_pages").SUMMARY_RESULTS)
    assert summary.summary_rows(results | {"networks": {"rows": [LARGE]}}) == []
    split = SPLIT | {"what": "split network, 24,000 x 13 + 10, frozen", "to_reach": {"times_clear": 10.0}}
    assert summary.summary_rows(results | {"networks": {"rows": [split, MODEL, PEER]}}) == [
        (
            "network split by columns, 24,000 x 13 + 10, frozen, an epoch, encrypted",
            "networks.md",
            "4.00 s, 128 MB",
            "the same in the clear",
            "0.50 s",
            "8.0 times the clear; aim: 10",
        ),
        (
            "logistic regression on a model that hosts cannot read, 30,000 x 23, an epoch",
            "networks.md",
            "0.12 s, 1.8 MB",
            "the same in the clear; the papers' form in gmpy2",
            "0.08 s; 138 s",
            "1.5 times the clear; 1,150",
        ),
    ]
