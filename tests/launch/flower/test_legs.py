"""Whole runs of a loop, leg by leg: roles as in production, and an engine in memory between them."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from tests.launch.flower.fake_engine import play
from tests.launch.flower.loop_sites import PARTIES, WEIGHTS, first_state, make_sites, mean_of, train

from hekat.errors import HekatError, PolicyError, ProtocolError
from hekat.launch.flower.metrics_file import METRICS_FILE
from hekat.launch.flower.party_run import MODEL_FILE
from hekat.ledger.privacy.records import WAIVED
from hekat.state.model_file import load_model

FOUR = (*PARTIES, "river")
BUDGET = '[party.county.privacy]\ndata_set = "visits"\nepsilon = 8.0\ndelta = 1e-6\n'


def test_every_site_has_the_weighted_mean_and_the_server_nothing(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    sites.add_policy("county", f"budget_waiver = true\n{BUDGET}")
    engine, legs, aggregator = play(sites)
    assert not legs.lost
    # Of an app's rows nothing has noise: the site that waives its budget for them says so in its own ledger.
    ledgers = {party: sites.runs(party) / aggregator.run_id / "ledger" / f"{party}.jsonl" for party in PARTIES}
    assert [party for party in PARTIES if WAIVED in ledgers[party].read_text()] == ["county"]
    models = {}
    for party in PARTIES:
        folder = sites.runs(party) / aggregator.run_id
        models[party], metadata = load_model(folder / MODEL_FILE)
        assert metadata["rounds"] == 2
        assert (folder / METRICS_FILE).exists()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [path for path in folder.glob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) != 0o600] == [
            folder / "parties.json"  # public keys
        ]
        assert sites.outcome(party, aggregator.run_id).outcome == "finished"
    for name in ("weight", "bias"):
        moved = mean_of(PARTIES, lambda party: train(party, first_state()), name)
        for party in PARTIES:
            # The second round moves by as much again: the same steps from the mean of the first.
            np.testing.assert_allclose(models[party][name], 2 * moved, atol=1e-3)
            np.testing.assert_array_equal(models[party][name], models["north"][name])
    assert not list(sites.runs("aggregator").rglob("*.npz"))
    assert sites.outcome("aggregator", aggregator.run_id).outcome == "finished"
    trained = train("county", first_state())["weight"].tobytes()
    assert not any(trained in parcel for parcel in engine.seen)


def test_an_app_s_rows_with_a_privacy_budget_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    sites.add_policy("county", BUDGET)
    with pytest.raises(PolicyError, match="the rows of county have a privacy budget, and this is without noise"):
        sites.load("county")
    assert not sites.runs("county").exists()


@pytest.mark.long
@pytest.mark.parametrize("evaluates", [True, False])
def test_a_further_round_takes_two_legs(tmp_path: Path, evaluates: bool) -> None:
    """As many as plain FedAvg takes, by its messages to train and to evaluate."""
    _, two, _ = play(make_sites(tmp_path / "two"), evaluates=evaluates)
    _, four, _ = play(make_sites(tmp_path / "four", rounds=4), evaluates=evaluates)
    assert four.legs - two.legs == 2 * 2


def test_each_party_trains_and_evaluates_once_a_round(tmp_path: Path) -> None:
    engine, _, _ = play(make_sites(tmp_path))
    expected = sorted((party, work, number) for party in PARTIES for work in ("train", "evaluate") for number in (1, 2))
    assert sorted(engine.work) == expected


def test_without_evaluation_messages_to_train_carry_all(tmp_path: Path) -> None:
    engine, legs, _ = play(make_sites(tmp_path), evaluates=False)
    assert {work for _, work, _ in engine.work} == {"train"}
    assert not legs.lost


@pytest.mark.long
def test_a_party_without_replies_is_lost_and_the_others_go_on(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, FOUR)
    _, legs, aggregator = play(sites, lose={"river": 10})
    assert set(legs.lost) == {"river"}
    states = {}
    for party in PARTIES:
        assert sites.outcome(party, aggregator.run_id).outcome == "finished"
        states[party], _ = load_model(sites.runs(party) / aggregator.run_id / MODEL_FILE)
        np.testing.assert_array_equal(states[party]["weight"], states["north"]["weight"])
    assert sites.outcome("river", aggregator.run_id).kind


@pytest.mark.long
def test_a_party_that_is_lost_at_any_leg_holds_nobody_up(tmp_path: Path) -> None:
    """Also once the aggregator, which else tells the others, has ended."""
    _, legs, _ = play(make_sites(tmp_path / "whole", FOUR))
    for leg in range(8, legs.legs + 1):
        sites = make_sites(tmp_path / str(leg), FOUR)
        engine, _, aggregator = play(sites, lose={"river": leg})
        assert engine.legs <= legs.legs + 1
        for party in PARTIES:
            assert sites.outcome(party, aggregator.run_id).outcome == "finished", leg


@pytest.mark.parametrize("lost", [{}, {"river": 8}])
def test_sums_that_shared_secrets_open_play_as_over_other_engines(tmp_path: Path, lost: dict[str, int]) -> None:
    sites = make_sites(tmp_path, FOUR, more="[protection]\nopening = 'shared'\n", approved=False)
    for role in (*FOUR, "aggregator"):
        sites.add_policy(role, 'openings = ["shared"]')
    sites.approve()
    _, legs, aggregator = play(sites, lose=lost)
    assert set(legs.lost) == set(lost)
    for party in {*FOUR} - set(lost):
        assert sites.outcome(party, aggregator.run_id).outcome == "finished"


def test_with_three_parties_a_loss_ends_the_run_by_name(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    with pytest.raises(ProtocolError, match="too few parties"):
        play(sites, lose={"lake": 7})
    (path,) = sites.runs("north").glob("*.outcome.json")
    assert sites.outcome("north", path.name.removesuffix(".outcome.json")).outcome == "failed"


def test_a_run_that_stops_keeps_its_last_mean_and_calls_it_no_model(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, rounds=4)
    with pytest.raises(ProtocolError, match="too few"):
        play(sites, lose={"lake": 10})
    for party in ("north", "county"):
        (kept,) = sites.runs(party).glob("*/mean-of-round-*.npz")
        assert 0 < load_model(kept)[1]["rounds"] < 4
    assert not list(tmp_path.rglob(MODEL_FILE))


@pytest.mark.parametrize("of", ["north", "lake"])
def test_a_relay_that_drops_a_partys_parcels_brings_an_end_by_name_and_no_sum(tmp_path: Path, of: str) -> None:
    sites = make_sites(tmp_path)
    with pytest.raises(HekatError):
        play(sites, change=lambda party, parcels: [] if party == of else parcels)
    assert not list(tmp_path.rglob(MODEL_FILE))


def test_a_relay_that_alters_what_it_carries_brings_no_sum(tmp_path: Path) -> None:
    def alter(party: str, parcels):
        return [(to, parcel[:-1] + bytes([parcel[-1] ^ 1]) if party == "lake" else parcel) for to, parcel in parcels]

    with pytest.raises(HekatError):
        play(make_sites(tmp_path), change=alter)
    assert not list(tmp_path.rglob(MODEL_FILE))


def test_weights_stay_hidden_in_what_the_server_keeps(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    _, _, aggregator = play(sites)
    ledger = (sites.runs("aggregator") / aggregator.run_id / "ledger" / "aggregator.jsonl").read_text()
    assert not any(f": {weight}" in ledger for weight in WEIGHTS.values())
