"""`party.aggregate(..., mask=...)`: the same means as without a mask, what is said of it, and what is refused."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from hekat.errors import InputError, MaskError, PolicyError, ProtocolError
from hekat.own_loop import Party
from hekat.own_loop.aggregator import _check_call
from hekat.own_loop.calls.compare_calls import AGREED
from hekat.own_loop.calls.messages import CallMessage
from hekat.privacy import Mask, MaskRules, SensitivityMap

from ..conftest import THREE, make_state


def make_mask(fraction: float = 0.4, seed: int = 3, like: dict | None = None) -> Mask:
    rng = np.random.default_rng(seed)
    return Mask.from_arrays({n: rng.random(np.shape(v)) < fraction for n, v in (like or make_state(0)).items()})


MASK = make_mask()
CLEAR = MASK.value_count - MASK.chosen_count


def code_with(mask_of, rounds: int = 2, **others):
    """Rounds in which each party adds its own numbers; the first sends whole values."""

    def code(party: Party):
        state = make_state(THREE.index(party.name))
        for number in range(rounds):
            change = make_state(10 * number + THREE.index(party.name))
            state = {name: values + change[name] for name, values in state.items()}
            state = party.aggregate(state, weight=100 + THREE.index(party.name), mask=mask_of(party, number), **others)
        return state

    return code


@pytest.mark.long_cases("others1", "others2")
@pytest.mark.parametrize("others", [{}, {"clipping": "fixed", "alpha": 2.0}, {"opening": "shared"}, {"value_bits": 8}])
def test_means_are_those_of_a_loop_without_a_mask(others, play_with) -> None:
    run = play_with(code_with(lambda party, number: MASK), **others)
    whole = play_with(code_with(lambda party, number: None), **others)
    for party in THREE:
        for name, values in whole.results[party].items():
            assert np.array_equal(run.results[party][name], values), "bit for bit"
    assert [cost.clear_count for cost in run.costs.rounds] == [CLEAR] * 2
    assert whole.costs.clear_count == 0


def test_a_bound_on_updates_holds_with_a_mask(play_with) -> None:
    def code(mask):
        def play(party: Party):
            zeros = {name: np.zeros_like(values) for name, values in make_state(0).items()}
            party.start_from(zeros)
            return party.aggregate(make_state(THREE.index(party.name)), weight=100, mask=mask)

        return play

    run, whole = (play_with(code(mask), max_norm=3.0) for mask in (MASK, None))
    assert run.costs.rounds[0].scaled_down_count == whole.costs.rounds[0].scaled_down_count == 3
    for name, values in whole.results["north"].items():
        assert np.array_equal(run.results["north"][name], values)


def test_what_is_in_the_clear_is_said_loudly(play_with, caplog) -> None:
    with caplog.at_level(logging.WARNING, "hekat.own_loop"):
        run = play_with(code_with(lambda party, number: MASK))
    said = f"{CLEAR} OF {MASK.value_count} VALUES OF EVERY UPDATE ARE IN THE CLEAR"
    assert any(said in note for note in run.notes)
    assert sum(said in record.getMessage() for record in caplog.records) == 3, "once at each party"
    assert f"{6 * CLEAR} of {6 * MASK.value_count} VALUES SENT WERE IN THE CLEAR" in run.title
    assert f"{CLEAR} of them IN THE CLEAR" in str(run)
    assert "up, masked in part, sealed" in str(run)


def test_nothing_is_said_where_nothing_is_in_the_clear(play_with, caplog) -> None:
    run = play_with(code_with(lambda party, number: Mask.everything(MASK.sizes), rounds=1))
    assert "IN THE CLEAR" not in str(run)
    assert not caplog.records


def test_masks_may_change_from_round_to_round(play_with) -> None:
    run = play_with(code_with(lambda party, number: (None, MASK, make_mask(0.8, 4))[number], rounds=3))
    whole = play_with(code_with(lambda party, number: None, rounds=3))
    assert np.array_equal(run.results["lake"]["matrix"], whole.results["lake"]["matrix"])
    assert [cost.clear_count > 0 for cost in run.costs.rounds] == [False, True, True]


def test_what_a_mask_does_not_name_is_masked_whole(play_with) -> None:
    part = Mask.nothing({"vector": 11})
    run = play_with(code_with(lambda party, number: part, rounds=1))
    assert run.costs.rounds[0].clear_count == 11


def test_a_mask_that_the_parties_agree_on_serves(play_with) -> None:
    """From their maps, in the loop; the sum of integers and the mean after it are in the same run."""

    def code(party: Party):
        state = make_state(THREE.index(party.name))
        found = SensitivityMap({name: np.abs(values) for name, values in state.items()}, 8, "random")
        mask = party.agree_on_mask(found, MaskRules(0.25, always=("number",)), weight=8)
        return party.aggregate(state, weight=8, mask=mask), mask

    run = play_with(code)
    (_, mask), *others = run.results.values()
    assert all(mask == other for _, other in others)
    assert mask.chosen_count == 12
    assert mask.chosen("number").all()
    assert run.costs.rounds[-1].clear_count == 35


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (make_mask(seed=9), r"north, county: 30 values in the clear \| lake: "),
        (Mask.everything(MASK.sizes), "lake: 0 values in the clear"),
        (None, "lake: no mask"),
    ],
)
def test_masks_that_differ_are_named_before_any_sum_opens(other, said, play_with) -> None:
    with pytest.raises(MaskError, match=f"masks differ between parties in round 1, and no sum .*{said}"):
        play_with(code_with(lambda party, number: other if party.name == "lake" else MASK))


def test_an_aggregator_that_passes_over_the_comparison_opens_nothing(play_with, monkeypatch) -> None:
    """Each party's sum is masked with its own mask in the agreement: it is given up before it uploads."""
    monkeypatch.setattr("hekat.own_loop.calls.compare_calls._compare_masks", lambda *others: AGREED)
    swapped = MASK.packed_bits.copy()
    chosen = np.unpackbits(swapped, bitorder="little")[: MASK.value_count]
    first, other = np.flatnonzero(chosen)[0], np.flatnonzero(chosen == 0)[0]
    chosen[[first, other]] = chosen[[other, first]]
    moved = Mask(MASK.sizes, np.packbits(chosen, bitorder="little"))
    with pytest.raises(ProtocolError, match="with another model, mask, bounds or counters than most"):
        play_with(code_with(lambda party, number: moved if party.name == "lake" else MASK, rounds=1))


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (Mask.everything({"matrix": 34}), InputError, r"a mask of the size of tensor 'matrix'.*35 values; got 34"),
        (Mask.everything({"matrx": 35}), InputError, "a mask of tensors of the state.*got matrx"),
        ({"matrix": np.ones((7, 5), bool)}, InputError, "a mask of hekat.privacy.*got dict"),
    ],
)
def test_masks_that_do_not_fit_are_refused_before_anything_leaves(mask, error, message, play_with) -> None:
    with pytest.raises(error, match=message):
        play_with(code_with(lambda party, number: mask, rounds=1))


@pytest.mark.parametrize("protection", ["none", "paillier"])
def test_other_protections_refuse_a_mask_before_anything_leaves(protection, play_with) -> None:
    with pytest.raises(PolicyError, match=f"protection '{protection}' cannot mask a part"):
        play_with(code_with(lambda party, number: MASK, rounds=1), protection=protection)


def test_a_call_that_cannot_be_is_refused() -> None:
    for call in (
        CallMessage("compare", True, [], [], False, "x", b"", b"m", 0),
        CallMessage("average", True, [], [], False, "", b"", b"m", -1),
        CallMessage("sum", False, ["a"], ["float32 (3,)"], False, "", b"", b"", 3),
    ):
        with pytest.raises(InputError, match="a call that cannot be"):
            _check_call(call, True)
