"""The metrics that an engine's code leaves at a site: bounded, whenever a courier comes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.launch.flower.loop_sites import LIMIT_S, make_sites

from hekat.launch.flower.metrics_file import METRICS_FILE, MetricsFile
from hekat.launch.flower.party_run import PartyRun
from hekat.state import new_run_id


def notes(folder: Path) -> list[tuple[str, int, dict[str, float]]]:
    lines = [json.loads(line) for line in (folder / METRICS_FILE).read_text().splitlines()]
    return [(line["event"], line["round"], line["metrics"]) for line in lines]


def test_each_kind_of_a_round_is_noted_once_however_often_a_server_asks(tmp_path: Path) -> None:
    metrics = MetricsFile(rounds=2)
    metrics.open(tmp_path)
    for attempt in range(100):
        for kind, number in (("train", 1), ("evaluate", 1), ("train", 2), ("train", 0), ("train", 3)):
            metrics.note(kind, number, {"loss": float(attempt)})
    metrics.close()
    assert notes(tmp_path) == [("train", 1, {"loss": 0.0}), ("evaluate", 1, {"loss": 0.0}), ("train", 2, {"loss": 0.0})]


def test_what_comes_too_early_or_too_late_is_dropped(tmp_path: Path) -> None:
    metrics = MetricsFile(rounds=2)
    metrics.note("train", 1, {"loss": 1.0})
    metrics.open(tmp_path)
    metrics.note("train", 1, {"loss": 2.0})
    metrics.close()
    metrics.close()
    metrics.note("train", 2, {"loss": 3.0})
    assert notes(tmp_path) == [("train", 1, {"loss": 2.0})]


@pytest.mark.parametrize("ends", ["before", "after"])
def test_metrics_are_taken_after_the_roles_end_and_dropped_after_the_processs(tmp_path: Path, ends: str) -> None:
    sites = make_sites(tmp_path)
    run = PartyRun(sites.load("north"), new_run_id())
    run.start()
    run.exchange([], LIMIT_S)
    run.desk.fail("ValueError")
    run._role.abandon(LIMIT_S)
    assert run.is_over
    if ends == "before":
        run.end(LIMIT_S)
    run.note_metrics("evaluate", 2, {"loss": 1.0})
    run.end(LIMIT_S)
    folder = sites.runs("north") / run.run_id
    assert notes(folder) == ([] if ends == "before" else [("evaluate", 2, {"loss": 1.0})])
