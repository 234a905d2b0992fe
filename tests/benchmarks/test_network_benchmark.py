"""The network benchmark measures what it says: links as slow as stated, right means, bytes and rounds counted."""

from __future__ import annotations

import gzip
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PARTIES = ("p0", "p1", "p2")
COUNT = 3000


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def stopped_clock(load: Any, monkeypatch: pytest.MonkeyPatch) -> float:
    """The links' clock stands at 100 s."""
    monkeypatch.setattr(load("network.shaped_link").time, "monotonic", lambda: 100.0)
    return 100.0


def test_bytes_leave_one_after_the_other_and_arrive_half_a_round_trip_later(load: Any, stopped_clock: float) -> None:
    shaped = load("network.shaped_link")
    link = shaped.Link("8 bits a microsecond, 1 s", 8e6, 1.0)
    sender, receiver = shaped.LinkEnd(link), shaped.LinkEnd(link)
    first, second = sender.begin_sending(1_000_000), sender.begin_sending(2_000_000)
    assert (first, second) == (stopped_clock, stopped_clock + 1)
    # A second for the bytes, once for both ends, and half a second of the way.
    assert receiver.end_receiving(first, 1_000_000) == stopped_clock + 1.5
    assert receiver.end_receiving(second, 2_000_000) == stopped_clock + 3.5


def test_senders_share_the_link_of_their_receiver(load: Any, stopped_clock: float) -> None:
    shaped = load("network.shaped_link")
    link = shaped.Link("8 bits a microsecond", 8e6, 0.0)
    receiver = shaped.LinkEnd(link)
    ends = [receiver.end_receiving(shaped.LinkEnd(link).begin_sending(1_000_000), 1_000_000) for _ in range(3)]
    assert ends == [stopped_clock + 1, stopped_clock + 2, stopped_clock + 3]


@pytest.mark.parametrize(
    ("options", "said"),
    [("CONFIG_NET_SCH_NETEM=m\n", "has netem"), ("# CONFIG_NET_SCH_NETEM is not set\n", "has no netem")],
)
def test_results_say_whether_the_kernel_could_shape_links(load: Any, tmp_path: Path, options: str, said: str) -> None:
    path = tmp_path / "config.gz"
    path.write_bytes(gzip.compress(options.encode()))
    assert said in load("network.shaped_link").shaping_of_kernel(path)
    assert "does not say" in load("network.shaped_link").shaping_of_kernel(tmp_path / "none")


@pytest.mark.long
def test_plain_rounds_send_float32_both_ways_and_a_wrong_mean_ends_the_benchmark(load: Any) -> None:
    exchange = load("network.exchange")
    work = exchange.ExchangeWork(PARTIES, COUNT, 2, lambda: exchange.PlainFloat32(len(PARTIES)))
    figures = exchange.play_exchange(work)
    assert figures["p0"].a_round("bytes_out") == pytest.approx(4 * COUNT, rel=0.05)
    assert figures["p0"].a_round("bytes_in") == pytest.approx(4 * COUNT, rel=0.05)
    assert len(figures["p0"].round_s) == 2

    doubled = exchange.ExchangeWork(PARTIES, COUNT, 1, lambda: exchange.PlainFloat32(2 * len(PARTIES)))
    with pytest.raises(SystemExit, match="the mean of p0 is wrong"):
        exchange.play_exchange(doubled)


@pytest.mark.long
def test_hekats_rounds_send_less_than_float32_and_bear_a_lost_party(load: Any) -> None:
    loop = load("network.loop_processes")
    parties = (*PARTIES, "p3", "p4")
    work = loop.LoopWork(parties, 40 * COUNT, rounds=2, drop_out=("p4",), lost_after_s=0.5)
    figures = loop.play_loop(work)
    assert set(figures) == {*parties[:4], "aggregator"}
    assert figures["p0"].a_round("bytes_out") < 4 * 40 * COUNT
    assert figures["aggregator"].peak_bytes > 0
    # Its parties ask for one more round when the last has ended.
    assert len(figures["aggregator"].resident_bytes) == work.rounds + 1


