"""docs/measured/training.md: what was to be reached and was not stands there, and the page is what the results say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
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


@pytest.fixture
def undrawn(writer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the plots out, where a test looks at the words alone."""
    for name in ("plot_curves", "plot_sizes", "plot_times"):
        monkeypatch.setattr(writer, name, lambda rows, path: False)


TRAINED = {
    "torch": "2.13.0",
    "threads": 2,
    "optimiser": "SGD with momentum 0.9",
    "rate": 0.1,
    "decay": 0.85,
    "fedsgd_rate": 0.2,
    "batch_rows": 128,
    "turns": 3,
    "train_rows": 60_000,
    "test_rows": 10_000,
    "data": "MNIST",
}


def run(protection: str, value_bits: int | None, times_plain: float, points: float, bias: float) -> dict[str, Any]:
    """One row of a workload of two rounds; its whole run took 0.07 more of the plain one than its exchange explains."""
    return {
        "name": "mlp on MNIST",
        "values": 101_770,
        "parties": 9,
        "algorithm": "fedavg",
        "is_nudged": False,
        "protection": protection,
        "value_bits": value_bits,
        "median_exchange_s": 0.25,
        "exchange_over_training": 0.25,
        "times_plain": times_plain + 0.07,
        "times_plain_by_exchange": times_plain,
        "accuracy_points": points,
        "convergence_bias": bias,
        "accuracy": [0.5, 0.9],
        "train_loss": [0.7, 0.3],
        "costs": {"up_bytes": 305_000, "float32_bytes": 407_000},
    }


def write_results(writer: Any, monkeypatch: pytest.MonkeyPatch, folder: Path, **results: Any) -> None:
    monkeypatch.setattr(writer, "RESULTS", folder)
    for name, content in results.items():
        (folder / f"{name}.json").write_text(json.dumps(PLACE | content))


def test_what_was_not_measured_is_said(writer, monkeypatch, tmp_path) -> None:
    write_results(writer, monkeypatch, tmp_path)
    assert writer.render().count("Not measured yet.") == 6


@pytest.mark.long
def test_what_falls_short_of_its_aim_is_listed(writer, monkeypatch, tmp_path) -> None:
    plain = run("none", None, 1.0, 0.0, 0.0)
    nudged = run("none", None, 1.3, 0.5, 0.002) | {"is_nudged": True}
    rows = [plain, nudged, run("lattice", 8, 1.05, -0.4, 0.01), run("lattice", 16, 1.12, 0.0, 0.002)]
    write_results(writer, monkeypatch, tmp_path, **{"training-mlp": TRAINED | {"rows": rows}})
    page = writer.render()
    assert "- mlp on MNIST at 8 bits: -0.40 points, to reach 0.3\n" in page
    assert "- mlp on MNIST at 16 bits: 1.120 times plain, to reach 1.10\n" in page
    assert "- mlp on MNIST at 16 bits: bias 0.20%, to reach 0.1%\n" in page
    assert "at 8 bits: bias" not in page
    cells = "0.25 | 25% | 1.300 | 1.37 | 90.00% | +0.50 | 0.200% | 0.305 | 0.407"
    assert f"| mlp on MNIST | fedavg | 2 | none, one bit changed |  | {cells} |\n" in page
    assert "rate 0.1, times 0.85 after each round; fedsgd at 0.2; the median of 3 runs of each, in turns." in page
    assert "Every aim" not in page
    assert {path.name for path in writer.IMAGES.iterdir()} == {"training-mlp.svg", "training-times.svg"}


@pytest.mark.usefixtures("undrawn")
def test_reached_aims_are_said_to_be(writer, monkeypatch, tmp_path) -> None:
    rows = [run("none", None, 1.0, 0.0, 0.0), run("lattice", 16, 1.10, 0.3, 0.001)]
    write_results(writer, monkeypatch, tmp_path, **{"training-mlp": TRAINED | {"rows": rows}})
    assert "Every aim for `fedavg` with lattice is reached." in writer.render()


def test_uploads_that_are_added_again_for_other_clients_are_said_to_be(writer, monkeypatch, tmp_path) -> None:
    """A row of many clients is no measurement of as many uploads where few encrypt."""
    rows = [{"clients": clients, "scheme": "ckks", "total_s": 1.0} for clients in (3, 50, 200)]
    few = [row | {"clients_encrypting": min(row["clients"], 9)} for row in rows]
    for figure_11, said in ((few, "with 50 and 200 clients only 9 of them encrypt"), (rows, "an upload of its own.")):
        write_results(writer, monkeypatch, tmp_path, fedml_he={"rows": [], "table_4": [], "figure_11": figure_11})
        monkeypatch.setattr(writer, "plot_sizes", lambda rows, path: False)
        page = writer.render()
        assert said in page.replace("\n", " ")
        assert "a random vector" in page.replace("\n", " ")


def curve(protection: str, rounds: int, round_s: float, loss: float) -> Any:
    from training.experiment import Curve

    whole = {"round_s": [round_s + 1.0] + [round_s] * (rounds - 1), "train_s": [2.0] * rounds}
    return Curve(protection, None, "fedavg", **whole, train_loss=[loss] * rounds, accuracy=[0.5] * rounds)


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("training.train_papers")


def test_a_runs_ratio_counts_the_exchange_of_all_rounds(trainer) -> None:
    workload = SimpleNamespace(
        name="w", make_model=lambda: importlib.import_module("torch").nn.Linear(2, 1), party_count=3
    )
    plain, lattice = curve("none", 4, 2.5, 0.5), curve("lattice", 4, 3.0, 0.51)
    row = trainer._row(workload, lattice, plain)
    # Four rounds of 2 s of training; exchange 4 * 0.5 + 1 s, and 4 * 1 + 1 s.
    assert row["times_plain_by_exchange"] == pytest.approx(13 / 11)
    assert row["exchange_over_training"] == pytest.approx(5 / 8)
    assert row["times_plain"] == pytest.approx(13 / 11)
    assert row["convergence_bias"] == pytest.approx(0.02)
    # A run cut short: as many of its median rounds, and no curve.
    row = trainer._row(workload, curve("paillier", 2, 6.0, 0.1), plain)
    assert row["times_plain_by_exchange"] == pytest.approx((8 + 4 * 4) / 11)
    assert row["times_plain"] is row["convergence_bias"] is row["accuracy_points"] is None


def test_the_run_of_the_median_time_is_taken_and_turns_must_agree(trainer) -> None:
    turns = [curve("none", 2, seconds, 0.5) for seconds in (3.0, 1.0, 2.0)]
    assert trainer._typical(turns) is turns[2]
    turns[0].digests = ["another model"]
    with pytest.raises(SystemExit, match="another model"):
        trainer._typical(turns)


@pytest.mark.usefixtures("undrawn")
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


@pytest.mark.long
def test_the_page_is_the_one_its_results_give(writer) -> None:
    assert writer.PAGE.read_text(encoding="utf-8") == writer.render(), "run benchmarks/write_benchmarks_page.py"
    kept = {path.name for path in (ROOT / "docs/measured/images").iterdir()}
    assert {path.name for path in writer.IMAGES.iterdir()} <= kept
