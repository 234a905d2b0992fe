"""The benchmark of networks: small runs go through every check, what is wrong fails them, and what is written when."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SHAPES = {"layer.weight": (40, 30), "layer.running_var": (50,), "layer.bias": ()}


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def _silent(line: str) -> None:
    """Progress that nobody reads."""


def test_shapes_are_those_of_the_example(load: Any) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    models = load("networks.flash_models")
    shapes = models.RESNET50.shapes()
    assert models.value_count(shapes) == 25_557_032 + 53_120
    assert shapes["fc.weight"] == (1000, 2048)
    assert shapes["bn1.running_var"] == (64,)
    with pytest.raises(AssertionError):
        replace(models.RESNET50, parameters=1).shapes()


@pytest.mark.long_cases("lattice")
@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_a_loop_is_measured_after_every_mean_was_checked(load: Any, protection: str) -> None:
    aggregation = load("networks.aggregation")
    found = aggregation.run_loop(SHAPES, protection, 1)
    assert 0 < found["largest_error"] <= aggregation.error_bound()
    assert found["seconds"] > 0
    assert found["party_s"] > 0
    assert found["aggregator_s"] > 0
    assert found["up_bytes"] > 1251 * (2 if protection == "lattice" else 4)


@pytest.mark.parametrize("name", SHAPES)
def test_a_mean_that_is_off_is_refused(load: Any, name: str) -> None:
    aggregation = load("networks.aggregation")
    base = np.linspace(-1, 1, 1251 + 5, dtype=np.float32)
    states = [aggregation._window(SHAPES, base[first : first + 1251]) for first in range(5)]
    mean = {key: np.mean([state[key] for state in states], axis=0, dtype=np.float64) for key in SHAPES}
    assert aggregation._check(mean, base) < 1e-9
    mean[name] = mean[name] + np.float64(1e-4)
    with pytest.raises(AssertionError, match=r"an error of 0\.0001"):
        aggregation._check(mean, base)
    with pytest.raises(AssertionError, match="values came back"):
        aggregation._check({"layer.bias": states[0]["layer.bias"]}, np.full_like(base, states[0]["layer.bias"]))


def test_an_encrypted_model_is_measured_after_its_weights_were_checked(load: Any) -> None:
    encrypted_model = load("networks.encrypted_model")
    row = encrypted_model.measure_encrypted_model("none", _silent, rows=400, turns=1)
    assert row["largest_weight_error"] <= encrypted_model.WEIGHT_TOLERANCE
    assert row["seconds"] >= row["further_s"] > 0
    assert row["mb"] > row["further_mb"] > 0
    training = replace(encrypted_model.TRAINING, rounds=1)
    data = load("vertical.data").draw_columns(100, 2, 2, 5)
    tables = encrypted_model.split_rows(data.joined, data.labels, np.arange(100))
    run = encrypted_model.train(encrypted_model.make_settings("none", training), tables)
    plain, _ = encrypted_model.train_in_steps(tables, training)
    encrypted_model.check_weights(run, plain)
    with pytest.raises(AssertionError, match="from the plain one"):
        encrypted_model.check_weights(run, plain + 1e-4)


@pytest.mark.long
@pytest.mark.parametrize("host_bottom", ["frozen", "source", "trained"])
def test_a_split_network_is_measured_after_its_losses_were_checked(load: Any, host_bottom: str) -> None:
    split = load("networks.split_network")
    row = split.measure_split(host_bottom, _silent, rows=200, epochs=3, turns=1)
    assert row["largest_loss_error"] <= split.LOSS_TOLERANCE
    assert row["first_mb"] > row["mb"] > row["clear_mb"] > 0
    assert row["seconds"] > 0
    assert set(row["met"]) == set(split.TO_REACH[host_bottom])
    with pytest.raises(AssertionError, match="from the joined network's"):
        split.check_losses([row["loss"]], [row["loss"] + 2e-3])


def test_a_sealed_network_is_measured_after_its_losses_were_checked(load: Any) -> None:
    split = load("networks.split_network")
    row = split.measure_split("source", _silent, form="sealed", rows=200, epochs=3, turns=1)
    assert row["largest_loss_error"] <= split.LOSS_TOLERANCE
    assert row["mb"] > row["clear_mb"] > 0
    assert row["layer"] == "10 x 31"
    assert set(row["met"]) == {"times_clear"}
    with pytest.raises(AssertionError, match="from the joined network's"):
        split.check_losses([row["loss"]], [row["loss"] + 2e-3])


@pytest.mark.long
def test_held_out_rows_are_scored_as_by_the_joined_sealed_network(load: Any) -> None:
    split = load("networks.split_network")
    data = load("vertical.data").draw_columns(600, 4, 3, 3)
    rows = np.arange(600)
    scores = split.measure_auc("source", data, rows[:400], rows[400:], _silent, form="sealed", seeds=1, epochs=12)
    assert abs(scores["below"]) < 0.005
    assert scores["auc"] > 0.6


@pytest.mark.long
@pytest.mark.parametrize("host_bottom", ["frozen", "source", "trained"])
def test_held_out_rows_are_scored_as_by_the_joined_network(load: Any, host_bottom: str) -> None:
    split = load("networks.split_network")
    data = load("vertical.data").draw_columns(600, 4, 3, 3)
    rows = np.arange(600)
    scores = split.measure_auc(host_bottom, data, rows[:400], rows[400:], _silent, seeds=1, epochs=12)
    assert abs(scores["below"]) < 0.002
    assert scores["auc"] > 0.6


@pytest.mark.long
def test_held_out_rows_of_an_encrypted_model_are_scored_as_by_the_minimum_of_its_loss(load: Any) -> None:
    encrypted_model = load("networks.encrypted_model")
    data = load("vertical.data").draw_columns(1500, 3, 2, 3)
    rows = np.arange(1500)
    scores = encrypted_model.measure_auc(data, rows[:1000], rows[1000:], _silent)
    assert abs(scores["below"]) < 0.01
    assert scores["joined_auc"] > 0.6


@pytest.mark.long
def test_the_papers_form_gives_the_plain_gradient_and_is_scaled(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gmpy2", reason="needs hekat[bench]")
    paper_form = load("networks.paper_form")
    monkeypatch.setattr(paper_form, "SAMPLE_ROWS", 4)
    monkeypatch.setattr(paper_form, "REPEATS", 1)
    row = paper_form.measure_paper_form(100, 2, 40, 2048, 3)
    assert row["batches"] == 3
    assert row["scaled_s"] == pytest.approx(100 * row["row_ms"] / 1e3 + 3 * row["batch_ms"] / 1e3)
    monkeypatch.setattr(paper_form, "plain_gradient", lambda *given: [0])
    with pytest.raises(SystemExit, match="plain gradient"):
        paper_form.measure_paper_form(100, 2, 40, 2048, 3)


@pytest.mark.parametrize(("parts", "writes"), [([], True), (["aggregation"], False), (["--no-write"], False)])
def test_the_file_is_written_of_all_parts(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parts: list[str], writes: bool
) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    command = load("bench_networks")
    monkeypatch.setattr(command, "make_parts", lambda say: {"aggregation": lambda: [{"part": "a"}], "b": lambda: []})
    monkeypatch.setattr(load("measuring.record"), "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench_networks.py", *parts])
    assert command.main() == 0
    assert (tmp_path / "networks.json").exists() == writes
    if writes:
        content = json.loads((tmp_path / "networks.json").read_text())
        assert content["rows"] == [{"part": "a"}]
        assert content["versions"].keys() == {"torch"}