def test_tensors_are_encrypted_as_the_engine_does_it(load: Any) -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    form = load("network.exchange").TensealOfNvflare((5000, 200), 2)
    updates = [np.full(5200, value, np.float32) for value in (1.0, 4.0)]
    sent = [form.encode(update) for update in updates]
    total = form.add(form.add(form.begin_sum(), sent[0]), sent[1])
    assert np.abs(form.decode(form.encode_sum(total)) - 2.5).max() < 1e-4
    # Each of the two tensors has its context beside it.
    assert len(sent[0]) > 2 * 500_000


def test_shapes_of_the_papers_models_are_those_that_are_trained(load: Any) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    made = load("training.models")
    models = {"fc": made.make_mlp(), "cnn": made.make_cnn(), "lstm": made.CharacterLstm(65)}
    for name, model in models.items():
        sizes = tuple(parameter.numel() for parameter in model.parameters())
        assert load("network.models").MODELS[name].sizes == sizes


@pytest.mark.long
def test_regression_by_columns_over_a_link_has_the_loss_of_that_in_the_clear(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = load("network.vertical_links")
    monkeypatch.setattr(links, "WAYS", (("arbiter", "none"), ("arbiter", "lattice")))
    slow = load("network.shaped_link").Link("100 Mbit/s, 1 ms", 100e6, 0.001)
    monkeypatch.setattr(links, "LINKS", (slow,))
    monkeypatch.setattr(links, "EPOCHS", 2)
    rows, conditions = links.measure_vertical_links(300)
    assert [row["kind"] for row in rows] == ["none", "lattice"]
    assert rows[0]["times_plain"] == 1
    assert rows[1]["sent_bytes"] > rows[0]["sent_bytes"] > 8 * 300
    assert conditions["data_rows"] == 300
    monkeypatch.setattr(links, "LOSS_TOLERANCE", -1.0)
    with pytest.raises(SystemExit, match="the loss is"):
        links.measure_vertical_links(300)


def test_rounds_that_must_take_too_long_are_left_out_by_name(load: Any) -> None:
    rows, left_out, conditions = load("network.link_table").measure_links(
        ["lstm"], ["10m"], ["tenseal"], parties=3, most_round_s=60.0
    )
    assert rows == []
    assert (left_out[0]["way"], left_out[0]["link"]) == ("tenseal", "10 Mbit/s, 50 ms")
    assert left_out[0]["round_at_least_s"] > 1000
    assert "shaping relay" in conditions["shaping"]


def test_medians_are_of_rounds_after_the_first(load: Any) -> None:
    ends = [
        {"at_s": at_s, "passed_bytes": passed, "processor_s": at_s / 2}
        for at_s, passed in ((0.0, 0), (9.0, 50), (11.0, 60), (14.0, 71))
    ]
    found = load("network.round_watch").round_medians(ends)
    assert found == {"rounds": 3, "round_s": 3.0, "processor_s": 1.5, "passed_bytes": 11}
    ends[0]["passed_bytes"] = None
    assert load("network.round_watch").round_medians(ends)["passed_bytes"] is None
    with pytest.raises(SystemExit, match="no round"):
        load("network.round_watch").round_medians(ends[:1])


def test_a_program_apart_is_ended_with_all_it_started(load: Any, tmp_path: Path) -> None:
    own = load("network.own_network")
    program = (
        "import os, subprocess, sys, time\n"
        "words = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "child = subprocess.Popen(words, start_new_session=SESSION)\n"
        "open('child', 'w').write(f'{child.pid} {os.environ[\"TMPDIR\"]}')\n"
    )
    # Without a network of its own there is nothing by which to know a child that left the session.
    program = program.replace("SESSION", str(own.has_own_network()))
    own.run_in_own_network([sys.executable, "-c", program], tmp_path, 60.0)
    pid, place = (tmp_path / "child").read_text().split()
    assert place == str(tmp_path)
    # Ended, though whoever collects it may not have done so yet.
    status = Path(f"/proc/{pid}/status")
    deadline = time.monotonic() + 120
    while status.exists() and "State:\tZ" not in status.read_text() and time.monotonic() < deadline:
        pass
    assert not status.exists() or "State:\tZ" in status.read_text()
    with pytest.raises(SystemExit, match="ended by 3"):
        own.run_in_own_network([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, 60.0)


def test_a_partys_bytes_of_rounds_are_read_from_its_ledger(load: Any, tmp_path: Path) -> None:
    pytest.importorskip("nvflare", reason="needs hekat[nvflare]")
    entries = [
        {"direction": "sent", "step": "hello", "payload_bytes": 1000},
        {"direction": "sent", "step": "round-1/block", "payload_bytes": 10},
        {"direction": "received", "step": "round-1/sum", "payload_bytes": 6},
        {"direction": "sent", "step": "round-2/block", "payload_bytes": 30},
        {"closing": "its own form"},
    ]
    ledger = tmp_path / "north.jsonl"
    ledger.write_text("\n".join(json.dumps(entry) for entry in entries))
    found = load("network.nvflare_rounds").ledger_bytes_a_round(ledger, 2)
    assert found == {"up_bytes": 20.0, "down_bytes": 3.0}


def test_the_seconds_of_a_run_are_from_its_start_to_its_end(load: Any, tmp_path: Path) -> None:
    pytest.importorskip("nvflare", reason="needs hekat[nvflare]")
    events = tmp_path / "events.jsonl"
    lines = [
        {"time": "2026-01-02T03:04:05.500+00:00", "event": "started"},
        {"time": "2026-01-02T03:04:06.000+00:00", "event": "epoch", "loss": 0.7},
        {"time": "2026-01-02T03:04:07.000+00:00", "event": "epoch", "loss": 0.5},
        {"time": "2026-01-02T03:04:09.750+00:00", "event": "finished"},
    ]
    events.write_text("\n".join(json.dumps(line) for line in lines))
    assert load("network.nvflare_vertical").figures_of(events) == {"seconds": 4.25, "loss": 0.5}


def test_engine_sites_train_as_a_job_does(load: Any, tmp_path: Path) -> None:
    mlp = load("network.mlp_work")
    work = mlp.MlpWork(hidden=16, batch_rows=8, learning_rate=0.03)
    rows = mlp.draw_rows(20)
    mlp.write_rows(tmp_path, rows)
    first = work.first_vector()
    assert first.shape == (work.value_count,)
    assert np.array_equal(work.join(work.split(first)), first)
    own = mlp.load_rows(tmp_path, "lake")
    trained = first
    for number in range(1, 46):
        trained = work.train(trained, *own, "lake", number)
    assert work.right_share(trained, *own) > 0.9 > work.right_share(first, *own)


def test_work_is_the_same_where_models_label_the_same_share_rightly(load: Any) -> None:
    work = load("network.mlp_work")
    small = work.MlpWork(hidden=4, batch_rows=0, learning_rate=0.1)
    features = np.random.default_rng(5).random((100, work.COLUMNS)).astype(np.float32).astype(np.float64)
    first = small.first_vector()
    right = small.model.predict(small.split(first), features)
    wrong = np.where(np.arange(100) < 10, (right + 1) % work.CLASSES, right)
    halves = [(features[:50].astype(np.float32), wrong[:50]), (features[50:].astype(np.float32), wrong[50:])]
    assert work.check_same_work(small, [first, first], halves) == [0.9, 0.9]
    with pytest.raises(SystemExit, match="not measured"):
        work.check_same_work(small, [first, np.zeros_like(first)], halves)
