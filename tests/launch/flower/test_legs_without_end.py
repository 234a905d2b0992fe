"""Parties that would have the server carry messages without end: each is lost by name, or not asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from hekat.errors import ProtocolError
from hekat.launch.flower.legs import EVALUATE, MOST_LEGS_WITHOUT_WORK, TRAIN, Legs, Outgoing, Returned
from hekat.launch.flower.shelf import Addressed

PARTIES = ("north", "lake", "county")
Behaviour = Callable[[Outgoing], Returned]


def does_as_asked(one: Outgoing) -> Returned:
    """Trains and evaluates at once: when it trains in a round it has opened the mean of the round before."""
    opened = one.round - 1 if one.work == TRAIN else one.round
    return Returned(wanted=opened + 2, opened=opened, did=one.work)


@dataclass
class Scripted:
    """An engine whose parties do as asked, but those that `behave` otherwise."""

    behave: Mapping[str, Behaviour]
    work: list[tuple[str, str, int]] = field(default_factory=list)
    legs: int = 0

    def bring(self, messages: Sequence[Outgoing]) -> dict[str, Returned | None]:
        self.legs += 1
        assert self.legs < 20 * MOST_LEGS_WITHOUT_WORK, "nothing ends the legs"
        self.work += [(one.party, one.work, one.round) for one in messages]
        return {one.party: self.behave.get(one.party, does_as_asked)(one) for one in messages}


@dataclass
class Waiting:
    """An aggregator that waits for one of `awaits`, the first that is not lost."""

    awaits: Sequence[str] = ()
    lost: list[str] = field(default_factory=list)
    error: BaseException | None = None
    is_over: bool = False

    def bring(self, parcels: Sequence[bytes]) -> None: ...

    def settle(self, within_s: float) -> bool:
        return True

    def take(self) -> list[Addressed]:
        return []

    def lose(self, party: str) -> None:
        self.lost.append(party)

    def awaited(self) -> str:
        return next((party for party in self.awaits if party not in self.lost), "")


def legs_with(awaits: Sequence[str] = (), **behave: Behaviour) -> tuple[Legs, Scripted, Waiting]:
    engine, aggregator = Scripted(behave), Waiting(awaits)
    legs = Legs(engine, aggregator, "aggregator", PARTIES, evaluates=True)
    legs.begin({party: Returned(wanted=1) for party in PARTIES})
    return legs, engine, aggregator


def test_roles_that_do_as_asked_take_one_leg_for_each_work() -> None:
    legs, engine, _ = legs_with()
    for number in (1, 2):
        trained, _ = legs.play_round(number)
        assert set(trained) == set(PARTIES)
    assert [len([one for one in engine.work if one[1:] == work]) for work in ((TRAIN, 1), (TRAIN, 2))] == [3, 3]
    assert engine.legs == 3
    assert not legs.lost


@pytest.mark.parametrize("is_over", [False, True])
def test_a_party_that_could_train_and_does_not_is_lost_by_name(is_over: bool) -> None:
    legs, engine, aggregator = legs_with(lake=lambda one: Returned(wanted=one.round, is_over=is_over))
    trained, _ = legs.play_round(1)
    assert set(trained) == {"north", "county"}
    assert legs.lost == {"lake": "it says that it can train, and does not"}
    assert aggregator.lost == ["lake"]
    assert engine.legs == 1


def test_a_party_that_could_evaluate_and_does_not_is_passed_over() -> None:
    """Its app may have failed: nobody waits for what it measures, and it goes on in the run."""

    def evaluates_never(one: Outgoing) -> Returned:
        did = does_as_asked(one)
        return Returned(did.wanted, did.opened, did=TRAIN if one.work == TRAIN else "")

    legs, engine, _ = legs_with(lake=evaluates_never)
    for number in (1, 2, 3):
        trained, evaluated = legs.play_round(number)
        assert "lake" in trained
        assert set(evaluated) == ({"north", "county"} if number > 1 else set())
    assert [work for work in engine.work if work[:2] == ("lake", EVALUATE)] == [
        ("lake", EVALUATE, 1),
        ("lake", EVALUATE, 2),
    ]
    assert not legs.lost


def test_at_the_end_too_a_party_is_asked_once_to_evaluate() -> None:
    def never_over(one: Outgoing) -> Returned:
        return Returned(opened=1, did=TRAIN if one.work == TRAIN else "")

    def over(one: Outgoing) -> Returned:
        return Returned(opened=1, is_over=one.work == EVALUATE, did=one.work)

    legs, engine, _ = legs_with(["lake"], north=over, county=over, lake=never_over)
    legs.play_round(1)
    legs.finish(1)
    assert engine.work.count(("lake", EVALUATE, 1)) == 1
    # It sends nothing, and its role does not end.
    assert set(legs.lost) == {"lake"}


def test_a_party_that_sends_itself_messages_without_end_is_lost() -> None:
    legs, engine, _ = legs_with(["lake"], lake=lambda one: Returned(parcels=[("lake", b"noise")]))
    legs._stands["lake"] = Returned(wanted=0)
    legs._waiting["lake"] = [b"noise"]
    trained, _ = legs.play_round(1)
    assert set(trained) == {"north", "county"}
    assert set(legs.lost) == {"lake"}
    assert engine.legs <= MOST_LEGS_WITHOUT_WORK + 2


def test_parties_that_pass_noise_to_and_fro_are_lost_one_after_the_other() -> None:
    """Also where they say in between that something was done."""
    legs, engine, _ = legs_with(
        ["north", "lake"],
        north=lambda one: Returned(parcels=[("lake", b"noise")], did="carry"),
        lake=lambda one: Returned(parcels=[("north", b"noise")], did=EVALUATE, opened=one.round % 2),
    )
    trained, _ = legs.play_round(1)
    assert set(trained) == {"county"}
    assert set(legs.lost) == {"north", "lake"}
    assert engine.legs <= 2 * MOST_LEGS_WITHOUT_WORK + 4


def test_where_no_one_party_is_to_blame_the_run_ends_and_says_how_long_it_went() -> None:
    legs, _, _ = legs_with(
        north=lambda one: Returned(parcels=[("lake", b"noise")]), lake=lambda one: Returned(parcels=[("north", b"1")])
    )
    with pytest.raises(ProtocolError, match=f"other messages in {MOST_LEGS_WITHOUT_WORK} legs"):
        legs.play_round(1)
