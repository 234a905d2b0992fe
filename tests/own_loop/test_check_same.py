"""Values that parties compare: JSON, text, bytes and code; who differs is named, and no value leaves."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.errors import InputError, ProtocolError
from hekat.own_loop import Party
from hekat.own_loop.canonical_value import canonical_bytes, digest_value

from .conftest import FIVE, THREE


def _model_of_one() -> int:
    return 1


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def _model_of_two() -> int:
    return 2


@pytest.mark.parametrize("value", [{"b": [1, None], "a": "x"}, "text", b"bytes", _model_of_one, json, Party])
def test_equal_values_pass(value, play_with) -> None:
    def code(party: Party):
        return party.check_same("it", value)

    assert set(play_with(code).results.values()) == {None}


@pytest.mark.parametrize("protection", ["lattice", "none"])
@pytest.mark.parametrize(
    ("usual", "other"), [(["red", "green"], ["green", "red"]), (_model_of_one, _model_of_two), ("text", b"text")]
)
def test_who_differs_is_named(usual, other, protection, play_with) -> None:
    told = []

    def code(party: Party):
        try:
            party.check_same("vocabulary", other if party.name == "lake" else usual)
        except ProtocolError as error:
            told.append(str(error))
            raise

    with pytest.raises(ProtocolError, match=r"'vocabulary' is not the same at all parties.*north, county \| lake"):
        play_with(code, protection=protection)
    assert len(set(told)) == 1
    # Under none the first that raises ends the run for the others.
    assert len(told) == len(THREE) or protection == "none"
    assert "red" not in told[0]


@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_who_differs_in_what_a_mean_is_taken_under_is_named(protection, play_with) -> None:
    def code(party: Party):
        for number in range(2):
            config = {"rate": 0.0 if (party.name, number) == ("lake", 1) else 0.1}
            party.aggregate({"w": np.ones(2)}, weight=1, same=("configuration", config))

    with pytest.raises(ProtocolError, match=r"'configuration' is not the same at all parties.*north, county \| lake"):
        play_with(code, protection=protection)


def test_a_mean_under_nothing_is_no_mean_under_something(play_with) -> None:
    def code(party: Party):
        party.aggregate({"w": np.ones(2)}, weight=1, same=None if party.name == "lake" else ("a", 1))

    with pytest.raises(ProtocolError, match=r"different things.*north, county: 'a'; lake: ''"):
        play_with(code)


def test_other_labels_are_named(play_with) -> None:
    with pytest.raises(ProtocolError, match=r"different things.*north: 'a'; lake, county: 'b'"):
        play_with(lambda party: party.check_same("a" if party.name == "north" else "b", 1))


def test_comparisons_stand_between_means(play_with) -> None:
    def code(party: Party):
        for number in range(2):
            party.check_same("round", number)
            party.aggregate({"w": np.ones(2)}, weight=1)
        return party.rounds_done

    run = play_with(code, FIVE)
    assert set(run.results.values()) == {2}
    assert len(run.costs.rounds) == 2


def test_digests_are_keyed_and_bound_to_their_label() -> None:
    assert digest_value("a", 1, b"k" * 32) != digest_value("a", 1, b"l" * 32)
    assert digest_value("a", 1, b"") != digest_value("b", 1, b"")
    assert digest_value("a", {"x": 1, "y": 2}, b"") == digest_value("a", {"y": 2, "x": 1}, b"")


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), len, eval("lambda: 1"), _nested(100_000)])
def test_values_without_a_form_are_refused(value) -> None:
    with pytest.raises(InputError, match="'it' cannot be compared"):
        canonical_bytes("it", value)
