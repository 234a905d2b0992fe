"""The first day's figures: missed aims say so on their page, and the work behind them is what its row says."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MILLION = {
    **{"work": "million", "parties": 5, "rows": 1_000_000, "columns": 20, "init_s": 9.0, "seconds": 22.6},
    **{"processor_s": 24.7, "peak_mib": 804.0, "training_s": 4.2, "rounds": 10, "held_out_rows": 200_000},
    **{
        "accuracy": 0.895,
        "scikit_learn_accuracy": 0.896,
        "scikit_learn_fit_s": 2.0,
        "to_reach_s": 15,
        "reached": False,
    },
}
MANY = {
    **{"work": "many", "parties": 200, "rounds": 5, "values": 1000, "rows_per_party": 30, "seconds": 35.0},
    **{"processor_s": 33.0, "peak_mib": 700.0, "sent_by_all_bytes": 4e8, "sent_by_parties_bytes": 3e8},
    **{
        "folder_bytes": 9_100_000,
        "sent_in_rounds_bytes": 66_700_000,
        "to_reach_s": 40,
        "to_reach_bytes": 15_000_000,
        "reached": True,
    },
    "bytes_reached": False,
}
DEFAULTS = {
    "allowed": 0.01,
    "rows": [
        {"data": name, "rows": 500, "columns": 3, "score": "r2", "hekat": 0.9 + gap, "scikit_learn": 0.9}
        | {"difference": gap}
        for name, gap in (("near", -0.002), ("far", -0.03))
    ],
}


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def render(load: Any, **contents: dict[str, Any]) -> list[str]:
    named = {name.replace("_", "-"): content for name, content in contents.items()}
    return load("pages.first_day").render_first_day(named, lambda content: "a processor")


def test_each_aim_says_whether_it_was_reached(load: Any) -> None:
    lines = render(load, first_day={"rows": [MILLION, MANY]}, defaults_horizontal=DEFAULTS)
    assert (
        "| 1,000,000 x 20 at 5 parties, `hekat run` | 15 s, to scikit-learn's score | 22.6 s, 89.5% right; "
        "scikit-learn 89.6% | **missed** | a processor |"
    ) in lines
    assert "| 200 parties, 5 rounds, 1,000 values, `hekat run` | 40 s | 35.0 s | yes | a processor |" in lines
    assert "| the same: what the parties send in these rounds | 15.0 MB | 66.7 MB | **missed** | a processor |" in lines
    assert (
        "| defaults, rows at several parties | within 0.01 of scikit-learn on all | 1 of 2; the lowest -0.0300 (far) | "
        "**missed** | a processor |"
    ) in lines


def test_what_was_not_measured_is_named(load: Any) -> None:
    lines = render(load, defaults_horizontal=DEFAULTS)
    assert "**Not measured yet**: first-day, defaults-mlp, defaults-vertical." in lines


@pytest.mark.long
def test_the_work_is_what_its_row_says(load: Any, tmp_path: Path) -> None:
    """Each part in a small size: the commands end well, and the model is as good as scikit-learn's."""
    for name in ("day", "million", "many"):
        (tmp_path / name).mkdir()
    day = load("first_day.made_day").measure_made_day(tmp_path / "day", rows_per_party=400, new_rows=500)
    assert (day["commands"], day["edits"], day["course"]) == (3, 0, "settled")
    assert abs(day["auc"] - day["scikit_learn_auc"]) < 0.02
    assert day["seconds"] == sum(day[f"{name}_s"] for name in ("init", "run", "predict"))

    million = load("first_day.million_rows").measure_million_rows(tmp_path / "million", rows=5000, columns=4)
    assert million["held_out_rows"] == 1000
    assert abs(million["accuracy"] - million["scikit_learn_accuracy"]) < 0.03
    assert million["training_s"] < million["seconds"]

    many = load("first_day.many_parties").measure_many_parties(tmp_path / "many", parties=5, values=20)
    assert (many["parties"], many["values"], many["lost"]) == (5, 20, 0)
    assert 0 < many["sent_in_rounds_bytes"] < many["sent_by_parties_bytes"] < many["sent_by_all_bytes"]
    assert many["folder_bytes"] > 0


@pytest.mark.long
def test_a_command_that_fails_ends_the_benchmark(load: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"run none\.toml ended with 2"):
        load("first_day.commands").call_hekat(tmp_path, "run", "none.toml")
