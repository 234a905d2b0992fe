"""A protected app over the fake engine: exact means, and nothing of an update, a weight or a metric at the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from tests.launch.nvflare.protected.apps import PARTIES, START, Sites, play_all, train, update_of, weight_of

from hekat.errors import HekatError, PolicyError
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.nvflare.protected.app_party import AppParty, Update
from hekat.launch.nvflare.protected.app_role import SERVER_LEARNS
from hekat.launch.nvflare.protected.handover import Handover
from hekat.launch.outcome import outcome_path, read_outcome
from hekat.ledger.privacy.records import WAIVED
from hekat.state import new_run_id

pytestmark = pytest.mark.sealed

LIMIT_S = 60.0
STEPS = {party: (number + 1) * 0.25 for number, party in enumerate(PARTIES)}
WEIGHTS = np.array([weight_of(party) for party in PARTIES])


def grant_budget(sites: Sites, party: str) -> None:
    with (sites.place / party / "site.toml").open("a") as file:
        file.write(f'\n[party.{party}.privacy]\ndata_set = "visits"\nepsilon = 8.0\ndelta = 1e-6\n')


def mean_step(round_number: int) -> float:
    """The weighted mean of what the sites add in a round."""
    return float(np.average([STEPS[party] * 0.5**round_number for party in PARTIES], weights=WEIGHTS))


@pytest.mark.long
@pytest.mark.parametrize("is_difference", [False, True], ids=["weights", "difference"])
def test_all_sites_hold_the_weighted_mean_and_the_server_a_zero_each(tmp_path: Path, is_difference: bool) -> None:
    sites = Sites(tmp_path)
    order = sites.approve(sites.order())
    ended = play_all(sites, order, train(is_difference=is_difference))
    assert [(one.role_error, one.app_error) for one in ended.values()] == [(None, None)] * 4
    moved = mean_step(0) + mean_step(1)
    for party in PARTIES:
        given, answers, model = ended[party].result
        np.testing.assert_array_equal(given[0]["w"], START["w"])
        np.testing.assert_allclose(given[1]["w"], mean_step(0), atol=2e-4)
        np.testing.assert_allclose(model["w"], moved, atol=4e-4)
        np.testing.assert_allclose(model["b"], 1 - moved, atol=4e-4)
        assert (model["w"].dtype, model["b"].dtype) == (np.float32, np.float64)
        for answer in answers:
            assert {name: value.shape for name, value in answer.values.items()} == dict.fromkeys(START, (1,))
            assert not any(np.any(value) for value in answer.values.values())
            assert answer.metrics == {}
    first, *others = [np.load(sites.run_of(party, order) / "model.npz") for party in PARTIES]
    for other in others:
        np.testing.assert_array_equal(first["w"], other["w"])
    for role in sites.roles:
        assert read_outcome(outcome_path(tmp_path / role / "runs", order.run_id)).outcome == "finished"


@pytest.mark.long
def test_the_server_is_given_the_mean_where_all_sites_allow_it(tmp_path: Path) -> None:
    policy = 'protocols = ["averaging"]\nserver_learns_model = true\nbudget_waiver = true'
    sites = Sites(tmp_path, {"server_learns_model": True}, policy=policy)
    grant_budget(sites, "lake")

    def code(app: AppParty, party: str) -> Any:
        given = START
        for number in range(2):
            values = update_of(party, app.install(number, given), number)
            metrics = {"loss": 0.5 + PARTIES.index(party), "accuracy": 0.25 * PARTIES.index(party)}
            answer = app.sum_up(Update(values, False, weight_of(party), metrics))
            given = answer.values
        return answer, app.model

    order = sites.approve(sites.order())
    ended = play_all(sites, order, code)
    assert [(one.role_error, one.app_error) for one in ended.values()] == [(None, None)] * 4
    for party in PARTIES:
        answer, model = ended[party].result
        np.testing.assert_array_equal(answer.values["w"], model["w"])
        np.testing.assert_allclose(answer.values["w"], mean_step(0) + mean_step(1), atol=4e-4)
        assert answer.values["steps"] == 7  # a count of the site's own; the server has back what it sent
        expected = {"accuracy": np.average([0, 0.25, 0.5], weights=WEIGHTS)}
        expected["loss"] = np.average([0.5, 1.5, 2.5], weights=WEIGHTS)
        assert answer.metrics == pytest.approx(expected, abs=2e-3)
        ledger = (sites.run_of(party, order) / "ledger" / f"{party}.jsonl").read_text()
        assert SERVER_LEARNS in ledger
        assert (WAIVED in ledger) == (party == "lake")


def test_an_app_s_rows_with_a_privacy_budget_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    sites = Sites(tmp_path)
    grant_budget(sites, "lake")
    order, handover = sites.approve(sites.order()), Handover()
    role = sites.role("lake", order)
    with pytest.raises(PolicyError, match="the rows of lake have a privacy budget, and this is without noise"):
        role.play(AppParty(role.job(), "lake", handover), handover)
    assert not sites.run_of("lake", order).exists()


@pytest.mark.long
def test_what_leaves_waits_for_no_other_site_and_the_next_task_for_the_sum(tmp_path: Path) -> None:
    """Also where the app goes on with the arrays that it handed in."""
    sites = Sites(tmp_path)
    order = sites.approve(sites.order())
    has_answer = Event()

    def code(app: AppParty, party: str) -> Any:
        values = update_of(party, app.install(0, START), 0)
        if party != "north":
            assert has_answer.wait(LIMIT_S), "north's answer waits for the others"
        app.sum_up(Update(values, False, weight_of(party)))
        values["w"][:] = 1e6
        has_answer.set()
        given = app.install(1, START)
        app.sum_up(Update(update_of(party, given, 1), False, weight_of(party)))
        return given

    ended = play_all(sites, order, code)
    assert [(one.role_error, one.app_error) for one in ended.values()] == [(None, None)] * 4
    for party in PARTIES:
        np.testing.assert_allclose(ended[party].result["w"], mean_step(0), atol=2e-4)


@pytest.mark.long
def test_an_app_that_its_server_ends_before_its_last_round_is_not_called_finished(tmp_path: Path) -> None:
    sites = Sites(tmp_path, {"rounds": 5})
    order = sites.approve(sites.order())
    ended = play_all(sites, order, train(rounds=2))
    assert [(one.role_error, one.app_error) for one in ended.values()] == [(None, None)] * 4
    for party in PARTIES:
        outcome = read_outcome(outcome_path(tmp_path / party / "runs", order.run_id))
        assert (outcome.outcome, outcome.rounds, outcome.error) == ("ended early", "2 of 5", "")


@pytest.mark.long
def test_an_app_that_fails_leaves_and_the_others_go_on(tmp_path: Path) -> None:
    five = (*PARTIES, "river", "hill")
    sites = Sites(tmp_path, {"rounds": 2}, parties=five)

    def code(app: AppParty, party: str) -> Any:
        app.sum_up(Update({**app.install(0, START), "b": np.full(2, 3.0)}, False, 1))
        model = app.install(1, START)
        if party == "hill":
            app.note_end_of_task()  # its training raised
            return None
        app.sum_up(Update({**model, "b": np.full(2, 5.0)}, False, 1))
        return app.model

    order = sites.approve(sites.order())
    ended = play_all(sites, order, code)
    assert "ended a task without a result" in str(ended["hill"].role_error)
    for party in five[:4]:
        assert (ended[party].role_error, ended[party].app_error) == (None, None)
        np.testing.assert_allclose(ended[party].result["b"], 5.0, atol=1e-3)
    # A later run of the job is bound to the sets that were opened: hill stays out of the second round.
    again = replace(order, run_id=new_run_id())
    for party, one in play_all(sites, again, code).items():
        if party not in ("hill", "aggregator"):
            assert (one.role_error, one.app_error) == (None, None)


@pytest.mark.long
def test_a_site_waits_with_apps_of_other_parties_for_its_operator(tmp_path: Path) -> None:
    sites = Sites(tmp_path, {"rounds": 1}, parties=(*PARTIES, "river"))
    first = sites.approve(sites.order())
    assert all(one.role_error is None for one in play_all(sites, first, train(1)).values())
    fewer = Sites.__new__(Sites)
    fewer.__dict__.update({**vars(sites), "parties": PARTIES, "roles": (*PARTIES, "aggregator")})
    fewer.keys = {role: sites.keys[role] for role in fewer.roles}
    second = fewer.approve(fewer.order(min_parties=3))
    handover = Handover()
    role = fewer.role("north", second)
    with pytest.raises(PolicyError, match="job of other parties"):
        role.play(AppParty(role.job(), "north", handover), handover)


@pytest.mark.parametrize(
    "changed",
    [
        lambda order: replace(order, job_text=b"format = 2\nprotocol = 'psi'\n"),
        lambda order: replace(order, sites={**order.sites, "another": "another"}),
        lambda order: replace(order, sites={"north": "elsewhere"}),
    ],
    ids=["no job of an app", "other sites", "no role here"],
)
def test_a_job_that_is_refused_before_the_role_plays_has_an_outcome(
    tmp_path: Path, changed: Callable[[RunOrder], RunOrder]
) -> None:
    sites = Sites(tmp_path)
    order = changed(sites.order())
    with pytest.raises(HekatError) as refused:
        replace(sites.role("north", order), site="north").job()
    outcome = read_outcome(outcome_path(tmp_path / "north" / "runs", order.run_id))
    assert (outcome.outcome, outcome.kind) == ("failed", type(refused.value).__name__)
    assert outcome.error == str(refused.value)
