"""In a run of many parties only those get keys for each other who talk; it gives what a run with all keys gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.own_loop.conftest import THREE, make_state

from hekat.channel import SealedChannel, sealing
from hekat.channel.sealed_message import parse_frame
from hekat.channel.sealing import PAIR_STEP
from hekat.errors import SealError
from hekat.own_loop import Party
from hekat.protocol.secure_sum.agreement import final_model

pytestmark = pytest.mark.sealed
NINE = tuple(f"p{number}" for number in range(9))
HUB, LEADER = "aggregator", "p0"
DRAWN = 7


def train(party: Party) -> dict[str, np.ndarray]:
    state = make_state(int(party.name[1:])) if party.name in NINE else make_state(THREE.index(party.name))
    for _ in range(2):
        state = party.aggregate(state, weight=10, same=("terms", 1))
    return state


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three parties are many here."""
    monkeypatch.setattr(final_model, "MOST_IN_PAIRS", 2)


def given(channels: Iterable[SealedChannel]) -> set[tuple[str, str]]:
    """The directions that got their keys after the session had opened."""

    return {
        (one.party, peer)
        for one in channels
        for peer, step in one.traffic
        if step == PAIR_STEP and one.traffic[peer, step].sent_count
    }


def both_ways(names: Iterable[str], others: Iterable[str]) -> set[tuple[str, str]]:
    kept = tuple(others)
    return {pair for name in names for other in kept if name != other for pair in ((name, other), (other, name))}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """(sender, receiver) of all messages that were opened."""
    pairs: set[tuple[str, str]] = set()

    def note(data: bytes) -> Any:
        frame = parse_frame(data)
        pairs.add((frame.header.sender, frame.header.receiver))
        return frame

    monkeypatch.setattr(sealing, "parse_frame", note)
    return pairs


def to_each(openers: Iterable[str], parties: Iterable[str]) -> set[tuple[str, str]]:
    """What openers are told goes by no aggregator, and what they tell does."""
    kept = tuple(openers)
    return {(name, opener) for name in parties for opener in kept if name != opener}


@pytest.mark.long
def test_the_aggregator_gets_keys_with_all_and_drawn_members_are_given_some_by_all(
    many, play_with, opened_channels, taken, tmp_path
) -> None:
    play_with(train, NINE, folder=tmp_path)
    told = re.findall(r"members of the committee: ([^\"]*)", next(tmp_path.rglob("p0.jsonl")).read_text())
    members = told[0].split(", ")
    assert len(members) == DRAWN
    # The leader gives all the secrets of the run, a member or not.
    leads = {(LEADER, name) for name in NINE[1:]}
    keys = given(opened_channels)
    assert keys == both_ways([HUB], NINE) | to_each(members, NINE) | leads
    assert taken <= keys


@pytest.mark.parametrize(
    ("settings", "openers"),
    [
        ({"protection": "none"}, []),
        ({"opening": "shared"}, []),
        ({"opening": "authority", "authority": "keeper"}, ["keeper"]),
    ],
)
def test_without_a_draw_the_same_holds(many, play_with, opened_channels, taken, settings, openers) -> None:
    play_with(train, **settings)
    keys = given(opened_channels)
    leads = {(THREE[0], name) for name in THREE[1:]} if "opening" in settings else set()
    assert keys == both_ways([HUB], [*THREE, *openers]) | to_each(openers, THREE) | leads
    assert taken <= keys


@pytest.mark.long
def test_many_parties_get_the_same_bits_as_few(play_with, monkeypatch, opened_channels) -> None:
    few = play_with(train).results
    assert given(opened_channels) == set()
    monkeypatch.setattr(final_model, "MOST_IN_PAIRS", 2)
    many = play_with(train).results
    assert given(opened_channels) != set()
    for name in THREE:
        for tensor, values in few[name].items():
            np.testing.assert_array_equal(many[name][tensor], values)


def test_a_role_that_talks_with_a_stranger_is_told_so(many, play_with, opened_channels) -> None:
    def stray(party: Party) -> None:
        party.aggregate(make_state(0), weight=1)
        own = next(channel for channel in opened_channels if channel.party == party.name)
        stranger = next(name for name in NINE if name != party.name and name not in own._session.sending)
        own.send(stranger, "step", b"hello")

    with pytest.raises(SealError, match="no pair key between"):
        play_with(stray, NINE, protection="none")
