"""The lattice benchmark measures what it says: right means, clocks, bytes and memory; a missing peer is named."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.engine.select import get_engine
from hekat.scheme.lattice import generate_secret, sum_secrets

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COUNT = 5000


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def ticking() -> Callable[[], float]:
    """A clock that goes on by one second each time it is read."""
    times = iter(range(1_000_000))
    return lambda: float(next(times))


def test_one_core_means_one_core(load: Any) -> None:
    before = os.sched_getaffinity(0)
    with load("measuring.processor").on_cores(1) as engine:
        assert len(os.sched_getaffinity(0)) == 1
        assert engine.describe()["threads"].startswith("1 ")
    assert os.sched_getaffinity(0) == before


def test_more_cores_than_there_are_are_refused(load: Any) -> None:
    with pytest.raises(SystemExit, match="were asked for"), load("measuring.processor").on_cores(1 << 20):
        pass


def test_stages_add_up(load: Any, ticking: Any) -> None:
    stages = load("measuring.processor").Stages(ticking)
    for stage in ("mask", "add", "mask"):
        with stages.measure(stage):
            pass
    assert stages.seconds == {"mask": 2.0, "add": 1.0}
    assert (stages.total(), stages.total(("mask",))) == (3.0, 2.0)


def test_memory_that_was_let_go_still_counts_as_a_peak(load: Any) -> None:
    peak = load("measuring.processor").PeakMemory()
    np.empty(1 << 26, np.uint8).fill(1)
    # The kernel counts pages in batches.
    assert peak.rise_bytes() == pytest.approx(1 << 26, rel=0.1)


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_a_round_gives_the_weighted_mean_and_times_every_stage(load: Any, ticking: Any, bits: int) -> None:
    lattice_round, scale, processor = load("lattice.round"), load("lattice.scale"), load("measuring.processor")
    engine = get_engine()
    updates = [scale.draw_update(COUNT, seed) for seed in (1, 2, 3)]
    round_ = lattice_round.Round(bits, 3, updates[0], engine)
    secrets = [generate_secret(round_.parameters) for _ in updates]
    stages = processor.Stages(ticking)
    uploads = [
        round_.upload(update, weight, secret, stages)
        for update, weight, secret in zip(updates, scale.WEIGHTS, secrets, strict=True)
    ]
    mean = round_.open(round_.aggregate(uploads, stages), sum_secrets(secrets), stages)
    exact = np.average(np.stack(updates).astype(np.float64), axis=0, weights=scale.WEIGHTS)
    assert mean.dtype == np.float32
    assert np.abs(mean - exact).max() <= round_.allowed_error(3, sum(scale.WEIGHTS))
    assert sum(map(len, uploads[0])) == round_.parameters.form.written_bytes(round_.stream.slot_count)
    every = lattice_round.PARTY_SENDS + lattice_round.AGGREGATOR + lattice_round.PARTY_READS
    assert set(stages.seconds) == set(every)


def test_a_round_of_many_parties_has_every_figure(load: Any) -> None:
    row = load("lattice.scale").measure_round(7, COUNT, 16, 1, get_engine())
    assert (row["members"], row["threshold"], row["set"]) == (7, 5, "A16-16")
    assert row["largest_error_over_bound"] <= 1
    # Seven messages of a salt and N + 8 words; a sum of N words to each party.
    assert row["share_bytes"] == 32 + 2 * 2048
    assert row["release_bytes"] == 7 * 2 * 2048
    assert row["aggregator_peak_bytes"] >= row["upload_bytes"] + 8 * COUNT // 2


def test_the_aggregators_memory_is_flat(load: Any) -> None:
    scale, lattice_round = load("lattice.scale"), load("lattice.round")
    round_ = lattice_round.Round(16, 16, scale.draw_update(COUNT), get_engine())
    upload = round_.upload(
        scale.draw_update(COUNT), 1, generate_secret(round_.parameters), load("measuring.processor").Stages(lambda: 0.0)
    )
    few, many = (scale._aggregator_peak_bytes(round_, upload, count) for count in (2, 16))
    assert many - few < sum(map(len, upload))


def test_a_large_model_is_put_back_and_its_upload_is_set_against_a_gigabit(load: Any, ticking: Any) -> None:
    scale, engine = load("lattice.scale"), get_engine()
    values = scale.draw_update(COUNT)
    before = values.copy()
    seconds, rises = scale._aggregate_large(values, 16, ticking, engine)
    np.testing.assert_array_equal(values, before)
    assert seconds["total_s"] == seconds["encrypt_s"] + seconds["aggregate_s"] + seconds["decrypt_s"]
    row = scale.measure_large(COUNT, 16, 1, engine)
    assert row["upload_at_1_gbit_s"] == row["upload_bytes"] * 8 / 1e9
    assert row["time_over_upload"] == row["total_s"] / row["upload_at_1_gbit_s"]
    assert rises.keys() <= row.keys()


def test_a_missing_peer_is_said(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    peers = load("lattice.peers")

    def refuse(name: str) -> Any:
        raise ImportError(f"no module named {name}")

    monkeypatch.setattr(peers.importlib, "import_module", refuse)
    tenseal, found = peers.find_peers()
    assert tenseal is None
    assert found["tenseal"] == "missing: no module named tenseal"
    assert found["openfhe"].startswith("missing: no module named openfhe; ")


def test_numpys_mean_is_the_weighted_mean(load: Any) -> None:
    updates = [load("lattice.scale").draw_update(COUNT, seed) for seed in (1, 2, 3)]
    mean = load("lattice.peers").WeightedMean(updates, (3, 2, 1))
    mean.run()
    np.testing.assert_allclose(mean.mean, np.average(np.stack(updates), axis=0, weights=(3, 2, 1)), atol=1e-6)


def test_tenseals_stages_are_those_of_the_table(load: Any, ticking: Any) -> None:
    tenseal = pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    bench, scale, processor = load("lattice.aggregation"), load("lattice.scale"), load("measuring.processor")
    updates = [scale.draw_update(COUNT, seed) for seed in (1, 2, 3)]
    run = bench._PeerRun(load("lattice.peers").TenSeal(tenseal, 1), updates)
    seconds = run.run(processor.Stages(ticking), check=True)
    assert seconds == {"encrypt": 1, "serialise": 1, "deserialise": 3, "add": 3, "decrypt": 1}


def test_a_ratio_is_of_the_same_turn_and_of_all_stages(load: Any) -> None:
    bench = load("lattice.aggregation")
    every = bench.PARTY_SENDS + bench.AGGREGATOR + bench.PARTY_READS
    ours = [dict.fromkeys(every, 1.0), dict.fromkeys(every, 2.0), dict.fromkeys(every, 3.0)]
    theirs = [{"encrypt": 8.0}, {"encrypt": 160.0}, {"encrypt": 72.0}]
    figures = bench._aggregation_figures(ours, theirs)
    assert (figures["encrypt_s"], figures["aggregate_s"], figures["decrypt_s"], figures["total_s"]) == (4, 4, 4, 12)
    assert (figures["tenseal_total_s"], figures["times_tenseal"]) == (72, 4)
    assert "times_tenseal" not in bench._aggregation_figures(ours, [])
