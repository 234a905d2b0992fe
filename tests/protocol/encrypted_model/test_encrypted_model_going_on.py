"""Runs go on from the shares that arbiter and aggregator kept, and refuse shares that do not belong together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.encrypted_model.play import (
    AGGREGATOR,
    ARBITER,
    OWNER,
    Played,
    ends,
    make_settings,
    make_tables,
    play,
)

from hekat.errors import ProtocolError, StateError
from hekat.protocol.encrypted_model.party_run import SHARE, TRANSCRIPT, ShareState
from hekat.protocol.encrypted_model.transcript import begin_transcript, extend_transcript
from hekat.protocol.shares.share_array import add_shares, signed_integers

SEED = 8
ROUNDS = 4


def states_after(played: Played, round_number: int) -> dict[str, ShareState]:
    return {name: states[round_number - 1] for name, states in played.states.items()}


def weights_of(played: Played) -> Any:
    return signed_integers(add_shares(*(played.states[name][-1].arrays[SHARE] for name in (ARBITER, AGGREGATOR))))


@pytest.mark.quick_values
@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("owner", [OWNER, "north"])
def test_a_run_goes_on_where_it_stopped(protection: str, owner: str) -> None:
    settings = make_settings(owner=owner, protection=protection, training={"rounds": ROUNDS})
    tables = make_tables(SEED)
    whole = play(settings, tables)
    resumed = play(settings, tables, resume=states_after(whole, 2))
    assert resumed.rounds == {name: [3, 4] for name in settings.everyone}
    # Without protection nothing is drawn; with it each further round may be off by one unit, which the map moves on.
    most = 0 if protection == "none" else 8
    assert np.abs(weights_of(resumed) - weights_of(whole)).max() <= most


def test_a_finished_run_gives_the_owner_its_model_again() -> None:
    settings = make_settings(protection="lattice")
    tables = make_tables(SEED)
    whole = play(settings, tables)
    again = play(settings, tables, resume=states_after(whole, settings.training.rounds))
    first, second = whole.results[OWNER], again.results[OWNER]
    assert first is not None
    assert second is not None
    assert (first.weights == second.weights).all()
    assert [model.round_number for model in again.models] == [settings.training.rounds]
    assert not any(again.rounds.values())


def test_each_share_alone_is_uniform_and_never_the_same_twice() -> None:
    settings = make_settings(protection="lattice", training={"rounds": 2})
    tables = make_tables(SEED)
    ends_of = [play(settings, tables).states for _ in range(2)]
    for name in (ARBITER, AGGREGATOR):
        shares = [np.concatenate([state.arrays[SHARE].ravel() for state in states[name]]) for states in ends_of]
        assert not np.isin(shares[0], shares[1]).any()


@pytest.mark.parametrize("what", ["another round", "another run", "another shape", "no share"])
def test_states_that_do_not_belong_together_are_refused(what: str) -> None:
    settings = make_settings(protection="lattice", training={"rounds": ROUNDS})
    tables = make_tables(SEED)
    whole = play(settings, tables)
    states = states_after(whole, 2)
    state, kind, match = states[ARBITER], ProtocolError, "do not belong together"
    if what == "another round":
        states[ARBITER], match = whole.states[ARBITER][0], "goes on after another round"
    if what == "another run":
        states[ARBITER] = replace(state, arrays={**state.arrays, TRANSCRIPT: np.zeros(32, np.uint8)})
    if what == "another shape":
        states[ARBITER] = replace(state, arrays={**state.arrays, SHARE: state.arrays[SHARE][1:]})
        kind, match = StateError, "notary cannot resume from its state"
    if what == "no share":
        states[ARBITER], kind, match = replace(state, arrays={}), StateError, "notary cannot resume from its state"
    with ends(kind, match):
        play(settings, tables, resume=states)


def test_a_transcript_is_of_all_sums_in_their_order() -> None:
    start = begin_transcript(b"session")
    others = [begin_transcript(b"another"), extend_transcript(start, b"a"), extend_transcript(start, b"b")]
    assert len({start, *others}) == 4
    orders = [extend_transcript(extend_transcript(start, first), then) for first, then in ((b"a", b"b"), (b"b", b"a"))]
    assert orders[0] != orders[1]
    assert extend_transcript(start, b"b") != orders[0]


def test_an_owner_compares_what_both_saw() -> None:
    """The last round is done, and nobody else looks at both transcripts any more."""
    settings = make_settings(protection="lattice")
    tables = make_tables(SEED)
    whole = play(settings, tables)
    states = states_after(whole, settings.training.rounds)
    state = states[AGGREGATOR]
    states[AGGREGATOR] = replace(state, arrays={**state.arrays, TRANSCRIPT: np.ones(32, np.uint8)})
    with ends(ProtocolError, "shares of notary and hub do not belong together"):
        play(settings, tables, resume=states)


def test_a_resumed_run_notes_that_rounds_may_be_played_again() -> None:
    settings = make_settings()
    tables = make_tables(SEED)
    whole = play(settings, tables)
    resumed = play(settings, tables, resume=states_after(whole, 1))

    def notes_of(played: Played) -> str:
        ledger = played.sessions["north"].ledger
        assert ledger is not None
        return ledger.data.decode()

    assert "goes on after round 1" in notes_of(resumed)
    assert "goes on after round" not in notes_of(whole)
