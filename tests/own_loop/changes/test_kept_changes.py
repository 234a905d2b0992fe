"""Loops that send a part of each change: the part is the same at all parties, and the rest arrives later."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.own_loop import Party
from hekat.privacy.mask import Mask

SIZE = 640
SHARES = {"north": 1.0, "lake": 3.0, "county": -0.5}


def start() -> dict[str, np.ndarray]:
    return {"w": np.zeros((SIZE // 10, 10), dtype=np.float32), "bn.running_var": np.ones(5, dtype=np.float32)}


def play_rounds(party: Party, rounds: int) -> list[dict[str, np.ndarray]]:
    """Every round each party wants to move w by its share of a fixed direction, and the variances towards 2."""
    direction = np.random.default_rng(3).normal(size=(SIZE // 10, 10)).astype(np.float32)
    states = [start()]
    party.start_from(states[0])
    for _ in range(rounds):
        last = states[-1]
        changed = {
            "w": last["w"] + np.float32(SHARES[party.name]) * direction,
            "bn.running_var": (last["bn.running_var"] + 2) / 2,
        }
        states.append(party.aggregate(changed, weight=1))
    return states


FIXED = {"clipping": "fixed", "alpha": 64.0, "value_bits": 24, "weight_max": 1}


@pytest.mark.quick_values
@pytest.mark.parametrize("by", ["vote", "top_k", "random_k"])
@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_the_same_part_is_sent_by_all_and_the_rest_is_owed(by, protection, play_with) -> None:
    """What arrived after 12 rounds and what is owed are what all parties wanted; nothing comes twice."""
    owed: dict[str, Any] = {}

    def play(party: Party) -> list[dict[str, np.ndarray]]:
        states = play_rounds(party, 12)
        owed[party.name] = party._sums._kept._owed["w"].reshape(-1, 10)
        return states

    run = play_with(play, protection=protection, keep=0.2, keep_by=by, **FIXED)
    states = run.results["north"]
    for name, others in run.results.items():
        assert all(np.array_equal(a["w"], b["w"]) for a, b in zip(states, others, strict=True)), name
    changed = [np.count_nonzero(after["w"] != before["w"]) for before, after in pairwise(states)]
    assert all(0 < count <= SIZE // 5 for count in changed)
    assert [cost.value_count for cost in run.costs.rounds] == [SIZE // 5 + 5] * 12
    direction = np.random.default_rng(3).normal(size=(SIZE // 10, 10))
    wanted = 12 * direction * sum(SHARES.values()) / 3
    np.testing.assert_allclose(states[-1]["w"] + sum(owed.values()) / 3, wanted, atol=1e-4)
    # Statistics are sent whole, and owed by nobody.
    np.testing.assert_allclose(states[2]["bn.running_var"], 1.75, atol=1e-5)
    assert f"keep = 0.2 by {by}" in str(run)
    assert f"round 12: {SIZE // 5 + 5} of {SIZE + 5} values" in str(run)
    assert run.costs.rounds[-1].float32_bytes == 4 * (SIZE + 5)


def test_a_new_start_owes_nothing(play_with) -> None:
    def play(party: Party) -> int:
        play_rounds(party, 2)
        before = np.count_nonzero(party._sums._kept._owed["w"])
        party.start_from(start())
        assert before
        return len(party._sums._kept._owed)

    run = play_with(play, protection="none", keep=0.2, **FIXED)
    assert set(run.results.values()) == {0}


def test_what_max_norm_takes_is_not_owed(play_with) -> None:
    """Two of ten blocks a round, scaled down to 1: the eight others are owed whole, of the two nothing."""
    kept: dict[str, Any] = {}

    def play(party: Party) -> Any:
        states = play_rounds(party, 1)
        kept[party.name] = party._sums._kept._owed["w"]
        return states[-1]["w"]

    run = play_with(play, protection="none", keep=0.2, max_norm=1.0, **FIXED)
    sent = run.results["lake"].reshape(-1) != 0
    assert np.count_nonzero(sent) == SIZE // 5
    for owed in kept.values():
        assert not owed[sent].any()
        assert owed[~sent].all()
    assert run.costs.scaled_down_count == 3


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"keep": 0.0}, "setting keep refused"),
        ({"keep": 1.5}, "setting keep refused"),
        ({"keep": 0.5, "keep_by": "union"}, "setting keep_by refused"),
        ({"keep": 0.5, "keep_by": "own"}, "setting keep_by refused"),
        ({"keep": 0.5, "keep_by": "votes"}, "setting keep_by refused"),
        ({"keep_by": "top_k"}, "setting keep_by has no effect"),
        ({"keep": 0.5, "clipping": "daciq"}, r"setting codec\.clipping refused"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(others, words, play_with) -> None:
    with pytest.raises(InputError, match=words):
        play_with(lambda party: party.rounds_done, **others)


def test_a_first_call_with_whole_values_is_refused(play_with) -> None:
    with pytest.raises(InputError, match=r"keep sends parts of changes, and round 1 would send whole values"):
        play_with(lambda party: party.aggregate(start(), weight=1), keep=0.5)


def test_a_mask_beside_it_is_refused(play_with) -> None:
    """A mask is of all values; what of it would be in the clear would follow from where the parts are."""
    mask = Mask.everything({"w": SIZE, "bn.running_var": 5})

    def play(party: Party) -> Any:
        party.start_from(start())
        return party.aggregate(start(), weight=1, mask=mask)

    with pytest.raises(InputError, match="a mask cannot choose what is masked where keep leaves values at home"):
        play_with(play, keep=0.5)
