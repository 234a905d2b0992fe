"""Every argument of federate and aggregate with values that cannot be: refused by name, with a cure, before a start."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import HekatError, InputError
from hekat.own_loop import Party, federate

from .conftest import THREE


def _not_to_start(party: Party):
    pytest.fail("started")


async def _async_code(party: Party):
    return party.name


def _generator_code(party: Party):
    yield party.name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("play", value) for value in (None, 5, "code", _async_code, _generator_code)],
        *[("parties", value) for value in (None, 5, "abc", b"abc", [1, 2, 3], ["a", None, "c"], [], {"a", "b", "c"})],
        *[("weight_max", value) for value in ("5", 1.5, 1e3, None, True, [1])],
        *[("value_bits", value) for value in (None, "16", 16.0, True)],
        *[("key_bits", value) for value in (None, "3072", 3072.0)],
        *[("alpha", value) for value in ("1", [1], True)],
        *[(name, value) for name in ("protection", "opening", "clipping") for value in (None, 5, [])],
        *[("aggregator", value) for value in (None, 5, b"x")],
        *[("authority", value) for value in (5, b"x")],
        *[("allow_two_parties", value) for value in (None, "no", 1)],
        *[("folder", value) for value in (5, b"runs", True, "")],
    ],
)
def test_an_argument_of_another_type_is_named(name, value) -> None:
    arguments = {"play": _not_to_start, "parties": THREE, name: value}
    with pytest.raises(InputError, match=rf"argument {name} of hekat.federate refused") as raised:
        federate(**arguments)
    assert raised.value.cure


@pytest.mark.parametrize(
    "others",
    [
        {"weight_max": 0},
        {"value_bits": 0},
        {"alpha": float("nan")},
        {"authority": "", "opening": "authority"},
        {"authority": ""},
        {"protection": "lattices"},
        {"opening": "commitee"},
        {"clipping": "fixed"},
    ],
    ids=str,
)
def test_an_argument_out_of_range_is_refused(others) -> None:
    with pytest.raises(HekatError) as raised:
        federate(_not_to_start, THREE, **others)
    assert raised.value.cure


def test_numpy_numbers_and_whole_bounds_are_taken() -> None:
    """A row count out of NumPy is a whole number, and 2 is as good a bound as 2.0."""

    def code(party: Party):
        return party.aggregate({"w": np.ones(2)}, weight=1)["w"]

    run = federate(code, dict.fromkeys(THREE, 1), weight_max=np.int64(1), value_bits=np.int8(16), alpha=2)
    assert all(np.allclose(result, 1, atol=1e-3) for result in run.results.values())


@pytest.mark.parametrize("parameters", [5, 1.5, True, np.float64])
def test_patterns_that_are_none_are_refused(parameters, play_with) -> None:
    with pytest.raises(InputError, match=r"party north: no patterns of names"):
        play_with(lambda party: party.aggregate({"w": np.ones(2)}, weight=1, parameters=parameters))
