"""A mask that parties agree on is the exact order of their weighted maps' sum, and the same at every party."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.own_loop.conftest import THREE, WEIGHT_MAX

from hekat.errors import InputError, MaskError, PartyStoppedError
from hekat.privacy import MaskRules, SensitivityMap, choose_mask
from hekat.protocol.secure_sum.selective.agree_on_mask import MOST_LEVEL, WeightedMap, _MapScale, agree_on_mask

WEIGHTS = {"north": 1000, "lake": 30, "county": 411}


def _maps(seed: int) -> dict[str, SensitivityMap]:
    rng = np.random.default_rng(seed)

    def tensors() -> dict[str, Any]:
        return {
            "small": (1e-2 * rng.random((5, 3))).astype(np.float32),
            "large": 4.0 * rng.random(11) * (rng.random(11) < 0.7),
            "equal": np.full(6, 0.25),
            "zero": np.zeros(2),
        }

    return {name: SensitivityMap(tensors(), 8, "random") for name in THREE}


def _expected(maps: dict[str, SensitivityMap], fraction: float) -> list[bool]:
    """By fractions: each map over its own mean, cut where at most a quarter of what is chosen can be, weighted."""
    totals: list[Fraction] = []
    for party, found in maps.items():
        values = [Fraction(float(one)) for name in sorted(found.tensors) for one in np.ravel(found.tensors[name])]
        cut = next(2**e for e in range(40) if 2**e * MaskRules(fraction).count_of(len(values)) >= 4 * len(values))
        highest = cut * sum(values) / len(values)
        unit = Fraction(WEIGHTS[party] / WEIGHT_MAX * (2**23 - 1))
        own = [Fraction(round(min(one / highest, Fraction(1)) * unit)) for one in values]
        totals = [one + more for one, more in zip(totals or [Fraction(0)] * len(own), own, strict=True)]
    first = sorted(range(len(totals)), key=lambda place: (-totals[place], place))[
        : MaskRules(fraction).count_of(len(totals))
    ]
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

    with pytest.raises((MaskError, PartyStoppedError), match="mask") as caught:
        play_with(play)
    assert "lake" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (np.array([1.0, np.nan]), "has no sizes in w"),
        (np.array([1.0, -1.0]), "has no sizes in w"),
    ],
)
def test_a_map_that_is_none_is_refused_before_anything_leaves(values: Any, what: str, play_with: Any) -> None:
    def play(party: Any) -> Any:
        return party.agree_on_mask(SensitivityMap({"w": values}, 1, "label"), MaskRules(0.5), weight=1000)

    with pytest.raises(InputError, match=what):
        play_with(play)


HONEST = {"a": np.repeat([0.0, 1.0, 4.0, 9.0, 50.0], [60, 20, 10, 5, 5]), "b": np.linspace(0, 2, 28)}


def agree(play_with: Any, maps: dict[str, Any], rules: MaskRules, weights: dict[str, int]) -> Any:
    def play(party: Any) -> Any:
        found = SensitivityMap(maps[party.name], 8, "random")
        return party.agree_on_mask(found, rules, weight=weights[party.name])

    return play_with(play).results["lake"]


@pytest.mark.parametrize("lie", [2.0**39, 1e300])
def test_one_value_that_a_party_exaggerates_moves_no_other(lie: float, play_with: Any) -> None:
    """The scale of honest maps is their own: none of their values rounds to 0 beside the lie."""
    liar = {"a": np.zeros(100), "b": np.zeros(28)}
    liar["a"][0] = lie
    honest = {"a": HONEST["a"][::-1].copy(), "b": HONEST["b"]}
    weights = {"north": 1, "lake": 1000, "county": 1000}
    mask = agree(play_with, {"north": liar, "lake": honest, "county": honest}, MaskRules(0.1), weights)
    alone = choose_mask(SensitivityMap(honest, 8, "random"), MaskRules(0.1))
    assert mask == alone


@pytest.mark.parametrize("lifted", [3, 12, 24, 48])
def test_a_lie_pushes_out_no_more_than_its_bound(lifted: int) -> None:
    """Of the values that are v or more in the honest sum, m / (v - t), t the least chosen; m = 128, their mean 1."""
    rules, party_count = MaskRules(0.15), 3
    honest = np.concatenate([HONEST["a"], HONEST["b"]])
    honest = 2 * honest / honest.mean()
    liar = {"a": np.repeat([1.0, 0.0], [lifted, 100 - lifted]), "b": np.zeros(28)}

    def sum_integers(step: str, tensors: dict[str, Any], most: int) -> dict[str, Any]:
        others: dict[str, Any] = {}
        agree_on_mask(lambda _, own, most: others.update(own) or own, weighted(HONEST), rules, party_count=1)
        return {name: tensors[name] + 2 * others[name] for name in tensors}

    def weighted(values: dict[str, Any]) -> WeightedMap:
        return WeightedMap(SensitivityMap(values, 8, "random"), 1.0)

    mask = agree_on_mask(sum_integers, weighted(liar), rules, party_count=party_count)
    chosen = np.concatenate([mask.chosen("a"), mask.chosen("b")])
    assert chosen[:lifted].all() == (lifted <= 12)
    threshold = np.sort(honest)[-mask.chosen_count]
    for least in np.unique(honest[honest > threshold]):
        assert (~chosen[honest >= least]).sum() <= 128 / (least - threshold)
    assert chosen[95:100].all()


def test_levels_that_no_map_has_are_refused_from_their_total(play_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A party whose code puts the largest level everywhere: every party sees that the total is none of maps."""
    honest_levels = _MapScale.levels_of

    def levels_of(scale: _MapScale, name: str, own: Any) -> Any:
        levels = honest_levels(scale, name, own)
        return np.full_like(levels, MOST_LEVEL) if own.share == 0.001 else levels

    monkeypatch.setattr(_MapScale, "levels_of", levels_of)
    weights = {"north": 1, "lake": 1000, "county": 1000}
    with pytest.raises(MaskError, match="maps is larger than maps make it"):
        agree(play_with, dict.fromkeys(THREE, HONEST), MaskRules(0.1), weights)


def test_the_most_that_honest_maps_can_add_up_to_passes(play_with: Any) -> None:
    flat = {"a": np.full(100, 3.0), "b": np.full(28, 3.0)}
    mask = agree(play_with, dict.fromkeys(THREE, flat), MaskRules(0.9), dict.fromkeys(THREE, 1000))
    assert mask.chosen_count == 116


def test_tensors_that_the_rules_decide_on_are_not_told() -> None:
    sent = {}

    def sum_integers(step: str, tensors: dict[str, Any], most: int) -> dict[str, Any]:
        sent.update(tensors)
        return tensors

    found = SensitivityMap({"table": np.ones((3, 2)), **HONEST}, 8, "random", embeddings=("table",))
    rules = MaskRules(0.5, never=("b",))
    mask = agree_on_mask(sum_integers, WeightedMap(found, 1.0), rules, party_count=1)
    assert mask.chosen("table").all()
    assert not sent["table"].any()
    assert not sent["b"].any()
    assert sent["a"].any()
