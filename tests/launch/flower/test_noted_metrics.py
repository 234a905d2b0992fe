"""How many of an app's metrics its mod leaves at the site: never more than a call takes, since the update is behind."""

from __future__ import annotations

import logging

import pytest

from hekat.launch.flower.call import MAX_METRICS, METRICS, MOST_CHARACTERS, Call
from hekat.launch.frames import Frame

pytest.importorskip("flwr", reason="needs hekat[flower]")

from flwr.app import MetricRecord, RecordDict

from hekat.launch.flower.mod import _metrics_of

SECRET = 0.123456789


def noted(found: dict[str, float]) -> dict[str, float]:
    """What the party process is given of an app's metrics, which it takes."""
    kept = _metrics_of(RecordDict({"metrics": MetricRecord(found)}))
    call = Call.from_frame(Frame(*Call(METRICS, "run", "job", round=1, kind="train", metrics=kept).to_frame()))
    return dict(call.metrics)


def test_all_that_a_call_takes_is_noted_and_nothing_logged(caplog: pytest.LogCaptureFixture) -> None:
    found = {f"m{number:03}": SECRET for number in range(MAX_METRICS - 1)} | {"\U0001f3e5" * MOST_CHARACTERS: 1.0}
    assert noted(found) == found
    assert caplog.records == []


def test_of_more_the_first_by_name_are_noted_and_the_log_counts_the_others(caplog: pytest.LogCaptureFixture) -> None:
    found = {f"metric{number:03}": SECRET for number in reversed(range(MAX_METRICS + 44))}
    assert sorted(noted(found)) == sorted(found)[:MAX_METRICS]
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("44 of the app's metrics are not noted")
    for secret in ("metric", str(SECRET)):
        assert secret not in record.getMessage().replace("app's metrics", "")


def test_a_name_that_is_too_long_is_left_out_alone(caplog: pytest.LogCaptureFixture) -> None:
    long = "a" * (MOST_CHARACTERS + 1)
    assert noted({long: 1.0, "loss": 2.0, "diverged": float("nan")}) == {"loss": 2.0}
    [record] = caplog.records
    assert record.getMessage().startswith("1 of the app's metrics")
    assert long not in record.getMessage()
