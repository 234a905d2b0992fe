"""A mask that parties agree on is the exact order of their weighted maps' sum, and the same at every party."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.own_loop.conftest import THREE, WEIGHT_MAX

from hekat.errors import InputError, PartyStoppedError, ProtocolError
from hekat.privacy import MaskRules, SensitivityMap

WEIGHTS = {"north": 1000, "lake": 30, "county": 411}


def _maps(seed: int) -> dict[str, SensitivityMap]:
    rng = np.random.default_rng(seed)

    def tensors() -> dict[str, Any]:
        return {
            "small": (1e-6 * rng.random((5, 3))).astype(np.float32),
            "large": 4e3 * rng.random(11) * (rng.random(11) < 0.7),
            "equal": np.full(6, 0.25),
            "zero": np.zeros(2),
        }

    return {name: SensitivityMap(tensors(), 8, "random") for name in THREE}


def _expected(maps: dict[str, SensitivityMap], fraction: float) -> list[bool]:
    """By fractions of whole numbers: each party's values in 2^15 - 1 steps below the largest one's power of two."""
    totals: list[tuple[Fraction, int]] = []
    for name in sorted(maps["north"].tensors):
        own = {party: one.tensors[name] * (WEIGHTS[party] / WEIGHT_MAX) for party, one in maps.items()}
        largest = max(float(values.max()) for values in own.values())
        exponent = -40 if largest == 0 else next(e for e in range(-40, 41) if largest <= 2.0**e)
        levels = sum(np.rint(values.astype(float) * 2.0**-exponent * 32767).astype(int) for values in own.values())
        totals += [(Fraction(int(level)) * Fraction(2) ** exponent, 0) for level in np.ravel(levels)]
    count = MaskRules(fraction).count_of(len(totals))
    first = sorted(range(len(totals)), key=lambda place: (-totals[place][0], place))[:count]
    return [place in first for place in range(len(totals))]


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_the_mask_is_the_exact_order_of_the_weighted_sum(fraction: float, play_with: Any) -> None:
    maps = _maps(7)

    def play(party: Any) -> Any:
        return party.agree_on_mask(maps[party.name], MaskRules(fraction), weight=WEIGHTS[party.name])

    masks = list(play_with(play).results.values())
    assert masks[0] == masks[1] == masks[2]
    flags = [bool(one) for name in masks[0].sizes for one in masks[0].chosen(name)]
    assert flags == _expected(maps, fraction)


def test_a_party_with_other_rules_is_found_before_anything_is_masked_by_them(play_with: Any) -> None:
    maps = _maps(8)

    def play(party: Any) -> Any:
        fraction = 0.3 if party.name == "lake" else 0.2
        return party.agree_on_mask(maps[party.name], MaskRules(fraction), weight=1)

    with pytest.raises((ProtocolError, PartyStoppedError), match="mask") as caught:
        play_with(play)
    assert "lake" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (np.array([1.0, np.nan]), "has no sizes in w"),
        (np.array([1.0, -1.0]), "has no sizes in w"),
        (np.array([1.0, 2.0**52]), "too large in w"),
    ],
)
def test_a_map_that_is_none_is_refused_before_anything_leaves(values: Any, what: str, play_with: Any) -> None:
    def play(party: Any) -> Any:
        return party.agree_on_mask(SensitivityMap({"w": values}, 1, "label"), MaskRules(0.5), weight=1000)

    with pytest.raises(InputError, match=what):
        play_with(play)
