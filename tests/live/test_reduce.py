"""What each thing that a run says makes of the snapshot, and what it never makes of it."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from tests.live.conftest import ledger_line, make_state, play, round_event, started_event

from hekat.live.facts import (
    EventWritten,
    LedgerWritten,
    MachineRead,
    PartyLost,
    PhaseAdvanced,
    PhaseBegun,
    RoleRead,
    RunEnded,
    TimePassed,
    WorkReached,
)
from hekat.live.ledger_line import read_ledger_line
from hekat.live.reduce import MOST_DROPOUTS, MOST_LINES, MOST_ROUNDS, MOST_SEEN
from hekat.live.state import Machine, RoleWork, Tells


def test_a_run_begins_goes_on_and_ends(state) -> None:
    state = play(state, [EventWritten(started_event()), PhaseBegun("encrypted", 2), PhaseAdvanced("encrypted")])
    assert (state.status, state.run.run_id, state.phase.done) == ("running", "20260102T100000Z-0123ab", 1)
    assert not state.is_over
    ended = play(state, [LedgerWritten(ledger_line("north", "opened")), RunEnded()])
    assert ended.status == "finished"
    assert ended.is_over
    assert {one.presence for one in ended.participants} == {"ended"}
    assert play(state, [RunEnded("KeyboardInterrupt")]).stopped_by == "KeyboardInterrupt"


@pytest.mark.parametrize(("said", "told"), [(True, True), (False, False), (1, False), (None, False)])
def test_a_role_says_whether_its_test_data_are_training_rows(state, said, told) -> None:
    known = play(state, [EventWritten({"event": "test data", "is_trained_on": said})])
    assert known.run.tests_trained_on is told


def test_a_phase_counts_its_own_rounds_and_not_more_than_it_has(state) -> None:
    state = play(state, [PhaseBegun("plain", 1), *[PhaseAdvanced("encrypted")] * 2, *[PhaseAdvanced("plain")] * 3])
    assert state.phase.done == 1


def test_rounds_carry_loss_metrics_and_the_seconds_since_the_one_before(state) -> None:
    events = [round_event(1), round_event(2, second=9, loss=None), round_event(1, "plain", 10)]
    points = play(state, map(EventWritten, events)).rounds
    assert [(one.phase, one.number, one.loss, one.seconds) for one in points] == [
        ("encrypted", 1, 0.5, None),
        ("encrypted", 2, None, 4.0),
        ("plain", 1, 0.5, None),
    ]
    assert points[0].metrics == {"auc": 0.9}


def test_plain_bytes_are_four_for_each_value_and_round_that_is_sent() -> None:
    state = play(make_state(values_each_round=31), map(EventWritten, [round_event(1), round_event(1, "plain")]))
    assert state.plain_bytes == 124
    assert make_state().plain_bytes is None


def test_many_rounds_are_thinned_and_the_newest_stays(state) -> None:
    rounds = play(state, [EventWritten(round_event(number)) for number in range(1, 3 * MOST_ROUNDS)]).rounds
    assert len(rounds) <= MOST_ROUNDS
    assert rounds[-1].number == 3 * MOST_ROUNDS - 1


def test_a_session_that_opens_shows_everybody_present_and_a_message_when_it_was_heard_of(state) -> None:
    lines = [ledger_line("hub", "opened", peer=""), ledger_line("hub", "received", peer="east")]
    state = play(state, map(LedgerWritten, lines))
    assert {one.presence for one in state.participants} == {"present"}
    assert [one.name for one in state.participants if one.last_heard] == ["east"]
    assert (state.step.group, state.step.part, state.step.role) == ("round-1", "dealt", "hub")


@pytest.mark.parametrize(
    "fact",
    [
        PartyLost("east", "round-1", "gone"),
        EventWritten({"event": "lost", "party": "east", "step": "round-1", "reason": "gone"}),
        LedgerWritten(ledger_line("hub", "note", "expel", "", tells=(Tells("disclosed", "gave up on 'east'", 0),))),
    ],
    ids=["told", "logged", "noted"],
)
def test_a_lost_party_is_shown_as_lost_once(state, fact) -> None:
    state = play(state, [LedgerWritten(ledger_line("hub", "opened")), fact, fact, RunEnded()])
    assert {one.name: one.presence for one in state.participants}["east"] == "lost"
    assert [one.party for one in state.dropouts] == ["east"]


def test_the_central_role_here_shows_what_it_received_by_class_and_kind(state) -> None:
    lines = [ledger_line("hub", "received", peer="east"), ledger_line("hub", "received", peer="north"),
             ledger_line("hub", "sent", peer="east"), ledger_line("north", "received", peer="hub")]  # fmt: skip
    seen = play(state, map(LedgerWritten, lines)).seen
    assert [(one.how, one.what, one.message_count, one.byte_count) for one in seen] == [
        ("disclosed", "a keyed digest", 2, 64),
        ("public", "", 2, 16),
    ]


def test_a_party_alone_shows_what_it_sent_to_the_central_role() -> None:
    lines = [ledger_line("north", "sent"), ledger_line("north", "sent", peer="east"), ledger_line("north", "received")]
    seen = play(make_state(("north",)), map(LedgerWritten, lines)).seen
    assert [one.message_count for one in seen] == [1, 1]


def test_what_grows_is_bounded(state) -> None:
    state = play(
        state,
        [
            LedgerWritten(ledger_line("hub", "received", tells=(Tells("public", str(n), 1),)))
            for n in range(3 * MOST_SEEN)
        ]
        + [PartyLost(str(number), "round-1", "") for number in range(2 * MOST_DROPOUTS)]
        + [WorkReached(f"work {number}", 1, 2) for number in range(100)],
    )
    assert len(state.ledger) == MOST_LINES
    assert state.ledger_lines == 3 * MOST_SEEN
    assert len(state.seen) == MOST_SEEN
    assert len(state.dropouts) == MOST_DROPOUTS
    assert len(state.works) <= 12


def test_an_epoch_and_an_iteration_of_trees_are_points_of_the_training(state) -> None:
    for word in ("epoch", "iteration"):
        (point,) = play(state, [EventWritten({"event": word, word: 3, "loss": 0.5})]).rounds
        assert (point.phase, point.number, point.loss) == ("training", 3, 0.5)


def test_an_iteration_across_rows_is_a_point_of_the_phase_that_the_bar_counts() -> None:
    event = {"event": "iteration", "phase": "encrypted", "iteration": 1, "loss": 0.5, "validation": {"rows": 7}}
    state = play(make_state(protocol="horizontal_trees"), [PhaseBegun("encrypted", 3), EventWritten(event)])
    assert [one.phase for one in state.rounds] == [state.phase.name]
    assert state.rounds_sent == 1


def test_what_the_final_model_was_measured_to_be_follows_on_the_last_round() -> None:
    trees = [
        EventWritten({"event": "iteration", "phase": "encrypted", "iteration": 3, "loss": 0.5}),
        EventWritten(
            {"event": "validation", "phase": "encrypted", "iterations": 3, "loss": 0.25, "metrics": {"auc": 0.75}}
        ),
    ]
    state = play(make_state(protocol="horizontal_trees"), trees)
    last, final = state.rounds
    assert (last.number, last.is_final, final.number, final.is_final) == (3, False, 4, True)
    assert (final.loss, final.validation, final.seconds) == (0.25, {"auc": 0.75}, None)
    assert state.rounds_sent == 1
    metrics = {"event": "validation", "phase": "encrypted", "rounds": 7, "metrics": {"auc": 0.75}}
    (final,) = play(make_state(), [EventWritten(metrics)]).rounds
    assert (final.number, final.loss, final.validation, final.is_final) == (8, None, {"auc": 0.75}, True)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "validation", "rounds": "7"},
        {"event": "round"},
        {"event": "round", "round": "1"},
        {"event": "epoch", "epoch": None},
        {"event": 3},
    ],
)
def test_events_of_another_form_change_nothing(state, event) -> None:
    assert play(state, [EventWritten(event)]) == state


def test_values_of_another_form_are_left_out(state) -> None:
    event = round_event(1, loss="nan", metrics=[1], validation={"auc": "high", "rmse": True}, time=None)
    (point,) = play(state, [EventWritten(event)]).rounds
    assert (point.loss, point.metrics, point.validation, point.time) == (None, {}, {}, "")


def test_figures_replace_those_of_the_same_role(state) -> None:
    facts = [
        RoleRead(RoleWork("north", sent_bytes=1)),
        RoleRead(RoleWork("east")),
        RoleRead(RoleWork("north", sent_bytes=2)),
    ]
    state = play(state, [*facts, MachineRead(Machine(cores=2)), TimePassed("now")])
    assert [(one.role, one.sent_bytes) for one in state.roles] == [("north", 2), ("east", 0)]
    assert (state.machine.cores, state.now) == (2, "now")


def test_a_snapshot_is_one_line_of_json_with_every_field(state) -> None:
    data = state.to_json()
    assert b"\n" not in data
    assert json.loads(data).keys() == {one.name for one in fields(state)} | {"plain_bytes"}


def test_lines_of_a_ledger_show_no_content_and_the_signature_is_none() -> None:
    content = {
        "direction": "sent", "time": "t", "peer": "hub", "step": "round-1", "kind": "k", "payload_bytes": 9,
        "payload_sha256": "5ec2e7", "hash": "ab", "session": "cd",
        "fields": [
            {"name": "a", "class": "public", "explanation": "", "bytes": 4},
            {"name": "b", "class": "public", "explanation": "", "bytes": 5},
        ],
    }  # fmt: skip
    line = read_ledger_line("north", content)
    assert line.tells == (Tells("public", "", 9),)
    assert "5ec2e7" not in repr(line)  # from a digest somebody could confirm a guess of the message
    assert read_ledger_line("north", {"party": "north", "signature": "00"}) is None
