"""What aggregate gives is the weighted mean, to the stated bound, and what sum gives the exact sum of integers, the
same at all parties, whatever protects it."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from types import ModuleType

import numpy as np
import pytest

import hekat
from hekat.errors import BoundError, InputError, ProtocolError
from hekat.own_loop import Party

from .conftest import FIVE, THREE, make_state, stated_bound, weighted_mean

WEIGHTS = {"north": 400, "lake": 1, "county": 37, "river": 1000, "hill": 250}


def _collect(rounds: int, dtype=np.float32):
    """Code that takes `rounds` means of states that move a little; what each party passed and got, by round."""
    passed = [{} for _ in range(rounds)]
    got = [{} for _ in range(rounds)]

    def code(party: Party):
        state = make_state(FIVE.index(party.name), dtype)
        rng = np.random.default_rng(100 + FIVE.index(party.name))
        for number in range(rounds):
            passed[number][party.name] = {name: np.array(values) for name, values in state.items()}
            state = party.aggregate(state, weight=WEIGHTS[party.name])
            got[number][party.name] = {name: np.array(values) for name, values in state.items()}
            state = {
                name: (values + 1e-3 * rng.normal(size=values.shape)).astype(dtype) for name, values in state.items()
            }
        return state

    return code, passed, got


@pytest.mark.long_cases("committee", "8-bits")
@pytest.mark.parametrize(
    "protection",
    [
        {},
        {"opening": "authority"},
        {"opening": "shared"},
        {"clipping": "fixed", "alpha": 64.0},
        {"protection": "none"},
        {"value_bits": 8},
    ],
    ids=["committee", "authority", "shared", "fixed", "none", "8-bits"],
)
def test_each_mean_is_within_the_stated_bound(protection, play_with) -> None:
    code, passed, got = _collect(3)
    run = play_with(code, FIVE, **protection)
    weights = {party: WEIGHTS[party] for party in FIVE}
    for number, cost in enumerate(run.costs.rounds):
        assert (cost.round, cost.party_count, cost.weight_sum) == (number + 1, 5, sum(weights.values()))
        assert cost.clipped_count == 0
        for name in ("matrix", "vector", "number"):
            exact = weighted_mean(passed[number], weights, name)
            found = [got[number][party][name] for party in FIVE]
            assert all(np.array_equal(found[0], other) for other in found)
            if protection.get("protection") == "none":
                before = got[number - 1][FIVE[0]][name] if number else 0.0
                bound = float32_bound([passed[number][party][name] - before for party in FIVE])
            else:
                bound = stated_bound(cost, name, run_bits(protection))
            allowed = bound + 2 * np.spacing(np.abs(exact).astype(np.float32))
            assert (np.abs(found[0] - exact) <= allowed).all(), (number, name)


def float32_bound(sent: list[np.ndarray]) -> float:
    """Two roundings to float32, of what a party sends and of the mean."""
    return 2 * 2.0**-24 * max(float(np.abs(values).max()) for values in sent)


def run_bits(protection) -> int:
    return protection.get("value_bits", 16)


def test_daciq_bounds_serve_as_well(play_with) -> None:
    """They clip on purpose: the mean is near, not within the bound."""
    code, passed, got = _collect(2)
    run = play_with(code, FIVE, clipping="daciq")
    exact = weighted_mean(passed[1], {party: WEIGHTS[party] for party in FIVE}, "matrix")
    assert np.abs(got[1]["hill"]["matrix"] - exact).max() < 2e-3
    assert len(run.costs.rounds) == 2


def test_paillier_protects_a_loop_too(play_with) -> None:
    code, passed, got = _collect(2)
    run = play_with(code, THREE, protection="paillier", key_bits=2048)
    weights = {party: WEIGHTS[party] for party in THREE}
    for number, cost in enumerate(run.costs.rounds):
        exact = weighted_mean(passed[number], weights, "matrix")
        allowed = stated_bound(cost, "matrix") + 2 * np.spacing(np.abs(exact).astype(np.float32))
        assert (np.abs(got[number]["lake"]["matrix"] - exact) <= allowed).all()


def test_later_calls_send_differences_and_so_keep_their_precision(play_with) -> None:
    """The state is about 1, its change about 1e-3: the bound of the second call is far below that of the first."""
    code, _, _ = _collect(2, np.float64)
    rounds = play_with(code).costs.rounds
    assert rounds[1].bounds["matrix"] < rounds[0].bounds["matrix"] / 100


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
def test_names_order_shapes_and_dtypes_come_back(dtype, play_with) -> None:
    def code(party: Party):
        state = OrderedDict(make_state(FIVE.index(party.name), dtype))
        return party.aggregate(state, weight=5), state

    for result, state in play_with(code).results.values():
        assert type(result) is OrderedDict
        assert list(result) == list(state)
        for name in state:
            assert (result[name].shape, result[name].dtype) == (state[name].shape, np.dtype(dtype))
            assert isinstance(result[name], np.ndarray)
            assert not np.shares_memory(result[name], state[name])


def test_integers_stay_local_and_are_named_once(play_with, caplog) -> None:
    caplog.set_level("INFO", "hekat.own_loop")

    def code(party: Party):
        state = {"w": np.ones(3, np.float32), "steps": np.array(FIVE.index(party.name)), "mask": np.array([True])}
        for _ in range(2):
            state = party.aggregate(state, weight=1)
        return state

    run = play_with(code)
    assert [int(run.results[party]["steps"]) for party in THREE] == [0, 1, 2]
    (note,) = [note for note in run.notes if "mask" in note]
    assert "steps, mask" in note
    assert [record.getMessage() for record in caplog.records].count(note) == 1
    assert note in str(run)


def test_what_the_caller_does_to_its_tensors_changes_no_reference(play_with) -> None:
    def code(party: Party):
        state = {"w": np.full(4, 1.0 + FIVE.index(party.name), np.float32)}
        first = party.aggregate(state, weight=1)
        kept = first["w"].copy()
        first["w"][:] = 1e6  # the caller's own
        state["w"][:] = -7
        return kept, party.aggregate({"w": kept + 1}, weight=1)["w"]

    for kept, second in play_with(code).results.values():
        assert np.allclose(kept, 2, atol=1e-3)
        assert np.allclose(second, 3, atol=1e-3)


def test_parts_of_an_array_scalars_and_empty_arrays(play_with) -> None:
    def code(party: Party):
        index = FIVE.index(party.name)
        grid = np.arange(24, dtype=np.float64).reshape(4, 6) + index
        state = {
            "transposed": grid.T,
            "every other": grid[::2, ::-1],
            "scalar": np.float32(index),
            "empty": np.zeros((0, 3), np.float32),
        }
        return party.aggregate(state, weight=2), state

    for result, _ in play_with(code).results.values():
        grid = np.arange(24, dtype=np.float64).reshape(4, 6) + 1
        assert np.allclose(result["transposed"], grid.T, atol=2e-3)
        assert np.allclose(result["every other"], grid[::2, ::-1], atol=2e-3)
        assert isinstance(result["scalar"], np.float32)
        assert abs(result["scalar"] - 1) < 1e-3
        assert result["empty"].shape == (0, 3)


def test_patterns_select_what_is_sent(play_with) -> None:
    def code(party: Party):
        index = FIVE.index(party.name)
        state = {
            "layer.lora_a": np.full((2, 2), float(index)),
            "layer.weight": np.full(50, float(index)),
            "head.lora_b": np.full(3, float(index)),
        }
        return party.aggregate(state, weight=1, parameters="*lora_*"), state

    run = play_with(code)
    for result, state in run.results.values():
        assert result["layer.weight"] is state["layer.weight"]
        assert np.allclose(result["layer.lora_a"], 1, atol=1e-3)
        assert np.allclose(result["head.lora_b"], 1, atol=1e-3)
    assert run.costs.rounds[0].value_count == 7


@pytest.mark.parametrize(
    "other",
    [np.zeros(2, complex), np.array(["a"]), np.ma.masked_array([1.0]), {"nested": 1}, None],
    ids=["complex", "text", "masked", "dict", "none"],
)
def test_what_no_pattern_matches_may_be_anything(other, play_with) -> None:
    def code(party: Party):
        state = {"lora": np.full(2, float(FIVE.index(party.name))), "base": other}
        return party.aggregate(state, weight=1, parameters="lora")

    for result in play_with(code).results.values():
        assert np.allclose(result["lora"], 1, atol=1e-3)
        assert result["base"] is other


def test_only_torchs_own_name_of_extra_state_is_one(play_with) -> None:
    def code(party: Party):
        state = {"rnn_extra_state": np.full(2, float(FIVE.index(party.name))), "rnn._extra_state": party.name}
        return party.aggregate(state, weight=1)

    for party, result in play_with(code).results.items():
        assert np.allclose(result["rnn_extra_state"], 1, atol=1e-3)
        assert result["rnn._extra_state"] == party


def test_parties_may_hold_their_numbers_in_another_byte_order(play_with) -> None:
    def code(party: Party):
        dtype = ">f4" if party.name == "lake" else "<f4"
        state = {"w": np.full(3, 7.0, dtype)}
        party.start_from(state)
        return party.aggregate({"w": (state["w"] + FIVE.index(party.name)).astype(dtype)}, weight=1)["w"]

    results = play_with(code).results
    assert results["lake"].dtype == np.dtype(">f4")
    assert all(np.array_equal(result, results["north"]) for result in results.values())
    assert np.allclose(results["north"], 8, atol=1e-3)


@pytest.mark.parametrize("change", [1e-5, 5e-7, 1e-8])
def test_small_changes_of_small_weights_are_not_lost(change, play_with) -> None:
    """weight / weight_max makes them smaller still: they must not pass for zeros, whose bound would swallow them."""

    def code(party: Party):
        state = {"w": np.ones(4)}
        party.start_from(state)
        for _ in range(3):
            state = {"w": party.aggregate({"w": state["w"] + change}, weight=1)["w"]}
        return (state["w"] - 1) / (3 * change)

    for share in play_with(code, weight_max=2**20).results.values():
        assert np.allclose(share, 1, atol=1e-2)


def test_selections_may_take_turns(play_with) -> None:
    """Each set of tensors has its own references and bounds."""

    def code(party: Party):
        state = {"a": np.full(3, 1.0 + FIVE.index(party.name)), "b": np.full(2, 100.0 * FIVE.index(party.name))}
        for number in range(4):
            state = party.aggregate(state, weight=1, parameters=["a"] if number % 2 else ["b"])
        return state

    for result in play_with(code).results.values():
        assert np.allclose(result["a"], 2, atol=1e-3)
        assert np.allclose(result["b"], 100, atol=5e-2)


def test_the_code_of_parties_takes_turns_in_their_order(play_with) -> None:
    before = set(threading.enumerate())
    running, order = [], []

    def code(party: Party):
        for _ in range(3):
            running.append(party.name)
            order.append(party.name)
            assert running == [party.name]
            running.remove(party.name)
            party.aggregate({"w": np.zeros(2)}, weight=1)
        order.append(f"{party.name} ends")

    play_with(code)
    assert order == [*THREE * 3, *(f"{party} ends" for party in THREE)]
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("hekat-")]


def test_a_parameter_set_of_two_parties_needs_their_word(play_with) -> None:
    run = play_with(lambda party: party.aggregate({"w": np.zeros(1)}, weight=1), THREE[:2], allow_two_parties=True)
    assert set(run.results) == set(THREE[:2])


def test_a_state_is_none_of_torch_while_torch_is_being_imported(monkeypatch, play_with) -> None:
    """An app's thread may import it while another one averages: the module is there before its parts."""
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    run = play_with(lambda party: party.aggregate({"w": np.full(2, 3.0)}, weight=1), THREE)
    assert run.results["north"]["w"].round(2).tolist() == [3.0, 3.0]


