"""The benchmark of noise times what has the right variance, and refuses what has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hekat.engine.cpu import CpuEngine

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from privacy import bench_noise

    monkeypatch.setattr(bench_noise, "COUNT", 1 << 14)
    return bench_noise


def test_noise_is_timed_once_its_variance_is_right(noise: Any) -> None:
    rows = noise.measure_noise(CpuEngine(1), 1)
    assert [row["what"] for row in rows] == [f"16,384 numbers, s = {s}" for s in (4, 1023, 1024)]
    assert all(row["millions_a_second"] > 0 and row["times_numpy"] > 0 for row in rows)


def test_noise_of_another_variance_is_not_timed(noise: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = CpuEngine(1)
    exact = engine.sample_discrete_gaussian
    monkeypatch.setattr(engine, "sample_discrete_gaussian", lambda *arguments: exact(*arguments) // 2)
    with pytest.raises(SystemExit, match="noise of s = 4 has another variance"):
        noise.measure_noise(engine, 1)
