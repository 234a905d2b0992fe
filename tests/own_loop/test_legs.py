"""How many legs a loop needs in an engine that stores and forwards, exactly, with the bits of any other run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from tests.own_loop.conftest import FIVE, THREE, make_state
from tests.protocol.store_and_forward import Star, play_over

from hekat.own_loop import Party, federated_run
from hekat.protocol.secure_sum.agreement import final_model

pytestmark = pytest.mark.sealed
ROUNDS = 3


class Legs:
    """The legs of one loop: `before` its first round, in each of `rounds`, and `after` the last."""

    def __init__(self) -> None:
        self.star: Star | None = None
        self.begun: list[int] = []

    def play(self, roles: Mapping[str, Callable[..., Any]], *, turn: threading.Lock, **_: Any) -> dict[str, Any]:
        """In place of `play_in_process`."""
        self.star = Star(tuple(roles), "aggregator", turn)
        return play_over(self.star, roles)

    def note(self, party: Party) -> None:
        """A call begins, or the code ends."""
        assert self.star is not None
        if party.name == party.parties[0]:
            self.begun.append(self.star.legs)

    @property
    def before(self) -> int:
        return self.begun[0]

    @property
    def rounds(self) -> list[int]:
        return [later - earlier for earlier, later in zip(self.begun, self.begun[1:], strict=False)]

    @property
    def after(self) -> int:
        assert self.star is not None
        return self.star.legs - self.begun[-1]


@pytest.fixture
def count_legs(play_with, monkeypatch) -> Callable[..., tuple[Legs, Any]]:
    """Plays some rounds over a star and in one process, whose results have to be the same bits."""

    def count(parties: tuple[str, ...] = THREE, **settings: Any) -> tuple[Legs, Any]:
        legs = Legs()

        def train(party: Party) -> dict[str, np.ndarray]:
            state = make_state(FIVE.index(party.name))
            party.start_from(make_state(9))
            for _ in range(ROUNDS):
                if legs.star is not None:
                    legs.note(party)
                state = party.aggregate(state, weight=10 + FIVE.index(party.name), same=("terms", 1))
            if legs.star is not None:
                legs.note(party)
            return state

        expected = play_with(train, parties, **settings).results
        with monkeypatch.context() as patch:
            patch.setattr(federated_run, "play_in_process", legs.play)
            run = play_with(train, parties, **settings)
        for party in parties:
            for name, values in expected[party].items():
                np.testing.assert_array_equal(run.results[party][name], values)
        return legs, run

    return count


CASES = {
    "committee of 3": (THREE, {}, 3, [6, 2, 2], 2),
    "committee of 5": (FIVE, {}, 3, [6, 2, 2], 2),
    "fixed bounds": (THREE, {"clipping": "fixed", "alpha": 64.0}, 3, [4, 2, 2], 2),
    "fitted bounds": (THREE, {"clipping": "daciq"}, 3, [5, 4, 4], 2),
    "authority": (THREE, {"opening": "authority"}, 3, [6, 2, 2], 2),
    "shared": (THREE, {"opening": "shared"}, 3, [5, 2, 2], 2),
    "paillier": (THREE, {"protection": "paillier", "key_bits": 2048}, 4, [3, 2, 2], 2),
    "none": (THREE, {"protection": "none"}, 3, [2, 2, 2], 2),
}


@pytest.mark.quick_cases("none")
@pytest.mark.parametrize("case", CASES)
def test_legs_before_in_and_after_the_rounds(case: str, count_legs) -> None:
    parties, settings, before, rounds, after = CASES[case]
    legs, _ = count_legs(parties, **settings)
    assert (legs.before, legs.rounds, legs.after) == (before, rounds, after)


@pytest.mark.quick_cases("none-0")
@pytest.mark.parametrize(("case", "more"), [("committee of 5", 1), ("authority", 1), ("shared", 1), ("none", 0)])
def test_the_keys_of_partners_take_one_leg_of_the_set_up_where_parties_are_many(
    case: str, more: int, count_legs, monkeypatch
) -> None:
    monkeypatch.setattr(final_model, "MOST_IN_PAIRS", 2)
    parties, settings, before, rounds, after = CASES[case]
    legs, _ = count_legs(parties, **settings)
    assert (legs.before, legs.rounds, legs.after) == (before + more, rounds, after)


@pytest.mark.long_cases("committee of 5")
@pytest.mark.parametrize("case", CASES)
def test_the_set_up_has_a_leg_less_where_no_state_to_start_from_is_compared(play_with, monkeypatch, case: str) -> None:
    """The call `start_from`, as any call of all parties, has a leg of its own."""
    parties, settings, before, *_ = CASES[case]
    legs = Legs()
    monkeypatch.setattr(federated_run, "play_in_process", legs.play)

    def code(party: Party) -> dict[str, np.ndarray]:
        assert legs.star is not None
        legs.begun.append(legs.star.legs)
        return party.aggregate(make_state(FIVE.index(party.name)), weight=1)

    play_with(code, parties, **settings)
    assert max(legs.begun) == before - 1
