"""Under protection `none` a large float32 state travels in blocks, and no role holds an update as one message."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hekat
from hekat.errors import HekatError, InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.plain import blocks
from hekat.protocol.secure_sum.plain.blocks import BlockSums
from hekat.protocol.secure_sum.plain.messages import PlainBlockMessage, PlainMeanBlockMessage, PlainUpdateMessage

NAMES = ("north", "lake", "county")
WEIGHTS = dict(zip(NAMES, (1, 2, 5), strict=True))
BLOCK = 1000
SHAPES = {"a": (3, 700), "b": (1,), "c": (899,), "d": ()}


def state_of(name: str, dtype: str = "float32") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(NAMES.index(name))
    return {key: rng.normal(size=shape).astype(dtype) for key, shape in SHAPES.items()}


def mean_of(key: str, dtype: str = "float32") -> np.ndarray:
    total = sum(state_of(name, dtype)[key].astype(np.float64) * WEIGHTS[name] for name in NAMES)
    return (total / sum(WEIGHTS.values())).astype(dtype)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_VALUES", BLOCK)


def play(folder: Path | None = None, dtype: str = "float32") -> dict[str, dict[str, np.ndarray]]:
    run = hekat.federate(
        lambda party: party.aggregate(state_of(party.name, dtype), weight=WEIGHTS[party.name]),
        NAMES,
        protection="none",
        weight_max=5,
        folder=folder,
    )
    return run.results


def entries(folder: Path, name: str) -> list[dict]:
    return [json.loads(line) for line in (folder / "ledger" / f"{name}.jsonl").read_text().splitlines()[:-1]]


def test_the_mean_is_that_of_all_parties_and_no_message_is_larger_than_a_block(tmp_path) -> None:
    results = play(tmp_path / "run")
    for name in NAMES:
        assert all(np.array_equal(results[name][key], mean_of(key)) for key in SHAPES)
    largest = max(entry["payload_bytes"] for entry in entries(tmp_path / "run", "aggregator"))
    assert largest < 4 * BLOCK + 1000
    sent = [entry for entry in entries(tmp_path / "run", "north") if entry["kind"] == "horizontal/plain-block"]
    values = sum(int(np.prod(shape)) for shape in SHAPES.values())
    assert len(sent) == -(-values // BLOCK)
    assert sum(field["bytes"] for entry in sent for field in entry["fields"]) == 4 * values, "bare float32"


def test_the_second_round_sends_differences_in_blocks_too(tmp_path) -> None:
    def twice(party: hekat.Party):
        state = party.aggregate(state_of(party.name), weight=WEIGHTS[party.name])
        return party.aggregate({key: values + np.float32(0.5) for key, values in state.items()}, weight=1)

    folder = tmp_path / "run"
    results = hekat.federate(twice, NAMES, protection="none", weight_max=5, folder=folder).results
    assert all(np.allclose(results["lake"][key], mean_of(key) + 0.5, atol=1e-6) for key in SHAPES)
    sent = [entry["step"] for entry in entries(folder, "north") if entry["kind"] == "horizontal/plain-block"]
    assert set(sent) == {"round-1/block", "round-2/block"}
    assert max(entry["payload_bytes"] for entry in entries(folder, "aggregator")) < 4 * BLOCK + 1000


def test_other_numbers_travel_whole_as_float64(tmp_path) -> None:
    results = play(tmp_path / "run", "float64")
    assert all(np.allclose(results["lake"][key], mean_of(key, "float64"), rtol=1e-15) for key in SHAPES)
    assert not [entry for entry in entries(tmp_path / "run", "north") if entry["kind"] == "horizontal/plain-block"]


@pytest.mark.parametrize(
    ("kind", "change", "match"),
    [
        (PlainUpdateMessage, {"block_count": 5000}, "another number of blocks"),
        (PlainUpdateMessage, {"block_count": -1}, "another number of blocks"),
        (PlainBlockMessage, {"values": np.zeros(BLOCK + 1, np.float32)}, "a block of another size"),
        (PlainBlockMessage, {"values": np.zeros((2, 2), np.float32)}, "a block of another size"),
        (PlainMeanBlockMessage, {"values": np.zeros(3, np.float32)}, "values in a block"),
    ],
)
def test_blocks_of_another_form_are_refused(kind, change, match, monkeypatch) -> None:
    send = RecordedChannel.send

    def send_changed(self, to, step, message, timeout_s=None):
        if isinstance(message, kind) and self.party in ("lake", "aggregator"):
            message = type(message)(**{**vars(message), **change})
        return send(self, to, step, message, timeout_s)

    monkeypatch.setattr(RecordedChannel, "send", send_changed)
    with pytest.raises(HekatError, match=match):
        play()


def test_a_sum_of_blocks_keeps_to_the_first_ones_sizes() -> None:
    sums = BlockSums(2)
    for index, size in enumerate((BLOCK, 7)):
        sums.add(index, np.ones(size, np.float32), 2, "a", "round-1")
    with pytest.raises(InputError):
        sums.add(1, np.ones(8, np.float32), 1, "b", "round-1")
    sums.add(0, np.ones(BLOCK, np.float32), 2, "b", "round-1")
    sums.add(1, np.full(7, 3, np.float32), 2, "b", "round-1")
    assert [mean.tolist() for mean in sums.means(4)] == [[1.0] * BLOCK, [2.0] * 7]
