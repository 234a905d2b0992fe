"""docs/benchmarks.md: what was to be reached and was not stands there, and the page is what the results say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLACE = {"date": "2026-01-02T03:04:05", "machine": {"cpu": "a processor", "cores": "2", "hekat": "0.2.0"}}


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The writer, its plots in a folder of their own."""
    pytest.importorskip("matplotlib", reason="needs hekat[report]")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module("write_benchmarks_page")
    monkeypatch.setattr(module, "IMAGES", tmp_path / "images")
    return module


def run(protection: str, value_bits: int | None, times_plain: float, points: float, bias: float) -> dict[str, Any]:
    """One row of a workload of two rounds."""
    return {
        "workload": "mlp",
        "name": "mlp on MNIST",
        "values": 101_770,
        "parties": 9,
        "algorithm": "fedavg",
        "is_nudged": False,
        "protection": protection,
        "value_bits": value_bits,
        "median_exchange_s": 0.25,
        "times_plain": times_plain,
        "times_plain_by_exchange": times_plain,
        "accuracy_points": points,
        "convergence_bias": bias,
        "accuracy": [0.5, 0.9],
        "train_loss": [0.7, 0.3],
        "costs": {"up_bytes": 407_000},
    }


def write_results(writer: Any, monkeypatch: pytest.MonkeyPatch, folder: Path, **results: Any) -> None:
    monkeypatch.setattr(writer, "RESULTS", folder)
    for name, content in results.items():
        (folder / f"{name}.json").write_text(json.dumps(PLACE | content))


def test_what_was_not_measured_is_said(writer, monkeypatch, tmp_path) -> None:
    write_results(writer, monkeypatch, tmp_path)
    assert writer.render().count("Not measured yet.") == 4


def test_what_falls_short_of_its_aim_is_listed(writer, monkeypatch, tmp_path) -> None:
    plain = run("none", None, 1.0, 0.0, 0.0)
    nudged = run("none", None, 1.3, 0.5, 0.002) | {"is_nudged": True}
    rows = [plain, nudged, run("lattice", 8, 1.05, -0.4, 0.01), run("lattice", 16, 1.12, 0.0, 0.002)]
    write_results(writer, monkeypatch, tmp_path, training={"torch": "2.13.0", "rows": rows})
    page = writer.render()
    assert "- mlp on MNIST at 8 bits: -0.40 points, to reach 0.3\n" in page
    assert "- mlp on MNIST at 16 bits: 1.120 times plain, to reach 1.10\n" in page
    assert "- mlp on MNIST at 16 bits: bias 0.20%, to reach 0.1%\n" in page
    assert "at 8 bits: bias" not in page
    assert (
        "| mlp on MNIST | fedavg | none, one bit changed |  | 0.25 | 1.30 | 1.30 | 90.00% | +0.50 | 0.200% | 0.407 |\n"
        in page
    )
    assert "Every aim" not in page
    assert {path.name for path in writer.IMAGES.iterdir()} == {"training-mlp.svg", "training-times.svg"}


def test_reached_aims_are_said_to_be(writer, monkeypatch, tmp_path) -> None:
    rows = [run("none", None, 1.0, 0.0, 0.0), run("lattice", 16, 1.10, 0.3, 0.001)]
    write_results(writer, monkeypatch, tmp_path, training={"torch": "2.13.0", "rows": rows})
    assert "Every aim for `fedavg` with lattice is reached." in writer.render()


def test_one_aggregation_has_its_seconds_and_bytes_by_scheme(writer, monkeypatch, tmp_path) -> None:
    model = {"model": "LeNet", "values": 88_648, "clients": 3, "paper_he_s": 0.619}
    done = {"total_s": 0.0123, "upload_bytes": 178_000}
    rows = [
        model | {"scheme": "plain", "total_s": 0.001, "upload_bytes": 354_592},
        model | {"scheme": "lattice"} | done,
        model | {"scheme": "ckks", "missing": "not enough memory"},
    ]
    content = {"rows": rows, "table_4": [], "figure_11": [model | {"scheme": "lattice"} | done]}
    write_results(writer, monkeypatch, tmp_path, fedml_he=content)
    page = writer.render()
    assert "| LeNet | 88,648 | 0.001 | 0.0123 | not enough memory | 0.619 | 0.178 |  | 0.355 |\n" in page
    assert "| 3 | lattice | 0.0123 | 0.178 |\n" in page


def test_the_page_is_the_one_its_results_give(writer) -> None:
    assert writer.PAGE.read_text(encoding="utf-8") == writer.render(), "run benchmarks/write_benchmarks_page.py"
    assert {path.name for path in writer.IMAGES.iterdir()} <= {path.name for path in (ROOT / "docs/images").iterdir()}
