"""How many legs the sums of a group take in an engine that stores and forwards.

From one upload to the next: four where the next one is under fresh secrets, two where this one was, else one.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from tests.protocol.horizontal import rehearsal as horizontal
from tests.protocol.horizontal_trees import trees_rehearsal as trees
from tests.protocol.store_and_forward import Star, play_over

pytestmark = pytest.mark.sealed


@pytest.fixture
def begun(monkeypatch):
    """(a hook for a party, the legs by step as that party had uploaded); plays over a star."""
    legs: dict[str, int] = {}
    stars: list[Star] = []

    def play(roles, **_):
        stars.append(Star(tuple(roles), "hub"))
        return play_over(stars[-1], roles)

    def hook(step: str, part: str) -> None:
        if part == "sign":
            legs[step] = stars[-1].legs

    for module in (horizontal, trees):
        monkeypatch.setattr(module, "play_in_process", play)
    return hook, legs


def between(legs: dict[str, int], group: str) -> list[int]:
    """Legs from one upload of the group to the next."""
    found = [count for step, count in legs.items() if step.startswith(group)]
    return [later - earlier for earlier, later in itertools.pairwise(found)]


@pytest.mark.parametrize(("opening", "expected"), [("committee", [4, 2, 1]), ("authority", [4, 4, 4])])
def test_standardising(opening, expected, begun, rehearse_masked, masked_settings) -> None:
    hook, legs = begun
    made = masked_settings(3, opening)
    settings = replace(made, training=replace(made.training, standardise=True))
    rehearse_masked(settings, hooks={"a": hook}).run()
    assert between(legs, "standardise") == expected


@pytest.mark.long
def test_a_tree(begun) -> None:
    hook, legs = begun
    settings = trees.make_settings(protection="lattice", parties=("a", "b", "c"))
    tables = trees.make_tables(1, rows=(60, 50, 70))
    trees.Rehearsal(settings, tables, before=lambda name, *others: hook(*others) if name == "a" else None).run()
    first, *further = between(legs, "tree-1")
    assert first == 2
    assert set(further) == {1}
