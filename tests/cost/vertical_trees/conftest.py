"""The clinics of the tests of launched runs of trees."""

from __future__ import annotations

from tests.launch.vertical_trees.conftest import clinics

__all__ = ["clinics"]
