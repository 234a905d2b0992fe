"""A server that wants more than the job says: other parties, keys or settings, a round twice, models that differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.launch.nvflare.protected.apps import PARTIES, START, App, Sites, play_all, train, update_of, weight_of

from hekat.channel import PartyKey
from hekat.errors import HekatError, PolicyError, ProtocolError, StateError
from hekat.job.site_file import load_site
from hekat.launch.nvflare.protected.app_party import AppParty, Update
from hekat.launch.nvflare.protected.app_role import AppRole
from hekat.launch.nvflare.protected.handover import Handover
from hekat.state import new_run_id

pytestmark = pytest.mark.sealed


def play_alone(role: AppRole, party: str) -> None:
    handover = Handover()
    role.play(AppParty(role.job(), party, handover), handover)


def test_nothing_is_sent_of_a_job_with_other_terms_than_the_approved_ones(tmp_path: Path) -> None:
    sites = Sites(tmp_path)
    approved = sites.approve(sites.order())
    stranger = PartyKey.generate().pin.encode()
    keyed = replace(approved, job_text=approved.job_text.replace(sites.keys["lake"].pin.encode(), stranger))
    learning = sites.order(server_learns_model=True)
    for changed in (keyed, learning, sites.order(rounds=200), sites.order(weight_max=99)):
        with pytest.raises(PolicyError, match=r"not approved|does not allow the server"):
            play_alone(sites.role("north", replace(changed, run_id=new_run_id())), "north")
    assert not sites.engine.seen


def test_a_site_plays_with_no_fewer_parties_than_it_approved(tmp_path: Path) -> None:
    sites = Sites(tmp_path, parties=(*PARTIES, "river"))
    sites.approve(sites.order())
    with pytest.raises(HekatError):
        play_alone(sites.role("north", sites.order(parties=PARTIES)), "north")
    assert not sites.engine.seen


def test_a_site_that_did_not_allow_averaging_refuses(tmp_path: Path) -> None:
    sites = Sites(tmp_path, policy="")
    with pytest.raises(PolicyError, match="does not allow protocol 'averaging'"):
        play_alone(sites.role("north", sites.approve(sites.order())), "north")


def test_a_site_may_forbid_that_the_server_learns_the_model(tmp_path: Path) -> None:
    sites = Sites(tmp_path)
    order = sites.approve(sites.order(server_learns_model=True))
    with pytest.raises(PolicyError, match="server to learn the model"):
        play_alone(sites.role("north", order), "north")
    assert not sites.engine.seen
    refusals = b"".join(
        path.read_bytes() for path in load_site(tmp_path / "north" / "site.toml").folder.rglob("*.jsonl")
    )
    assert b"policy.server_learns_model" in refusals


@pytest.mark.long
def test_a_run_is_played_once(tmp_path: Path) -> None:
    sites = Sites(tmp_path)
    order = sites.approve(sites.order(rounds=1))
    assert all(one.role_error is None for one in play_all(sites, order, train(1)).values())
    sent = len(sites.engine.seen)
    with pytest.raises(StateError, match="played the run already"):
        play_alone(sites.role("north", order), "north")
    assert len(sites.engine.seen) == sent


def ask_task_twice(app: AppParty, party: str) -> None:
    app.install(0, START)
    app.install(0, START)


def ask_result_twice(app: AppParty, party: str) -> None:
    model = app.install(0, START)
    app.sum_up(Update(update_of(party, model, 0), False, weight_of(party)))
    app.sum_up(Update(update_of(party, model, 0), False, weight_of(party)))


def ask_round_again(app: AppParty, party: str) -> None:
    model = app.install(0, START)
    app.sum_up(Update(update_of(party, model, 0), False, weight_of(party)))
    app.install(0, START)


def ask_later_round(app: AppParty, party: str) -> None:
    app.install(1, START)


def ask_more_rounds(app: AppParty, party: str) -> None:
    train(2)(app, party)
    app.install(2, START)


@pytest.mark.long_cases("ask_more_rounds")
@pytest.mark.parametrize("ask", [ask_task_twice, ask_result_twice, ask_round_again, ask_later_round, ask_more_rounds])
def test_a_server_that_asks_out_of_turn_is_refused(tmp_path: Path, ask: App) -> None:
    sites = Sites(tmp_path)
    ended = play_all(sites, sites.approve(sites.order()), ask)
    assert all("out of turn" in str(ended[party].app_error) for party in PARTIES)
    if ask is not ask_more_rounds:
        assert all(isinstance(ended[party].role_error, HekatError) for party in PARTIES)


@pytest.mark.parametrize("learns", [False, True], ids=["first round", "a later round"])
def test_models_that_differ_from_site_to_site_are_not_trained_on(tmp_path: Path, learns: bool) -> None:
    """Else a server could make all updates but one vanish, and read that one in the mean."""
    policy = 'protocols = ["averaging"]\nserver_learns_model = true'
    sites = Sites(tmp_path, {"server_learns_model": learns}, policy=policy)
    trained: list[str] = []

    def code(app: AppParty, party: str) -> Any:
        if learns:
            model = app.install(0, START)
            app.sum_up(Update(update_of(party, model, 0), False, weight_of(party)))
        other = {**START, "w": START["w"] + (party == "lake")}
        app.install(int(learns), other)
        trained.append(party)

    ended = play_all(sites, sites.approve(sites.order()), code)
    assert trained == []
    assert all(isinstance(ended[party].app_error, ProtocolError) for party in PARTIES)


def test_what_the_server_says_to_one_site_alone_opens_no_sum(tmp_path: Path) -> None:
    """Sites that train on nothing would leave one update alone in the mean."""
    sites = Sites(tmp_path)

    def code(app: AppParty, party: str) -> None:
        for number in range(2):
            model = app.install(number, START, b"rate 0" if (party, number) == ("lake", 1) else b"rate 0.1")
            app.sum_up(Update(update_of(party, model, number), False, weight_of(party)))

    ended = play_all(sites, sites.approve(sites.order()), code)
    for party in PARTIES:
        assert isinstance(ended[party].app_error, ProtocolError)
        said = str(ended[party].app_error)
        assert "'what the server said for the round' is not the same at all parties" in said
        assert "| lake" in said or "lake |" in said


def test_a_result_with_other_tensors_is_refused(tmp_path: Path) -> None:
    def code(app: AppParty, party: str) -> None:
        app.sum_up(Update({"w": app.install(0, START)["w"]}, False, 1))

    sites = Sites(tmp_path)
    ended = play_all(sites, sites.approve(sites.order()), code)
    assert all("no b; no steps" in str(ended[party].app_error) for party in PARTIES)


def test_planted_values_pass_nowhere(tmp_path: Path) -> None:
    sites = Sites(tmp_path)
    planted = np.frombuffer(b"PLANTED-PLANTED-PLANTED!", np.float32).reshape(2, 3) * np.float32(1)
    metric = 0.12345678901234567

    def code(app: AppParty, party: str) -> Any:
        model = app.install(0, START)
        return app.sum_up(Update({**model, "w": planted * 1}, False, 77, {"accuracy": metric}))

    order = sites.approve(sites.order(rounds=1))
    ended = play_all(sites, order, code)
    assert all(one.role_error is None for one in ended.values())
    answers = [ended[party].result for party in PARTIES]
    told = b"".join(value.tobytes() for answer in answers for value in answer.values.values())
    told += repr([answer.metrics for answer in answers]).encode()
    aggregator = b"".join(path.read_bytes() for path in (tmp_path / "aggregator").rglob("*") if path.is_file())
    seen = b"".join(sites.engine.seen) + told + aggregator
    assert len(seen) > 10_000
    for value in (planted.tobytes()[:8], np.float64(metric).tobytes(), b"accuracy", repr(metric).encode()):
        assert value not in seen
