"""What a loop cost, as figures, as text and as HTML: by party, round and step, beside plain float32."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.own_loop import Party

from .conftest import THREE


@pytest.mark.long
@pytest.mark.sealed
def test_costs_add_up_by_party_round_and_step(play_with, tmp_path) -> None:
    values = 40_000

    def code(party: Party):
        state = {"w": np.full(values, 1.0 + THREE.index(party.name), np.float32), "n": np.array(1)}
        for _ in range(3):
            state = party.aggregate(state, weight=1)

    run = play_with(code, folder=tmp_path / "run")
    costs = run.costs
    assert [cost.round for cost in costs.rounds] == [1, 2, 3]
    for cost in costs.rounds:
        assert cost.value_count == values
        assert cost.float32_bytes == 4 * values
        assert set(cost.bytes) == set(THREE)
        # 16 bits among three parties are masked in 19.5; a sum's offset and release, 4 kB each for 40,000 values, take
        # 1.6 more.
        assert 21.1 < cost.bits_per_value < 26
        assert all(min(part.up, part.down) > 0 for part in cost.bytes.values())
        # Members have keys from the start-up on, and release by the aggregator.
        assert all(part.shares == 0 for part in cost.bytes.values())
    assert costs.float32_bytes == 3 * 3 * 4 * values
    assert costs.value_count == 3 * 3 * values
    assert costs.up_bytes == sum(part.up for cost in costs.rounds for part in cost.bytes.values())
    # The releases of all three come with each sum.
    assert max(costs.up_bytes, costs.down_bytes) < 0.95 * costs.float32_bytes
    assert set(costs.seconds) == {*THREE, "aggregator"}
    assert {"train", "encode", "encrypt", "decrypt", "decode", "send", "open"} <= set(costs.seconds["lake"])
    assert sum(costs.seconds_by_step.values()) < costs.wall_seconds
    kept = json.loads((tmp_path / "run" / "costs.json").read_text())
    assert len(kept["rounds"]) == 3
    assert kept["rounds"][0]["bytes"]["lake"]["up"] == costs.rounds[0].bytes["lake"].up


def test_a_run_shows_itself_as_text_and_as_html(play_with) -> None:
    def code(party: Party):
        return party.aggregate({"w": np.ones(9), "n": np.array(1)}, weight=1)

    run = play_with(code)
    text, html = str(run), run._repr_html_()
    for shown in ("3 parties, 1 round, protection lattice", "plain float32, one way", "county", "train"):
        assert shown in text
        assert shown in html
    assert html.count("<table>") == html.count("</table>") == 2
    # A result is not printed with the run: it may be a model.
    assert "array" not in repr(run)


def test_a_loop_without_a_round_shows_itself(play_with) -> None:
    run = play_with(lambda party: party.name)
    assert run.results == {party: party for party in THREE}
    assert "0 rounds" in str(run)
    assert run.costs.up_bytes == 0
