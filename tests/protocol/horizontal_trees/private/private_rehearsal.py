"""Settings of small trees with differential privacy, for the tables of `trees_rehearsal`."""

from __future__ import annotations

from typing import Any

from tests.protocol.horizontal_trees.trees_rehearsal import make_settings

from hekat.model.trees import TreeTraining
from hekat.protocol.horizontal_trees.private.settings import TreesPrivacy
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings

SMALL = TreeTraining(max_iter=3, max_depth=2, max_bins=4)
BOUNDS = {"u": (-3.0, 5.0), "v": (0.0, 4.0), "w": (0.0, 50.0), "t": (1e9 - 4, 1e9 + 4)}


def privacy(**changes: Any) -> TreesPrivacy:
    return TreesPrivacy(**{"delta": 1e-6, "noise": 4.0, "bounds": BOUNDS, **changes})


def private(**changes: Any) -> HorizontalTreesSettings:
    return make_settings(**{"training": SMALL, "protection": "lattice", "privacy": privacy(), **changes})
