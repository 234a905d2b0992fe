"""The largest values are those that a sort of exact integers puts first, ties by position, in one pass over pieces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import InputError
from hekat.privacy import top_values
from hekat.privacy.top_values import choose_top, overlap_of


def _by_sorting(tensors: dict[str, Any], count: int, exponents: dict[str, int]) -> list[bool]:
    """Whether each value is chosen, by Python's integers: value << (e - least e), then the position."""
    least = min(exponents.values(), default=0)
    flat = [
        int(value) << (exponents.get(name, 0) - least)
        for name in sorted(tensors)
        for value in tensors[name].reshape(-1)
    ]
    first = sorted(range(len(flat)), key=lambda place: (-flat[place], place))[:count]
    return [place in set(first) for place in range(len(flat))]


def _flags(tensors: dict[str, Any], count: int, exponents: dict[str, int] | None = None) -> list[bool]:
    mask = choose_top(tensors, count, exponents)
    return [bool(one) for name in mask.sizes for one in mask.chosen(name)]


@given(data=st.data())
def test_the_order_is_the_integers(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
    # Few distinct values and exponents, so that ties are many, also between unequal exponents.
    some = st.one_of(st.integers(0, 4), st.sampled_from([1 << 20, (1 << 53) - 1, (1 << 52) + 1]))
    tensors = {name: np.array(data.draw(st.lists(some, min_size=1, max_size=6)), dtype=np.int64) for name in names}
    exponents = {name: data.draw(st.integers(-40, 40)) for name in names}
    count = data.draw(st.integers(0, sum(one.size for one in tensors.values())))
    assert _flags(tensors, count, exponents) == _by_sorting(tensors, count, exponents)


def test_floats_are_in_their_order_and_ties_go_to_the_first_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_values, "_PIECE", 3)
    tensors = {"b": np.array([[0.5, 2.0], [1e-310, 0.0]]), "a": np.array([0.5, 0.5, 3.0, 0.25, 0.5], dtype=np.float32)}
    assert _flags(tensors, 0) == [False] * 9
    assert _flags(tensors, 4) == [True, True, True, False, False, False, True, False, False]
    assert _flags(tensors, 8) == [True] * 8 + [False]
    assert _flags(tensors, 9) == [True] * 9


@pytest.mark.parametrize(
    ("tensors", "count", "exponents"),
    [
        ({"a": np.array([1.0, math.nan])}, 1, {}),
        ({"a": np.array([1.0, math.inf])}, 1, {}),
        ({"a": np.array([1.0, -1.0])}, 1, {}),
        ({"a": np.array([1, 1 << 53])}, 1, {}),
        ({"a": np.array([1, 2])}, 1, {"a": 1023}),
        ({"a": np.array([3, 1])}, 1, {"a": -1023}),
        ({"a": np.array([1, 2])}, 3, {}),
    ],
)
def test_what_has_no_exact_order_is_refused(tensors: Any, count: int, exponents: Any) -> None:
    with pytest.raises(InputError):
        choose_top(tensors, count, exponents)


def test_the_overlap_is_a_part_of_the_second_mask() -> None:
    values = {"a": np.arange(10)}
    assert overlap_of(choose_top(values, 8), choose_top(values, 4)) == 1.0
    assert overlap_of(choose_top(values, 2), choose_top(values, 4)) == 0.5
    assert overlap_of(choose_top(values, 2), choose_top(values, 0)) == 0.0