def arrays_of(party: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(ord(party[0]))
    return {"large": rng.integers(-(2**31) + 1, 2**31, (3, 5)), "few": rng.integers(0, 2, 4)}


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_sums_are_exact_before_between_and_after_means(protection) -> None:
    def play(party):
        own = arrays_of(party.name)
        first = party.sum(own, maximum=2**31 - 1)
        mean = party.aggregate({"w": np.full(2, float(ord(party.name[0])))}, weight=1)
        second = party.sum({"few": own["few"]}, maximum=1)
        again = party.aggregate({"w": mean["w"] + 1}, weight=1)
        return first, mean, second, again, party.rounds_done

    run = hekat.federate(play, THREE, weight_max=1, protection=protection, clipping="fixed", alpha=128.0)
    first, mean, second, again, rounds = run.results["lake"]
    for name in ("large", "few"):
        wanted = sum(arrays_of(party)[name] for party in THREE)
        assert first[name].dtype == np.int64
        assert np.array_equal(first[name], wanted)
    assert np.array_equal(second["few"], first["few"])
    assert mean["w"] == pytest.approx(np.full(2, np.mean([ord(party[0]) for party in THREE])), abs=0.01)
    assert again["w"] == pytest.approx(mean["w"] + 1, abs=0.01)
    assert rounds == 4
    assert [cost.value_count for cost in run.costs.rounds] == [19, 2, 4, 2]


def test_paillier_sums_integers_too(paillier_keys, monkeypatch) -> None:
    monkeypatch.setattr("hekat.own_loop.federated_run.generate_keys", lambda bits: paillier_keys[2048][0])
    run = hekat.federate(
        lambda party: party.sum(arrays_of(party.name), maximum=2**31 - 1), THREE, protection="paillier", key_bits=2048
    )
    assert np.array_equal(run.results["north"]["large"], sum(arrays_of(party)["large"] for party in THREE))


@pytest.mark.parametrize(
    ("given", "maximum", "error", "told"),
    [
        ({"x": [9]}, 8, BoundError, "beyond the public bound"),
        ({"x": [-9]}, 8, BoundError, "beyond the public bound"),
        ({"x": [0.5]}, 8, InputError, "cannot be summed exactly"),
        ({}, 8, InputError, "nothing to sum"),
        ([1, 2], 8, InputError, "nothing to sum"),
        ({"x": [1]}, 0, InputError, "bound of a sum"),
        ({"x": [1]}, 2**31, InputError, "bound of a sum"),
        ({"x": [1]}, 1.5, InputError, "maximum"),
    ],
)
def test_what_cannot_be_summed_is_refused_before_anything_leaves(given, maximum, error, told) -> None:
    def play(party):
        with pytest.raises(error, match=told):
            party.sum(given, maximum=maximum)
        return party.sum({"x": [1]}, maximum=1)["x"].tolist()

    assert hekat.federate(play, THREE, protection="none").results["county"] == [3]


@pytest.mark.parametrize("what", ["shape", "bound", "call"])
def test_parties_that_call_for_different_sums_are_told_before_one_opens(what) -> None:
    def play(party):
        odd = party.name == "lake"
        if what == "call" and odd:
            return party.aggregate({"x": np.zeros(2)}, weight=1)
        size = 3 if what == "shape" and odd else 2
        return party.sum({"x": np.zeros(size, dtype=int)}, maximum=9 if what == "bound" and odd else 8)

    with pytest.raises(ProtocolError, match=r"do not call for the same|differ between parties"):
        hekat.federate(play, THREE, protection="none")
